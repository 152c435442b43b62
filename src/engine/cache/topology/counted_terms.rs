//! Pods that selectors select, counted by domain from the first use of a term on.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::engine::cache::node_changes::NodeChanges;
use crate::engine::cache::topology::PlacedPod;
use crate::engine::cache::topology::domain_counts::DomainCounts;
use crate::engine::cache::topology::namespace_labels::NamespaceLabels;
use crate::engine::cache::topology::selector_index::{Anchors, SelectorIndex};
use crate::model::label_set::PodLabels;
use crate::model::map::IdMap;
use crate::model::pod_affinity::PodSelector;
use crate::model::symbols::{HeldSymbols, Symbol, Symbols};
use crate::model::vocabulary::{LabelSetId, Vocabulary};

/// Terms that are counted at once, at most; beyond it the one that was unused the longest is
/// counted anew when it is wanted again.
const COUNTED_TERMS_MAX: usize = 8192;
/// Label sets whose terms are remembered at once, at most.
const REMEMBERED_MAX: usize = 65_536;

/// Changes of the counts of nodes that are remembered at once for a term, at most.
const CHANGES_MAX: usize = 1024;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CountedTerm {
    /// Pods that all of these select; at least one.
    pub all_of: Box<[PodSelector]>,
    /// By which domains.
    pub domains: Domains,
    /// Whether pods that are being deleted count.
    pub counts_terminating: bool,
}

/// What the domains of a count are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domains {
    /// The values of a node label; nodes without it belong to none.
    Label(Symbol),
    /// The nodes, by name.
    Nodes,
}

/// The counts of all terms in use.
#[derive(Debug, Default)]
pub struct CountedTerms {
    counters: IndexMap<CountedTerm, Counter, FxBuildHasher>,
    /// By the first selector of each.
    index: SelectorIndex,
    uses: u64,
    /// How many changes of the counts of nodes were noted, of all terms.
    changes: u64,
    /// Rises when the terms change, so that what is remembered is found outdated.
    generation: u64,
    remembered: IdMap<LabelSetId, Remembered>,
}

#[derive(Debug)]
struct Counter {
    counts: DomainCounts,
    /// The nodes whose counts changed, if it counts by nodes.
    changes: NodeChanges,
    last_used: u64,
    held: HeldSymbols,
    /// Where the first selector is in the index.
    anchors: Anchors,
}

/// The indices of the terms that select pods of a label set.
#[derive(Debug)]
struct Remembered {
    serial: u64,
    generation: u64,
    terms: Box<[usize]>,
}

// === impl CountedTerm ===

impl CountedTerm {
    fn selects(&self, pod: &PodLabels, namespaces: &NamespaceLabels) -> bool {
        let labels = namespaces.get(pod.namespace);
        self.all_of.iter().all(|selector| {
            selector.selects_namespace(pod.namespace, labels)
                && selector.labels.matches(&pod.labels)
        })
    }

    fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let key = match self.domains {
            Domains::Label(key) => Some(key),
            Domains::Nodes => None,
        };
        let selectors = self.all_of.iter().flat_map(PodSelector::symbols);
        selectors.chain(key)
    }

    /// Tells whether the pod counts.
    fn add(&self, counts: &mut DomainCounts, placed: PlacedPod<'_>, by: i64) -> bool {
        if placed.pod.is_terminating && !self.counts_terminating {
            return false;
        }
        let domain = match self.domains {
            Domains::Label(key) => placed.node_label(key),
            Domains::Nodes => Some(placed.node.name),
        };
        if let Some(domain) = domain {
            counts.add(domain, by);
        }
        domain.is_some()
    }
}

// === impl CountedTerms ===

impl CountedTerms {
    /// The index of `term`, if it is counted; it holds as long as the cluster stands still.
    pub fn index(&self, term: &CountedTerm) -> Option<usize> {
        self.counters.get_index_of(term)
    }

    /// The counts of the term at `index`.
    pub fn counts(&self, index: usize) -> Option<&DomainCounts> {
        self.counters
            .get_index(index)
            .map(|(_, counter)| &counter.counts)
    }

    /// The nodes whose counts changed, of the term at `index`, which counts by nodes. A term that
    /// is counted anew goes on behind every position that it had before.
    pub(crate) fn changes(&self, index: usize) -> Option<&NodeChanges> {
        let (_, counter) = self.counters.get_index(index)?;
        Some(&counter.changes)
    }

