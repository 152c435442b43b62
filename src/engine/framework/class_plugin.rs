//! What of a plugin's judgement can be kept for all pods of a class.
//!
//! Pods of one class (whose labels, where a plugin reads them, come to the same) get the same verdicts
//! and scores as long as nothing changes that these depend on. A plugin that says on what they depend
//! is asked again only about nodes that changed; one that does not is asked about every node in
//! every attempt. What is kept never differs from what the plugin would say: its scalar form stays
//! the only place where anything is decided.

use std::fmt::Debug;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::CycleState;
use crate::model::symbols::Symbol;

/// A plugin whose verdicts and scores can be kept.
pub trait ClassPlugin {
    /// The numbers that verdicts and scores for `pod` depend on, beside the pod's class and the node
    /// itself; what was kept holds while they are the same. `None`: nothing can be kept.
    fn inputs(&self, pod: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Vec<u64>> {
        let _ = (pod, cluster);
        Some(Vec::new())
    }

    /// Adds to `outcome` what the namespace, the labels and the controller of `pod` come to: pods
    /// of one class that come to the same are judged alike. What takes many words may be added as
    /// a hash if [`Places::provide`] compares the words. What was found out on the way may be left
    /// in `state`.
    fn outcome_of_labels(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
        outcome: &mut Vec<u64>,
    ) {
        let _ = (state, pod, cluster, outcome);
    }

    /// Whether [`normalize`](crate::engine::framework::extension_points::ScorePlugin::normalize)
    /// changes scores. It may depend on the greatest and the least of them only.
    fn normalizes(&self) -> bool {
        false
    }

    /// For a plugin that judges a node by where it lies: how places are told apart. `None`: it
    /// judges a node by the node alone; such a plugin reads neither the pod's affinity to other pods
    /// nor its spread constraints, since classes that differ in nothing else share its verdicts.
    fn places(&self, pod: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Box<dyn Places>> {
        let _ = (pod, cluster);
        None
    }
}

/// Tells places apart for one class of pods: nodes in equal places get equal verdicts and scores
/// within one attempt, whatever they are.
pub trait Places: Debug + Send {
    /// Before `PreFilter`: writes into `state` what that and `PreScore` need not compute again.
    /// `false`: what was kept is outdated, and so is every place.
    fn provide(
        &mut self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> bool;

    /// After the choice: takes back what [`Self::provide`] wrote and what nobody reads any more.
    fn withdraw(&self, state: &mut CycleState);

    /// Whether [`Self::update`] does anything.
    fn follows_nodes(&self) -> bool {
        false
    }

    /// The object of the node in `slot` is new or changed, or gone (`None`). Pods that come to the
    /// node or leave it are no reason.
    fn update(&mut self, pod: &PodView<'_>, slot: Slot, node: Option<&NodeView<'_>>) {
        let _ = (pod, slot, node);
    }

    /// What is kept of the nodes, in bytes.
    fn bytes(&self) -> usize {
        0
    }

    /// The labels whose values [`Self::place`] tells, after [`Self::provide`], in their order; what
    /// else it tells follows from the node and from what the pod asks of nodes by themselves.
    /// `None`: it tells something else as well.
    fn keys(&self) -> Option<Vec<Symbol>>;

    /// Adds to `place` the numbers that tell where `node` lies, always as many.
    fn place(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
        place: &mut Vec<i64>,
    );
}

/// The number of a domain for [`Places::place`], another one than those of all others; a node that
/// has no such domain has one of its own.
pub fn domain_number(domain: Option<Symbol>) -> i64 {
    domain.map_or(i64::MIN, Symbol::number)
}

/// For how many nodes each one stands that `PreScore` is given, if not for itself alone.
#[derive(Clone, Debug)]
pub struct Represented(pub Vec<usize>);
