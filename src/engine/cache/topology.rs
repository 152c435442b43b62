//! Counts of pods by topology domain, kept up to date instead of searched: what spread and affinity
//! between pods read.
//!
//! Two kinds of count. *Counted terms* count pods that selectors select; a term is counted from
//! its first use on. *Carried terms* count pods whose own affinity has the term, for the symmetric
//! part. Both count by *domain*: the value of a node label, or the node itself.

pub mod carried_terms;
pub mod counted_terms;
pub mod domain_counts;
pub mod namespace_labels;
mod selector_index;

use crate::engine::cache::nodes::{NodeFacts, Slot};
use crate::engine::cache::topology::carried_terms::CarriedTerms;
use crate::engine::cache::topology::counted_terms::{CountedTerm, CountedTerms};
use crate::engine::cache::topology::namespace_labels::NamespaceLabels;
use crate::model::objects::Namespace;
use crate::model::pod_info::PodInfo;
use crate::model::symbols::Symbol;
use crate::model::vocabulary::{LabelSetId, Vocabulary};

/// All counts by domain.
#[derive(Debug, Default)]
pub struct Topology {
    pub(crate) counted: CountedTerms,
    pub(crate) carried: CarriedTerms,
    pub(crate) namespaces: NamespaceLabels,
}

/// A pod on a node, to be counted.
#[derive(Clone, Copy)]
pub(crate) struct PlacedPod<'a> {
    pub(crate) pod: &'a PodInfo,
    pub(crate) slot: Slot,
    pub(crate) node: &'a NodeFacts,
    pub(crate) vocabulary: &'a Vocabulary,
}

// === impl Topology ===

impl Topology {
    /// A pod came to a node.
    pub(super) fn add(&mut self, placed: PlacedPod<'_>) {
        self.change(placed, 1);
    }

    /// A pod left a node.
    pub(super) fn remove(&mut self, placed: PlacedPod<'_>) {
        self.change(placed, -1);
    }

    fn change(&mut self, placed: PlacedPod<'_>, by: i64) {
        self.counted.change(&self.namespaces, placed, by);
        self.carried.change(placed, by);
    }

    /// Counts `term` from now on, if it is not counted yet. `pods_with` gives all pods on known nodes
    /// that have a label set.
    pub(super) fn count(
        &mut self,
        term: CountedTerm,
        vocabulary: &mut Vocabulary,
        pods_with: impl Fn(LabelSetId, &mut dyn FnMut(PlacedPod<'_>), &Vocabulary),
    ) {
        self.counted
            .count(term, &self.namespaces, vocabulary, pods_with);
    }

    /// A namespace is new, changed, or gone (`None`): what looks at labels of namespaces is counted
    /// anew.
    pub(super) fn apply_namespace(
        &mut self,
        name: &str,
        namespace: Option<&Namespace>,
        vocabulary: &mut Vocabulary,
    ) {
        let symbols = vocabulary.symbols_mut();
        if self.namespaces.apply(name, namespace, symbols) {
            self.counted.forget_readers_of_namespaces(symbols);
        }
    }
}

// === impl PlacedPod ===

impl PlacedPod<'_> {
    /// The value of a label of the node.
    fn node_label(&self, key: Symbol) -> Option<Symbol> {
        self.node.label(key, self.vocabulary)
    }
}

#[cfg(test)]
mod tests;
