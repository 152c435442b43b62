//! What `PostFilter` plugins are given: an attempt that found no node.

use std::fmt;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::tie_break::TieOrder;
use crate::engine::framework::cycle_state::CycleState;
use crate::engine::framework::earlier_preemptions::EarlierPreemptions;
use crate::engine::framework::extender::PreemptionExtenders;
use crate::engine::framework::extension_points::FilterRunner;
use crate::engine::framework::status::{Rejection, RejectionKind};

/// An attempt that found no node.
#[derive(Clone, Copy)]
pub struct FailedAttempt<'a> {
    /// What the plugins remember.
    pub state: &'a CycleState,
    /// The pod.
    pub pod: PodView<'a>,
    /// The cluster.
    pub cluster: Snapshot<'a>,
    /// The nodes that were looked at.
    pub rejected: &'a [(NodeView<'a>, Rejection)],
    /// What holds for the others; without it they are beyond help.
    pub not_looked_at: Option<&'a Rejection>,
    /// Which of equally good nodes goes first.
    pub ties: TieOrder,
    /// What became of earlier preemptions of the pod.
    pub earlier: &'a EarlierPreemptions,
    /// Judges hypotheses.
    pub filters: &'a dyn FilterRunner,
    /// Who has a say about evictions.
    pub extenders: &'a dyn PreemptionExtenders,
}

impl<'a> FailedAttempt<'a> {
    /// The nodes that evictions could help (`NodesForStatusCode` of `Unschedulable`).
    pub fn helpable_nodes(&self) -> Vec<NodeView<'a>> {
        let helps = |rejection: &Rejection| rejection.kind == RejectionKind::Unschedulable;
        let rejected = self.rejected;
        let looked_at = rejected
            .iter()
            .filter(|(_, rejection)| helps(rejection))
            .map(|(node, _)| *node);
        if !self.not_looked_at.is_some_and(helps) {
            return looked_at.collect();
        }
        let others = self.cluster.nodes().filter(|node| {
            rejected
                .iter()
                .all(|(other, _)| other.slot() != node.slot())
        });
        looked_at.chain(others).collect()
    }

    /// Why the node called `node` will not do.
    pub fn refusal_of(&self, node: &str) -> Option<&'a Rejection> {
        let rejected = self.rejected.iter();
        let mut looked_at = rejected.filter(|(other, _)| **other.name() == *node);
        let rejection = looked_at.next().map(|(_, rejection)| rejection);
        rejection.or(self.not_looked_at)
    }

    /// Whether evictions on the node called `node` cannot help.
    pub fn is_unresolvable(&self, node: &str) -> bool {
        self.refusal_of(node).is_none_or(Rejection::is_unresolvable)
    }

    /// Whether evictions on the node called `node` were of no use before, and would be of none now.
    pub fn is_in_vain(&self, node: &str) -> bool {
        !self.earlier.vain.is_empty()
            && self
                .refusal_of(node)
                .is_some_and(|refusal| self.earlier.is_in_vain(node, refusal))
    }
}

impl fmt::Debug for FailedAttempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailedAttempt")
            .field("pod", &self.pod)
            .finish_non_exhaustive()
    }
}
