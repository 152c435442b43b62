//! Which pods on nodes have which labels, so that pods that a selector selects are found without
//! looking at the others.
//!
//! Pods of a label set are chained through their places: 8 bytes a pod.

use crate::engine::cache::pods::PodPlace;
use crate::model::vocabulary::LabelSetId;

/// No pod.
const NONE: u32 = u32::MAX;

/// The chains, parallel to the places of pods.
#[derive(Debug, Default)]
pub(super) struct LabelChains {
    /// By label set: the place of the first pod.
    first: Vec<u32>,
    /// By place; of one that holds no pod nothing is read.
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl LabelChains {
    /// The places of the pods that have the label set.
    pub(super) fn places(&self, labels: LabelSetId) -> impl Iterator<Item = PodPlace> + '_ {
        let first = self.first.get(labels.index()).copied().unwrap_or(NONE);
        std::iter::successors(Some(first), |at| Some(self.links.get(*at as usize)?.after))
            .take_while(|at| *at != NONE)
            .map(PodPlace)
    }

    /// A pod with these labels was put in `place`.
    pub(super) fn add(&mut self, PodPlace(place): PodPlace, labels: LabelSetId) {
        if self.first.len() <= labels.index() {
            self.first.resize(labels.index() + 1, NONE);
        }
        if self.links.len() <= place as usize {
            self.links.resize(place as usize + 1, Link::default());
        }
        let after = std::mem::replace(&mut self.first[labels.index()], place);
        let before = NONE;
        self.links[place as usize] = Link { before, after };
        if let Some(after) = self.links.get_mut(after as usize) {
            after.before = place;
        }
    }

    /// The pod in `place`, which has these labels, is taken out.
    pub(super) fn remove(&mut self, PodPlace(place): PodPlace, labels: LabelSetId) {
        let Link { before, after } = std::mem::take(&mut self.links[place as usize]);
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => self.first[labels.index()] = after,
        }
        if let Some(link) = self.links.get_mut(after as usize) {
            link.before = before;
        }
    }
}

impl Default for Link {
    /// Between no pods.
    fn default() -> Self {
        Self {
            before: NONE,
            after: NONE,
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
            steps in proptest::collection::vec((0..4_usize, 0..20_usize), 0..60),
        ) {
            let mut chains = LabelChains::default();
            let mut places = [None; 20];
            for (labels, at) in steps {
                let place = PodPlace(u32::try_from(at).unwrap());
                if let Some(gone) = places[at].take() {
                    chains.remove(place, LabelSetId::of_index(gone));
                } else {
                    places[at] = Some(labels);
                    chains.add(place, LabelSetId::of_index(labels));
                }
                for labels in 0..5 {
                    let wanted = places.iter().enumerate();
                    let wanted: BTreeSet<usize> = wanted
                        .filter_map(|(at, of)| (*of == Some(labels)).then_some(at))
                        .collect();
                    let found = chains.places(LabelSetId::of_index(labels));
                    let found: Vec<usize> = found.map(|place| place.0 as usize).collect();
                    prop_assert_eq!(found.len(), wanted.len());
                    prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
                }
            }
        }
    }
}
