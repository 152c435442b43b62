//! How plugins say no, and how they say that something is broken.

use std::borrow::Cow;

use smallvec::SmallVec;
use thiserror::Error;

use crate::engine::framework::plugin::PluginName;

/// Why a node, or all of them, will not do; upstream's words.
pub type Reason = Cow<'static, str>;

/// Which kind of no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectionKind {
    /// Evicting pods could help.
    Unschedulable,
    /// Evicting pods cannot help; preemption leaves the node out.
    UnschedulableAndUnresolvable,
    /// Waits for something outside the scheduler; a hint of this plugin skips the backoff.
    Pending,
}

/// A no, which is an answer and not an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rejection {
    /// Which kind.
    pub kind: RejectionKind,
    /// Who says so.
    pub plugin: PluginName,
    /// All reasons, in upstream's order.
    pub reasons: SmallVec<[Reason; 1]>,
}

/// Something that a plugin could not judge: the attempt ends with `SchedulerError`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PluginError {
    /// Who says so.
    pub plugin: PluginName,
    /// What went wrong.
    pub message: String,
}

// === impl Rejection ===

impl Rejection {
    /// A no of `kind` for one reason.
    pub fn new(kind: RejectionKind, plugin: PluginName, reason: impl Into<Reason>) -> Self {
        Self {
            kind,
            plugin,
            reasons: SmallVec::from_iter([reason.into()]),
        }
    }

    /// A no that evictions could turn.
    pub fn unschedulable(plugin: PluginName, reason: impl Into<Reason>) -> Self {
        Self::new(RejectionKind::Unschedulable, plugin, reason)
    }

    /// A no that evictions cannot turn.
    pub fn unresolvable(plugin: PluginName, reason: impl Into<Reason>) -> Self {
        Self::new(RejectionKind::UnschedulableAndUnresolvable, plugin, reason)
    }

    /// The reasons in one text (`Status.Message`).
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }

    /// Whether evictions cannot turn it.
    pub fn is_unresolvable(&self) -> bool {
        self.kind == RejectionKind::UnschedulableAndUnresolvable
    }
}

// === impl PluginError ===

impl PluginError {
    /// `plugin` was asked at an extension point without having been asked at the one before it.
    pub fn no_state(plugin: PluginName) -> Self {
        Self {
            plugin,
            message: format!("plugin {plugin} was not asked at PreScore or PreFilter"),
        }
    }
}
