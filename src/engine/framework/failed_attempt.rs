//! What `PostFilter` plugins are given: an attempt that found no node.

use std::collections::BTreeSet;
use std::fmt;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::tie_break::TieOrder;
use crate::engine::framework::cycle_state::CycleState;
use crate::engine::framework::earlier_preemptions::EarlierPreemptions;
use crate::engine::framework::extender::PreemptionExtenders;
use crate::engine::framework::extension_points::FilterRunner;
use crate::engine::framework::status::{Rejection, RejectionKind};

/// Why the nodes will not do.
pub trait Refusals {
    /// Why the node in `slot` will not do; without a reason it is beyond help.
    fn of(&self, slot: Slot) -> Option<&Rejection>;

    /// What holds for nodes that nobody looked at.
    fn of_others(&self) -> Option<&Rejection>;

    /// How many nodes evictions could help (`NodesForStatusCode` of `Unschedulable`).
    fn helpable_count(&self) -> usize;
}

/// An attempt that found no node.
#[derive(Clone, Copy)]
pub struct FailedAttempt<'a> {
    /// What the plugins remember.
    pub state: &'a CycleState,
    /// The pod.
    pub pod: PodView<'a>,
    /// The cluster.
    pub cluster: Snapshot<'a>,
    /// Why the nodes will not do.
    pub refusals: &'a dyn Refusals,
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
    /// Whether evictions could help `node`, and were not in vain before.
    pub fn is_worth_trying(&self, node: &NodeView<'_>) -> bool {
        self.is_helpable(node) && !self.is_in_vain(node)
    }

    /// How many nodes are worth trying.
    pub fn count_worth_trying(&self) -> usize {
        let vain = self.earlier.vain.iter();
        let nodes = vain.filter_map(|vain| self.cluster.node(&vain.node));
        let vain = nodes.filter(|node| self.is_helpable(node) && self.is_in_vain(node));
        let slots: BTreeSet<Slot> = vain.map(|node| node.slot()).collect();
        self.refusals.helpable_count() - slots.len()
    }

    /// Why the node called `node` will not do.
    pub fn refusal_of(&self, node: &str) -> Option<&'a Rejection> {
        match self.cluster.node(node) {
            Some(node) => self.refusals.of(node.slot()),
            None => self.refusals.of_others(),
        }
    }

    /// Whether evictions on the node called `node` cannot help.
    pub fn is_unresolvable(&self, node: &str) -> bool {
        self.refusal_of(node).is_none_or(Rejection::is_unresolvable)
    }

    fn is_helpable(&self, node: &NodeView<'_>) -> bool {
        let refusal = self.refusals.of(node.slot());
        refusal.is_some_and(|refusal| refusal.kind == RejectionKind::Unschedulable)
    }

    /// Whether evictions on `node` were of no use before, and would be of none now.
    fn is_in_vain(&self, node: &NodeView<'_>) -> bool {
        !self.earlier.vain.is_empty()
            && self
                .refusals
                .of(node.slot())
                .is_some_and(|refusal| self.earlier.is_in_vain(node.name(), refusal))
    }
}

impl fmt::Debug for FailedAttempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailedAttempt")
            .field("pod", &self.pod)
            .finish_non_exhaustive()
    }
}
