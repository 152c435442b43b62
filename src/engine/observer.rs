//! What the engine tells while an attempt runs, so that a caller who may read a clock can time it.
//!
//! The points and their ends are those of `scheduler_framework_extension_point_duration_seconds`:
//! a point is all its plugins, for all nodes, once per pod.

use std::fmt;
use std::sync::Arc;

use crate::engine::framework::extension_points::Refusal;
use crate::engine::framework::{Rejection, RejectionKind};

/// A stretch of a pod's way that is timed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservedPoint {
    /// Before each entry into the active or the backoff queue.
    PreEnqueue,
    /// Once per cycle.
    PreFilter,
    /// All nodes of a search; a nominated node that does not fit is a search of its own.
    Filter,
    /// When no node fits; not where the profile has no plugin for it.
    PostFilter,
    /// Before scoring, if two or more nodes fit.
    PreScore,
    /// Scores and their normalisation.
    Score,
    /// After a node was chosen.
    Reserve,
    /// After a refusal or a failure.
    Unreserve,
    /// The plugins' answers, without the wait that they may ask for.
    Permit,
    /// Whether `PreBind` has work; pods that wait at `Permit` are not asked about.
    PreBindPreFlight,
    /// All work before the binding, effects included, by the ticks of the engine.
    PreBind,
    /// The call that binds.
    Bind,
    /// After the binding.
    PostBind,
}

/// How a point ended (`Code` of `k8s.io/kube-scheduler/framework`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusCode {
    /// Yes.
    Success,
    /// Something could not be judged or done.
    Error,
    /// No; evictions could help.
    Unschedulable,
    /// No; evictions cannot help.
    UnschedulableAndUnresolvable,
    /// The pod is held at `Permit`.
    Wait,
    /// There was nothing to do.
    Skip,
    /// No, until something outside the scheduler happens.
    Pending,
}

/// Is told when a point begins and ends. One point at a time: none begins within another one.
pub trait CycleObserver: fmt::Debug + Send {
    /// The plugins of `point` are about to be asked.
    fn entered(&self, point: ObservedPoint);

    /// They were asked, for a pod of `profile`. Left out after a panic.
    fn left(&self, point: ObservedPoint, status: StatusCode, profile: &Arc<str>);
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl CycleObserver for NoObserver {
    fn entered(&self, _: ObservedPoint) {}

    fn left(&self, _: ObservedPoint, _: StatusCode, _: &Arc<str>) {}
}

impl dyn CycleObserver + '_ {
    /// Runs `point`; `status` reads its end from what came out.
    pub(super) fn during<T>(
        &self,
        point: ObservedPoint,
        profile: &Arc<str>,
        status: impl FnOnce(&T) -> StatusCode,
        run: impl FnOnce() -> T,
    ) -> T {
        self.entered(point);
        let outcome = run();
        self.left(point, status(&outcome), profile);
        outcome
    }
}

impl ObservedPoint {
    /// The value of the label `extension_point`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreEnqueue => "PreEnqueue",
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Reserve => "Reserve",
            Self::Unreserve => "Unreserve",
            Self::Permit => "Permit",
            Self::PreBindPreFlight => "PreBindPreFlight",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }
}

impl StatusCode {
    /// The value of the label `status`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Self::Wait => "Wait",
            Self::Skip => "Skip",
            Self::Pending => "Pending",
        }
    }

    /// Of a point that cannot say no.
    pub(super) fn of_result<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() {
            Self::Success
        } else {
            Self::Error
        }
    }
}

impl From<&Rejection> for StatusCode {
    fn from(rejection: &Rejection) -> Self {
        match rejection.kind {
            RejectionKind::Unschedulable => Self::Unschedulable,
            RejectionKind::UnschedulableAndUnresolvable => Self::UnschedulableAndUnresolvable,
            RejectionKind::Pending => Self::Pending,
        }
    }
}

impl From<&Refusal> for StatusCode {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Rejected(rejection) => rejection.into(),
            Refusal::Failed(_) => Self::Error,
        }
    }
}
