//! Which of many selectors may select a pod, found by its namespace and labels instead of by trying
//! them all: clusters have as many terms of affinity as workloads.

use crate::model::label_selector::{LabelRequirement, LabelSelector};
use crate::model::label_set::LabelSet;
use crate::model::map::IdMap;
use crate::model::pod_affinity::PodSelector;
use crate::model::symbols::Symbol;

/// A selector that has more anchors than this is looked for by less: it selects too much for more
/// to be worth it.
const ANCHORS_MAX: usize = 16;

/// Indices of selectors by what the pods that they select have at least.
#[derive(Debug, Default)]
pub(super) struct SelectorIndex {
    /// By namespace; without one are those that may select pods of any.
    namespaces: IdMap<Option<Symbol>, Postings>,
}

/// Where a selector is in the index. A pod that it selects has exactly one of these; a selector of
/// nothing has none.
#[derive(Debug, Default)]
pub(super) struct Anchors(Box<[Anchor]>);

/// What pods have: a namespace and a label, as far as a selector says which.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    namespace: Option<Symbol>,
    label: LabelAnchor,
}

#[derive(Clone, Copy, Debug)]
enum LabelAnchor {
    Any,
    Key(Symbol),
    Pair(Symbol, Symbol),
}

/// Indices of selectors, sorted.
#[derive(Debug, Default)]
struct Postings {
    any: Vec<usize>,
    keys: IdMap<Symbol, Vec<usize>>,
    pairs: IdMap<(Symbol, Symbol), Vec<usize>>,
}

// === impl SelectorIndex ===

impl SelectorIndex {
    /// Adds the selector that has `index` elsewhere.
    pub(super) fn insert(&mut self, selector: &PodSelector, index: usize) -> Anchors {
        let anchors = self.choose(selector);
        self.insert_at(&anchors, index);
        anchors
    }

    fn insert_at(&mut self, anchors: &Anchors, index: usize) {
        for anchor in &anchors.0 {
            let postings = self.namespaces.entry(anchor.namespace).or_default();
            let indices = postings.entry(anchor.label);
            if let Err(position) = indices.binary_search(&index) {
                indices.insert(position, index);
            }
        }
    }

    /// Removes the selector at `index`, whose place the one at `last` takes, unless it was that.
    pub(super) fn swap_remove(
        &mut self,
        removed: &Anchors,
        index: usize,
        moved: Option<&Anchors>,
        last: usize,
    ) {
        self.remove(removed, index);
        if let Some(moved) = moved {
            self.remove(moved, last);
            self.insert_at(moved, index);
        }
    }

    fn remove(&mut self, anchors: &Anchors, index: usize) {
        for anchor in &anchors.0 {
            let Some(postings) = self.namespaces.get_mut(&anchor.namespace) else {
                continue;
            };
            postings.remove(anchor.label, index);
            if postings.is_empty() {
                self.namespaces.swap_remove(&anchor.namespace);
            }
        }
    }

    /// The selectors that may select a pod, each once, in a fixed order: every one that does is
    /// among them.
    pub(super) fn candidates<'a>(
        &'a self,
        namespace: Symbol,
        labels: &'a LabelSet,
    ) -> impl Iterator<Item = usize> + 'a {
        let namespaces = [None, Some(namespace)];
        let postings = namespaces
            .into_iter()
            .filter_map(|namespace| self.namespaces.get(&namespace));
        postings.flat_map(|postings| postings.candidates(labels))
    }

    /// Of what a selector can be looked for by, that which the fewest others are looked for by.
    fn choose(&self, selector: &PodSelector) -> Anchors {
        if selector.labels == LabelSelector::Nothing {
            return Anchors::default();
        }
        let namespaces = namespaces(selector);
        let requirements = selector.labels.requirements().iter();
        let labels = requirements.filter_map(|r| label_anchors(r, ANCHORS_MAX / namespaces.len()));
        let best = labels.min_by_key(|labels| self.occupied(&namespaces, labels));
        let labels = best.unwrap_or_else(|| vec![LabelAnchor::Any]);
        Anchors(each_with_each(&namespaces, &labels).collect())
    }

    /// How many selectors are at these places.
    fn occupied(&self, namespaces: &[Option<Symbol>], labels: &[LabelAnchor]) -> usize {
        let anchors = each_with_each(namespaces, labels);
        let occupied = anchors.map(|anchor| {
            let postings = self.namespaces.get(&anchor.namespace);
            postings.map_or(0, |postings| postings.get(anchor.label).len())
        });
        occupied.sum()
    }
}

