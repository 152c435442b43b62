//! The decision record: everything about one attempt, in the form that the tests against upstream
//! compare. An absent key equals an empty value.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// `namespace/name` of the pod.
    pub pod: String,
    /// What came out.
    pub outcome: RecordOutcome,
    /// The node that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The nodes that fitted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub feasible: BTreeSet<String>,
    /// The nodes with the highest total; of a single feasible node, that node.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub best: BTreeSet<String>,
    /// Scores by node; none with fewer than two feasible nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, NodeScore>,
    /// Why nodes did not fit, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rejections: BTreeMap<String, RejectionRecord>,
    /// The text of the pod's condition; none for a scheduled pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The pod's nominated node after the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominated: Option<String>,
    /// The pods that are to go for it, as `namespace/name`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub victims: BTreeSet<String>,
}

/// What came out of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordOutcome {
    /// The pod has a node.
    Scheduled,
    /// No node will do.
    Unschedulable,
    /// The attempt failed.
    Error,
    /// A `PreEnqueue` plugin keeps the pod out of the queue.
    Gated,
}

/// The score of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeScore {
    /// The sum of the weighted scores.
    pub total: i64,
    /// The scores by plugin; those that were skipped are not there.
    pub plugins: BTreeMap<String, PluginScore>,
}

/// What a plugin gives a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginScore {
    /// Before normalisation.
    pub raw: i64,
    /// 0..=100.
    pub normalized: i64,
    /// `normalized` times the weight of the plugin.
    pub weighted: i64,
}

/// Why a node does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectionRecord {
    /// The first plugin that refused it; empty if a `PreFilter` result left it out.
    pub plugin: String,
    /// All its reasons, in upstream's order.
    pub reasons: Vec<String>,
    /// Whether evictions cannot help (`UnschedulableAndUnresolvable`).
    pub unresolvable: bool,
}

impl RecordOutcome {
    /// The word of the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
            Self::Gated => "gated",
        }
    }
}
