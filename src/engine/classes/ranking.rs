//! The nodes that fit, by place, and within a place by score.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::tie_break::Ranked;
use crate::engine::classes::changed_nodes::ChangedNodes;

/// Where a node lies, as the plugins that judge by places tell it, and its scores that are compared
/// with those of others before they count.
pub(crate) type Place = Box<[i64]>;

/// What a ranking takes for each node: its seat, and its place in the order.
pub(crate) const BYTES_OF_NODE: usize = 64;
/// And for each place: two copies of it, an entry of the map, a group and the first nodes in order.
const BYTES_OF_GROUP: usize = 400;

/// The nodes that fit.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    /// Nodes to be ranked.
    pub(crate) changed: ChangedNodes,
    by_place: HashMap<Place, u32, FxBuildHasher>,
    groups: Vec<Group>,
    free: Vec<u32>,
    /// By slot.
    seats: Vec<Seat>,
    /// Nodes with their groups that came while there were no others: to be sorted all at once.
    unsorted: Vec<(u32, (i64, u64, Slot))>,
    /// How many nodes are in the groups.
    sorted: usize,
}

/// The nodes of one place.
#[derive(Debug, Default)]
pub(crate) struct Group {
    place: Place,
    nodes: Ranked,
}

/// Where a node is kept: 24 bytes a node and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    group: u32,
    score: i64,
    /// Kept, since another node may have the slot by now.
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
        groups.filter(|(_, group)| !group.nodes.is_empty())
    }

    /// The index of the place in which the node in `slot` lies, if the node fits.
    pub(crate) fn group_of(&self, slot: Slot) -> Option<u32> {
        let seat = self.seats.get(slot.index())?;
        (*seat != Seat::NONE).then_some(seat.group)
    }

    /// What all of it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.seats.len() * BYTES_OF_NODE + self.groups.len() * BYTES_OF_GROUP
    }

    /// The node in `slot` fits, lies in `place` and has `score` for itself. [`Self::settle`] follows
    /// before anything is read.
    pub(crate) fn put(&mut self, slot: Slot, ring: u64, place: &[i64], score: i64) {
        if self.seats.len() <= slot.index() {
            self.seats.resize(slot.index() + 1, Seat::NONE);
        }
        let earlier = self.seats[slot.index()];
        let group = self.group(earlier, place);
        let seat = Seat { group, score, ring };
        if earlier == seat {
            return;
        }
        self.seats[slot.index()] = seat;
        if self.sorted == 0 && earlier == Seat::NONE {
            self.unsorted.push((group, (score, ring, slot)));
            return;
        }
        self.settle();
        // Before it leaves its earlier seat, so that a group that it stays in stays.
        let nodes = &mut self.groups[group as usize].nodes;
        nodes.insert((score, ring, slot));
        self.sorted += 1;
        self.leave(earlier, slot);
    }

    /// The node in `slot` does not fit, or is gone.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let seat = self.seats.get(slot.index()).copied();
        if let Some(seat) = seat.filter(|seat| *seat != Seat::NONE) {
            self.settle();
            self.seats[slot.index()] = Seat::NONE;
            self.leave(seat, slot);
        }
    }

    /// Takes the nodes in that came while there were no others.
    pub(crate) fn settle(&mut self) {
        if self.unsorted.is_empty() {
            return;
        }
        let mut unsorted = std::mem::take(&mut self.unsorted);
        unsorted.sort_unstable();
        self.sorted += unsorted.len();
        for alike in unsorted.chunk_by(|a, b| a.0 == b.0) {
            let nodes = alike.iter().map(|(_, node)| *node);
            if let Some((group, _)) = alike.first() {
                self.groups[*group as usize].nodes = nodes.collect();
            }
        }
    }

    /// The index of the group of `place`: that of the `earlier` seat, as a rule.
    fn group(&mut self, earlier: Seat, place: &[i64]) -> u32 {
        let stays = self.groups.get(earlier.group as usize);
        if stays.is_some_and(|group| *group.place == *place) {
            return earlier.group;
        }
        let known = self.by_place.get(place).copied();
        known.unwrap_or_else(|| self.new_group(place))
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
        group.nodes.remove(&(seat.score, seat.ring, slot));
        self.sorted -= 1;
        if group.nodes.is_empty() {
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

    /// The nodes by score.
    pub(crate) fn nodes(&self) -> &Ranked {
        &self.nodes
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
                (0..8_u32, proptest::option::of((0..3_i64, 0..4_i64)), any::<bool>()), 1..60),
        ) {
            let (mut ranking, mut seats) = (Ranking::default(), Seats::new());
            for (slot, fits, is_read) in steps {
                let ring = u64::from(slot * 7 % 5);
                if let Some((place, score)) = fits {
                    ranking.put(Slot(slot), ring, &[place], score);
                    seats.insert(slot, (ring, vec![place], score));
                } else {
                    ranking.remove(Slot(slot));
                    seats.remove(&slot);
                }
                if !is_read {
                    continue;
                }
                ranking.settle();
                let found = ranking.groups().map(|(_, group)| {
                    let (score, ..) = *group.nodes().last().unwrap();
                    let best = group.nodes().iter().filter(|node| node.0 == score);
                    let nodes = best.map(|(_, ring, slot)| (*ring, *slot)).collect();
                    (group.place().to_vec(), (group.nodes().len(), score, nodes))
                });
                prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected(&seats));
            }
        }
    }
}