// === impl Postings ===

impl Postings {
    fn get(&self, label: LabelAnchor) -> &[usize] {
        let indices = match label {
            LabelAnchor::Any => Some(&self.any),
            LabelAnchor::Key(key) => self.keys.get(&key),
            LabelAnchor::Pair(key, value) => self.pairs.get(&(key, value)),
        };
        indices.map_or(&[], Vec::as_slice)
    }

    fn entry(&mut self, label: LabelAnchor) -> &mut Vec<usize> {
        match label {
            LabelAnchor::Any => &mut self.any,
            LabelAnchor::Key(key) => self.keys.entry(key).or_default(),
            LabelAnchor::Pair(key, value) => self.pairs.entry((key, value)).or_default(),
        }
    }

    fn remove(&mut self, label: LabelAnchor, index: usize) {
        let indices = self.entry(label);
        if let Ok(position) = indices.binary_search(&index) {
            indices.remove(position);
        }
        if !indices.is_empty() {
            return;
        }
        match label {
            LabelAnchor::Any => {}
            LabelAnchor::Key(key) => {
                self.keys.swap_remove(&key);
            }
            LabelAnchor::Pair(key, value) => {
                self.pairs.swap_remove(&(key, value));
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.any.is_empty() && self.keys.is_empty() && self.pairs.is_empty()
    }

    fn candidates<'a>(&'a self, labels: &'a LabelSet) -> impl Iterator<Item = usize> + 'a {
        let labelled = labels.pairs().iter().flat_map(|&(key, value)| {
            let of_key = self.get(LabelAnchor::Key(key)).iter();
            of_key.chain(self.get(LabelAnchor::Pair(key, value)))
        });
        self.any.iter().chain(labelled).copied()
    }
}

/// The namespaces whose pods a selector may select, at most [`ANCHORS_MAX`]; any, if it does not
/// name them.
fn namespaces(selector: &PodSelector) -> Vec<Option<Symbol>> {
    let names = selector.namespaces.iter().copied().map(Some);
    if selector.names_all_namespaces() && (1..=ANCHORS_MAX).contains(&names.len()) {
        names.collect()
    } else {
        vec![None]
    }
}

/// What of labels a requirement demands, at most `limit`; `None` if it does not say what there must
/// be.
fn label_anchors(requirement: &LabelRequirement, limit: usize) -> Option<Vec<LabelAnchor>> {
    match requirement {
        LabelRequirement::In(key, values) if values.len() <= limit => {
            let pairs = values.iter().map(|value| LabelAnchor::Pair(*key, *value));
            Some(pairs.collect())
        }
        LabelRequirement::In(key, _) | LabelRequirement::Exists(key) => {
            Some(vec![LabelAnchor::Key(*key)])
        }
        LabelRequirement::NotIn(..) | LabelRequirement::DoesNotExist(_) => None,
    }
}

fn each_with_each<'a>(
    namespaces: &'a [Option<Symbol>],
    labels: &'a [LabelAnchor],
) -> impl Iterator<Item = Anchor> + 'a {
    namespaces.iter().flat_map(|&namespace| {
        let labels = labels.iter();
        labels.map(move |&label| Anchor { namespace, label })
    })
}

#[cfg(test)]
mod tests;
