//! One pod as the engine keeps it: identity, class, labels, priority and times.

use std::fmt;
use std::sync::Arc;

use crate::model::controller_ref::ControllerRef;
use crate::model::object_key::ObjectKey;
use crate::model::objects::Pod;
use crate::model::timestamp::Timestamp;
use crate::model::vocabulary::{LabelSetId, PodClassId};

/// The UID of a pod: its identity. Pods of the same name in turn are different pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodUid(pub Arc<str>);

/// Namespace and name of a pod.
pub type PodKey = ObjectKey;

/// What the API server says of the condition `PodScheduled` = `False`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCondition {
    /// `Unschedulable`, `SchedulerError`, `SchedulingGated`.
    pub reason: Box<str>,
    /// The sentence.
    pub message: Box<str>,
    /// The generation of the pod that was judged, 0 if not given.
    pub observed_generation: i64,
}

/// A pod.
#[derive(Clone, Debug)]
pub struct PodInfo {
    /// Identity.
    pub uid: PodUid,
    /// Namespace and name.
    pub key: PodKey,
    /// The profile that decides for it.
    pub scheduler_name: Arc<str>,
    /// The class: everything that influences the placement.
    pub class: PodClassId,
    /// The labels.
    pub labels: LabelSetId,
    /// The controller that owns it, if selectors follow from it.
    pub controller: Option<ControllerRef>,
    /// The node that the pod is bound to, by the API server or as assumed.
    pub node_name: Option<Arc<str>>,
    /// Higher goes first; 0 if not given.
    pub priority: i32,
    /// Never evicts others.
    pub never_preempts: bool,
    /// `metadata.generation`, 0 if not given.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// `status.startTime`.
    pub started: Option<Timestamp>,
    /// Is being deleted.
    pub is_terminating: bool,
    /// When it should be gone if it is being deleted (`metadata.deletionTimestamp`).
    pub gone_by: Option<Timestamp>,
    /// Is being deleted because a pod of a higher priority needs its room.
    pub is_preempted: bool,
    /// Gates that hold the pod back, in the order of the object.
    pub scheduling_gates: Box<[Box<str>]>,
    /// `status.nominatedNodeName`.
    pub nominated_node: Option<Arc<str>>,
    /// The condition as it stands in the API.
    pub reported: Option<Box<ReportedCondition>>,
}

// === impl PodUid ===

impl PodUid {
    /// The UID of `pod`; an object without one is known by namespace and name.
    pub fn of(pod: &Pod) -> Self {
        match pod.metadata.uid.as_deref() {
            Some(uid) if !uid.is_empty() => Self(uid.into()),
            _ => Self(PodKey::of(&pod.metadata).to_string().into()),
        }
    }
}

impl fmt::Display for PodUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Pod ===

impl Pod {
    /// The node the pod is bound to.
    pub fn bound_node(&self) -> Option<&str> {
        self.spec
            .node_name
            .as_deref()
            .filter(|name| !name.is_empty())
    }

    /// Whether the pod has ended: it holds no room and is not scheduled.
    pub fn is_terminal(&self) -> bool {
        matches!(self.status.phase.as_deref(), Some("Succeeded" | "Failed"))
    }

    /// The profile that decides for the pod.
    pub fn profile_name(&self) -> &str {
        self.spec
            .scheduler_name
            .as_deref()
            .filter(|name| !name.is_empty())
            .unwrap_or(DEFAULT_SCHEDULER_NAME)
    }
}

/// `v1.DefaultSchedulerName`: what the API server writes into pods that name no scheduler.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";
