//! Terms of affinity that pods on nodes carry, with the domains in which they are.

use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexMap};
use rustc_hash::FxBuildHasher;

use crate::engine::cache::topology::PlacedPod;
use crate::engine::cache::topology::domain_counts::DomainCounts;
use crate::engine::cache::topology::selector_index::{Anchors, SelectorIndex};
use crate::model::label_set::LabelSet;
use crate::model::pod_affinity::{AffinityTerm, PodAffinity};
use crate::model::symbols::Symbol;

/// What a pod means by a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CarriedKind {
    /// Required affinity.
    Required,
    /// Preferred affinity.
    Preferred,
    /// Required anti-affinity.
    RequiredAnti,
    /// Preferred anti-affinity.
    PreferredAnti,
}

/// A term that pods carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedTerm {
    /// What they mean by it.
    pub kind: CarriedKind,
    /// The weight of a preferred term, else 0.
    pub weight: i64,
    /// The term.
    pub term: AffinityTerm,
}

/// The same, borrowed, to look one up.
#[derive(Hash)]
struct CarriedTermRef<'a> {
    kind: CarriedKind,
    weight: i64,
    term: &'a AffinityTerm,
}

/// Every term that a pod on a known node carries, with how many such pods each domain of its
/// topology key has.
#[derive(Debug, Default)]
pub struct CarriedTerms {
    terms: IndexMap<CarriedTerm, Carried, FxBuildHasher>,
    index: SelectorIndex,
    next_serial: u64,
}

#[derive(Debug)]
struct Carried {
    counts: DomainCounts,
    /// Which use of the term this is: no other one has the same.
    serial: u64,
    /// Where its selector is in the index.
    anchors: Anchors,
}

/// A term that may select a pod.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Where it is; indices hold as long as the cluster stands still.
    pub index: usize,
    /// The term.
    pub carried: &'a CarriedTerm,
    /// A number that no other use of a term has, or had before.
    pub serial: u64,
}

impl Hash for CarriedTerm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { kind, weight, term } = self;
        CarriedTermRef {
            kind: *kind,
            weight: *weight,
            term,
        }
        .hash(state);
    }
}

impl Equivalent<CarriedTerm> for CarriedTermRef<'_> {
    fn equivalent(&self, key: &CarriedTerm) -> bool {
        self.kind == key.kind && self.weight == key.weight && *self.term == key.term
    }
}

// === impl CarriedTerms ===

impl CarriedTerms {
    /// The terms that may select a pod, each once: every one that does is among them.
    pub fn candidates<'a>(
        &'a self,
        namespace: Symbol,
        labels: &'a LabelSet,
    ) -> impl Iterator<Item = Candidate<'a>> {
        let indices = self.index.candidates(namespace, labels);
        indices.filter_map(|index| {
            let (carried, Carried { serial, .. }) = self.terms.get_index(index)?;
            Some(Candidate {
                index,
                carried,
                serial: *serial,
            })
        })
    }

    /// The counts of the term at `index`; indices hold as long as the cluster stands still.
    pub fn counts(&self, index: usize) -> Option<&DomainCounts> {
        let (_, carried) = self.terms.get_index(index)?;
        Some(&carried.counts)
    }

    /// All terms with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&CarriedTerm, &DomainCounts)> {
        let terms = self.terms.iter();
        terms.map(|(term, carried)| (term, &carried.counts))
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether no pod carries a term.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub(super) fn change(&mut self, placed: PlacedPod<'_>, by: i64) {
        let class = placed.vocabulary.pod_class(placed.pod.class);
        for term in terms(&class.affinity) {
            if let Some(domain) = placed.node_label(term.term.topology_key) {
                self.add(&term, domain, by);
            }
        }
    }

    fn add(&mut self, term: &CarriedTermRef<'_>, domain: Symbol, by: i64) {
        if let Some((index, _, carried)) = self.terms.get_full_mut(term) {
            carried.counts.add(domain, by);
            if carried.counts.is_empty() {
                self.remove(index);
            }
            return;
        }
        let mut counts = DomainCounts::default();
        counts.add(domain, by);
        let carried = CarriedTerm {
            kind: term.kind,
            weight: term.weight,
            term: term.term.clone(),
        };
        let serial = self.next_serial;
        self.next_serial += 1;
        let anchors = self.index.insert(&term.term.selector, self.terms.len());
        let counted = Carried {
            counts,
            serial,
            anchors,
        };
        self.terms.insert(carried, counted);
    }

    fn remove(&mut self, index: usize) {
        let Some((_, removed)) = self.terms.swap_remove_index(index) else {
            return;
        };
        let moved = self.terms.get_index(index);
        let moved = moved.map(|(_, moved)| &moved.anchors);
        let last = self.terms.len();
        self.index.swap_remove(&removed.anchors, index, moved, last);
    }
}

/// The terms of `affinity`.
fn terms(affinity: &PodAffinity) -> impl Iterator<Item = CarriedTermRef<'_>> {
    let hard = [
        (CarriedKind::Required, &affinity.required),
        (CarriedKind::RequiredAnti, &affinity.required_anti),
    ];
    let soft = [
        (CarriedKind::Preferred, &affinity.preferred),
        (CarriedKind::PreferredAnti, &affinity.preferred_anti),
    ];
    let hard = hard.into_iter().flat_map(|(kind, terms)| {
        terms.iter().map(move |term| CarriedTermRef {
            kind,
            weight: 0,
            term,
        })
    });
    let soft = soft.into_iter().flat_map(|(kind, terms)| {
        terms.iter().map(move |preferred| CarriedTermRef {
            kind,
            weight: preferred.weight,
            term: &preferred.term,
        })
    });
    hard.chain(soft)
}
