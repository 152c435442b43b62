//! Which pods on nodes have which labels, so that pods that a selector selects are found without
//! looking at the others.
//!
//! Pods of a label set are chained through their positions in the table of pods: 8 bytes a pod.

use crate::model::vocabulary::LabelSetId;

/// No pod.
const NONE: u32 = u32::MAX;

/// The chains, parallel to a table of pods from which pods are taken by `swap_remove`.
#[derive(Debug, Default)]
pub(super) struct LabelChains {
    /// By label set: the position of the first pod.
    first: Vec<u32>,
    /// By position.
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl LabelChains {
    /// The positions of the pods that have the label set.
    pub(super) fn positions(&self, labels: LabelSetId) -> impl Iterator<Item = usize> + '_ {
        let first = self.first.get(labels.index()).copied().unwrap_or(NONE);
        std::iter::successors(Some(first), |at| Some(self.links.get(*at as usize)?.after))
            .take_while(|at| *at != NONE)
            .map(|at| at as usize)
    }

    /// A pod with these labels was added at the end of the table.
    pub(super) fn push(&mut self, labels: LabelSetId) {
        if self.first.len() <= labels.index() {
            self.first.resize(labels.index() + 1, NONE);
        }
        let position = u32::try_from(self.links.len()).expect("fewer than 2^32 pods must be known");
        let after = std::mem::replace(&mut self.first[labels.index()], position);
        let before = NONE;
        self.links.push(Link { before, after });
        if let Some(after) = self.links.get_mut(after as usize) {
            after.before = position;
        }
    }

    /// The pod at `position`, which has these labels, is taken out; the last pod of the table, which
    /// has the labels `last`, takes its place.
    pub(super) fn swap_remove(&mut self, position: usize, labels: LabelSetId, last: LabelSetId) {
        let Link { before, after } = self.links[position];
        self.lead(before, labels, after);
        if let Some(after) = self.links.get_mut(after as usize) {
            after.before = before;
        }
        self.links.swap_remove(position);
        let Some(Link { before, after }) = self.links.get(position).copied() else {
            return;
        };
        let position = u32::try_from(position).expect("fewer than 2^32 pods must be known");
        self.lead(before, last, position);
        if let Some(after) = self.links.get_mut(after as usize) {
            after.before = position;
        }
    }

    /// `to` comes after `before`, or first.
    fn lead(&mut self, before: u32, labels: LabelSetId, to: u32) {
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = to,
            None => self.first[labels.index()] = to,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_pod_is_found_by_its_labels_whoever_came_and_went(
            steps in proptest::collection::vec((0..4_usize, any::<Option<u8>>()), 0..60),
        ) {
            let mut chains = LabelChains::default();
            let mut table: Vec<usize> = Vec::new();
            for (labels, removed) in steps {
                match removed {
                    Some(at) if !table.is_empty() => {
                        let at = usize::from(at) % table.len();
                        let last = LabelSetId::of_index(table[table.len() - 1]);
                        let gone = table.swap_remove(at);
                        chains.swap_remove(at, LabelSetId::of_index(gone), last);
                    }
                    _ => {
                        table.push(labels);
                        chains.push(LabelSetId::of_index(labels));
                    }
                }
                for labels in 0..5 {
                    let at = |(position, of): (usize, &usize)| (*of == labels).then_some(position);
                    let wanted: BTreeSet<usize> =
                        table.iter().enumerate().filter_map(at).collect();
                    let found: Vec<usize> =
                        chains.positions(LabelSetId::of_index(labels)).collect();
                    prop_assert_eq!(found.len(), wanted.len());
                    prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
                }
            }
        }
    }
}
