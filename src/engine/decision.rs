//! The outcome of one attempt: the only source of what is said about it.

use std::sync::Arc;

use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::PluginName;
use crate::engine::framework::preemption_choice::PreemptionChoice;
use crate::model::pod_info::{PodKey, PodUid};

/// How many of the best nodes a decision keeps by name.
pub const BEST_NODES_KEPT: usize = 3;

/// The outcome of one attempt. Compact: O(plugins), not O(nodes).
#[derive(Clone, Debug)]
pub struct Decision {
    /// The pod.
    pub pod: PodKey,
    /// Its UID.
    pub uid: PodUid,
    /// The profile that decided.
    pub profile: Arc<str>,
    /// How many attempts this pod has had, this one included.
    pub attempt: u32,
    /// What came out.
    pub outcome: Outcome,
    /// Nodes in the cluster.
    pub node_count: usize,
    /// Nodes that fitted.
    pub feasible_count: usize,
    /// The best nodes with their totals, best first, at most [`BEST_NODES_KEPT`].
    pub best: Vec<(Arc<str>, i64)>,
    /// Why nodes did not fit, by plugin and reason.
    pub diagnosis: Diagnosis,
    /// The `PostFilter` plugins that were asked what can be done.
    pub post_filters: Vec<PluginName>,
    /// The node that the pod is nominated for after the attempt.
    pub nominated_node: Option<Arc<str>>,
    /// Pods that are to go for it, the most important first.
    pub victims: Vec<PodUid>,
    /// Why this node and these pods.
    pub preemption: Option<Box<PreemptionChoice>>,
}

/// What came out of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The pod goes to the node.
    Scheduled {
        /// The node.
        node: Arc<str>,
    },
    /// No node will do.
    Unschedulable {
        /// The text of condition and event (`FitError`).
        message: String,
    },
    /// The attempt failed.
    Error {
        /// The text of condition and event.
        message: String,
    },
    /// The attempt waits for an answer from outside and goes on when it comes.
    Suspended,
    /// Nothing was attempted: the pod is being deleted, or is taken already.
    Skipped,
}

impl Decision {
    /// The label `result` of the metrics of an attempt; `None` if it is not over or was none.
    pub fn result(&self) -> Option<&'static str> {
        match self.outcome {
            Outcome::Scheduled { .. } => Some("scheduled"),
            Outcome::Unschedulable { .. } => Some("unschedulable"),
            Outcome::Error { .. } => Some("error"),
            Outcome::Suspended | Outcome::Skipped => None,
        }
    }
}