    /// A number that is another one whenever indices may have changed.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// All terms with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&CountedTerm, &DomainCounts)> {
        let counters = self.counters.iter();
        counters.map(|(term, counter)| (term, &counter.counts))
    }

    /// Every symbol that is held for the terms, as often as it is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        let counters = self.counters.values();
        counters.flat_map(|counter| counter.held.iter())
    }

    /// How many terms are counted.
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Whether no term is counted.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    pub(super) fn count(
        &mut self,
        term: CountedTerm,
        namespaces: &NamespaceLabels,
        vocabulary: &mut Vocabulary,
        pods_with: impl Fn(LabelSetId, &mut dyn FnMut(PlacedPod<'_>), &Vocabulary),
    ) {
        self.uses += 1;
        if let Some(counter) = self.counters.get_mut(&term) {
            counter.last_used = self.uses;
            return;
        }
        if self.counters.len() >= COUNTED_TERMS_MAX {
            self.forget_least_used(vocabulary.symbols_mut());
        }
        let held = vocabulary.symbols_mut().hold(term.symbols());
        let mut counts = DomainCounts::default();
        let mut count = |placed: PlacedPod<'_>| {
            term.add(&mut counts, placed, 1);
        };
        for (id, labels) in vocabulary.label_sets() {
            if term.selects(labels, namespaces) {
                pods_with(id, &mut count, vocabulary);
            }
        }
        let first = term.all_of.first();
        let anchors = first.map(|selector| self.index.insert(selector, self.counters.len()));
        let counter = Counter {
            counts,
            anchors: anchors.unwrap_or_default(),
            changes: NodeChanges::starting_at(self.changes + 2, CHANGES_MAX),
            last_used: self.uses,
            held,
        };
        self.counters.insert(term, counter);
        self.generation += 1;
    }

    pub(super) fn change(&mut self, namespaces: &NamespaceLabels, placed: PlacedPod<'_>, by: i64) {
        if self.counters.is_empty() {
            return;
        }
        self.remember(namespaces, placed);
        let Some(remembered) = self.remembered.get(&placed.pod.labels) else {
            return;
        };
        for index in &remembered.terms {
            if let Some((term, counter)) = self.counters.get_index_mut(*index) {
                let counts = term.add(&mut counter.counts, placed, by);
                if counts && term.domains == Domains::Nodes {
                    self.changes += 1;
                    counter.changes.push(placed.slot);
                }
            }
        }
    }

    /// Finds out which terms select the pod, unless that is known.
    fn remember(&mut self, namespaces: &NamespaceLabels, placed: PlacedPod<'_>) {
        let id = placed.pod.labels;
        let serial = placed.vocabulary.label_set_serial(id);
        let is_known = self.remembered.get(&id).is_some_and(|remembered| {
            remembered.serial == serial && remembered.generation == self.generation
        });
        if is_known {
            return;
        }
        let labels = placed.vocabulary.label_set(id);
        let candidates = self.index.candidates(labels.namespace, &labels.labels);
        let terms = candidates.filter(|index| {
            let term = self.counters.get_index(*index);
            term.is_some_and(|(term, _)| term.selects(labels, namespaces))
        });
        let terms = terms.collect();
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.clear();
        }
        let generation = self.generation;
        let remembered = Remembered {
            serial,
            generation,
            terms,
        };
        self.remembered.insert(id, remembered);
    }

    /// Terms that look at labels of namespaces are counted anew when they are wanted again.
    pub(super) fn forget_readers_of_namespaces(&mut self, symbols: &mut Symbols) {
        let outdated: Vec<usize> = self
            .counters
            .keys()
            .enumerate()
            .filter(|(_, term)| term.all_of.iter().any(PodSelector::reads_namespace_labels))
            .map(|(index, _)| index)
            .collect();
        for index in outdated.into_iter().rev() {
            self.forget(index, symbols);
        }
    }

    fn forget_least_used(&mut self, symbols: &mut Symbols) {
        let counters = self.counters.values().enumerate();
        if let Some((index, _)) = counters.min_by_key(|(_, counter)| counter.last_used) {
            self.forget(index, symbols);
        }
    }

    fn forget(&mut self, index: usize, symbols: &mut Symbols) {
        let Some((_, removed)) = self.counters.swap_remove_index(index) else {
            return;
        };
        let moved = self.counters.get_index(index);
        let moved = moved.map(|(_, moved)| &moved.anchors);
        let last = self.counters.len();
        self.index.swap_remove(&removed.anchors, index, moved, last);
        symbols.release(removed.held);
        self.generation += 1;
    }
}
