//! What the engine remembers of preemptions of the pod that is being decided.

use std::sync::Arc;

use crate::engine::framework::status::Rejection;

/// Preemptions before the attempt, of the pod where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierPreemptions {
    /// The node that its victims are about to leave.
    pub drains: Option<Arc<str>>,
    /// Its victims on the nominated node should have left long ago: they are waited for no longer.
    pub is_overdue: bool,
    /// Pods were evicted, for whomever, so short a time ago that the status of disruption budgets may
    /// not tell of it yet.
    pub evicted_lately: bool,
    /// Nodes on which further evictions would be in vain.
    pub vain: Vec<VainNode>,
}

/// A node on which evictions did not help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VainNode {
    /// The node.
    pub node: Arc<str>,
    /// They would not help against this refusal; without it, against none.
    pub refused: Option<Rejection>,
}

impl EarlierPreemptions {
    /// Whether evictions on `node`, which refused the pod as `refused` says, would be in vain.
    pub fn is_in_vain(&self, node: &str, refused: &Rejection) -> bool {
        let mut vain = self.vain.iter().filter(|vain| *vain.node == *node);
        vain.any(|vain| vain.refused.as_ref().is_none_or(|known| known == refused))
    }
}
