//! The nodes that fit, by place, and within a place by score.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::engine::cache::nodes::Slot;

/// Where a node lies, as the plugins that judge by places tell it, and its scores that are compared
/// with those of others before they count.
pub(crate) type Place = Box<[i64]>;

/// The nodes that fit.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    by_place: HashMap<Place, u32, FxBuildHasher>,
    groups: Vec<Group>,
    free: Vec<u32>,
    /// By slot.
    seats: Vec<Seat>,
}

/// The nodes of one place.
#[derive(Debug, Default)]
pub(crate) struct Group {
    place: Place,
    /// By what each node scores for itself, then by their places on the ring of ties.
    by_score: BTreeMap<i64, BTreeSet<(u64, Slot)>>,
    nodes: usize,
}

/// Where a node is kept: 24 bytes a node and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    group: u32,
    score: i64,
    ring: u64,
}

impl Seat {
    /// The node does not fit.
    const NONE: Self = Self {
        group: u32::MAX,
        score: 0,
        ring: 0,
    };
}

// === impl Ranking ===

impl Ranking {
    /// The places that have nodes, with their indices.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (u32, &Group)> {
        let groups = (0_u32..).zip(&self.groups);
        groups.filter(|(_, group)| group.nodes > 0)
    }

    /// The index of the place in which the node in `slot` lies, if the node fits.
    pub(crate) fn group_of(&self, slot: Slot) -> Option<u32> {
        let seat = self.seats.get(slot.index())?;
        (*seat != Seat::NONE).then_some(seat.group)
    }

    /// The node in `slot` fits, lies in `place` and has `score` for itself.
    pub(crate) fn put(&mut self, slot: Slot, ring: u64, place: &[i64], score: i64) {
        let known = self.by_place.get(place).copied();
        let group = known.unwrap_or_else(|| self.new_group(place));
        let seat = Seat { group, score, ring };
        if self.seats.len() <= slot.index() {
            self.seats.resize(slot.index() + 1, Seat::NONE);
        }
        let earlier = std::mem::replace(&mut self.seats[slot.index()], seat);
        if earlier == seat {
            return;
        }
        // Counted before it leaves its earlier seat, so that a group that it stays in stays.
        self.groups[group as usize].nodes += 1;
        self.leave(earlier, slot);
        let group = &mut self.groups[group as usize];
        group
            .by_score
            .entry(score)
            .or_default()
            .insert((ring, slot));
    }

    /// The node in `slot` does not fit, or is gone.
    pub(crate) fn remove(&mut self, slot: Slot) {
        if let Some(seat) = self.seats.get_mut(slot.index()) {
            let seat = std::mem::replace(seat, Seat::NONE);
            self.leave(seat, slot);
        }
    }

    fn new_group(&mut self, place: &[i64]) -> u32 {
        let group = Group {
            place: place.into(),
            ..Group::default()
        };
        let index = if let Some(index) = self.free.pop() {
            self.groups[index as usize] = group;
            index
        } else {
            self.groups.push(group);
            u32::try_from(self.groups.len() - 1).expect("fewer than 2^32 places must be known")
        };
        self.by_place.insert(place.into(), index);
        index
    }

    fn leave(&mut self, seat: Seat, slot: Slot) {
        let Some(group) = self.groups.get_mut(seat.group as usize) else {
            return;
        };
        if let Some(of_score) = group.by_score.get_mut(&seat.score) {
            of_score.remove(&(seat.ring, slot));
            if of_score.is_empty() {
                group.by_score.remove(&seat.score);
            }
        }
        group.nodes -= 1;
        if group.nodes == 0 {
            self.by_place.remove(&group.place);
            self.free.push(seat.group);
        }
    }
}

// === impl Group ===

impl Group {
    /// What the nodes of the group have in common.
    pub(crate) fn place(&self) -> &[i64] {
        &self.place
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes
    }

    /// The greatest score, and the nodes that have it in the order of the ring.
    pub(crate) fn best(&self) -> Option<(i64, &BTreeSet<(u64, Slot)>)> {
        let (score, nodes) = self.by_score.last_key_value()?;
        Some((*score, nodes))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Groups = BTreeMap<Vec<i64>, (usize, i64, Vec<(u64, Slot)>)>;
    type Seats = BTreeMap<u32, (u64, Vec<i64>, i64)>;

    /// Every group as it should be, by place.
    fn expected(seats: &Seats) -> Groups {
        let mut groups = Groups::new();
        for (slot, (ring, place, score)) in seats {
            let group = groups.entry(place.clone()).or_insert((0, i64::MIN, vec![]));
            group.0 += 1;
            if *score > group.1 {
                (group.1, group.2) = (*score, vec![]);
            }
            if *score == group.1 {
                group.2.push((*ring, Slot(*slot)));
            }
        }
        for group in groups.values_mut() {
            group.2.sort_unstable();
        }
        groups
    }

    proptest! {
        #[test]
        fn the_best_of_each_place_is_right_whatever_came_and_went(
            steps in proptest::collection::vec(
                (0..8_u32, proptest::option::of((0..3_i64, 0..4_i64))), 1..60),
        ) {
            let (mut ranking, mut seats) = (Ranking::default(), Seats::new());
            for (slot, fits) in steps {
                let ring = u64::from(slot * 7 % 5);
                if let Some((place, score)) = fits {
                    ranking.put(Slot(slot), ring, &[place], score);
                    seats.insert(slot, (ring, vec![place], score));
                } else {
                    ranking.remove(Slot(slot));
                    seats.remove(&slot);
                }
                let found = ranking.groups().map(|(_, group)| {
                    let (score, nodes) = group.best().unwrap();
                    let nodes = nodes.iter().copied().collect();
                    (group.place().to_vec(), (group.len(), score, nodes))
                });
                prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected(&seats));
            }
        }
    }
}
