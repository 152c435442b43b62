//! The priorities of the pods on each node: where somebody could be evicted for whom.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use crate::engine::cache::nodes::Slot;

/// How many pods of which priority are where.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    /// By slot: the priorities of its pods, ascending, with how many have each.
    by_slot: Vec<SmallVec<[(i32, u32); 2]>>,
    /// Slots by the lowest priority of their pods.
    by_lowest: BTreeMap<i32, BTreeSet<Slot>>,
}

impl Priorities {
    /// The lowest priority of all pods.
    pub(crate) fn lowest(&self) -> Option<i32> {
        self.by_lowest.keys().next().copied()
    }

    /// The slots that have a pod of a lower priority than `priority`.
    pub(crate) fn slots_below(&self, priority: i32) -> impl Iterator<Item = Slot> + '_ {
        self.by_lowest
            .range(..priority)
            .flat_map(|(_, slots)| slots)
            .copied()
    }

    /// A pod came.
    pub(super) fn add(&mut self, slot: Slot, priority: i32) {
        if self.by_slot.len() <= slot.index() {
            self.by_slot.resize(slot.index() + 1, SmallVec::new());
        }
        let counts = &mut self.by_slot[slot.index()];
        let before = lowest(counts);
        match counts.binary_search_by_key(&priority, |(known, _)| *known) {
            Ok(index) => counts[index].1 += 1,
            Err(index) => counts.insert(index, (priority, 1)),
        }
        self.move_slot(slot, before);
    }

    /// A pod left.
    pub(super) fn remove(&mut self, slot: Slot, priority: i32) {
        let Some(counts) = self.by_slot.get_mut(slot.index()) else {
            return;
        };
        let before = lowest(counts);
        if let Ok(index) = counts.binary_search_by_key(&priority, |(known, _)| *known) {
            counts[index].1 -= 1;
            if counts[index].1 == 0 {
                counts.remove(index);
            }
        }
        self.move_slot(slot, before);
    }

    fn move_slot(&mut self, slot: Slot, before: Option<i32>) {
        let after = lowest(&self.by_slot[slot.index()]);
        if before == after {
            return;
        }
        if let Some(before) = before
            && let Some(slots) = self.by_lowest.get_mut(&before)
        {
            slots.remove(&slot);
            if slots.is_empty() {
                self.by_lowest.remove(&before);
            }
        }
        if let Some(after) = after {
            self.by_lowest.entry(after).or_default().insert(slot);
        }
    }
}

fn lowest(counts: &[(i32, u32)]) -> Option<i32> {
    counts.first().map(|(priority, _)| *priority)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_are_found_by_the_lowest_priority_whoever_came_and_went(
            steps in proptest::collection::vec((0..4_u32, -2..3_i32, any::<bool>()), 0..60),
        ) {
            let mut priorities = Priorities::default();
            let mut pods: Vec<(u32, i32)> = Vec::new();
            for (slot, priority, comes) in steps {
                let there = pods.iter().position(|pod| *pod == (slot, priority));
                match (comes, there) {
                    (true, _) => {
                        pods.push((slot, priority));
                        priorities.add(Slot(slot), priority);
                    }
                    (false, Some(position)) => {
                        pods.swap_remove(position);
                        priorities.remove(Slot(slot), priority);
                    }
                    (false, None) => {}
                }
                let lowest = pods.iter().map(|(_, priority)| *priority).min();
                prop_assert_eq!(priorities.lowest(), lowest);
                for limit in -2..4 {
                    let below = pods.iter().filter(|(_, priority)| *priority < limit);
                    let wanted: BTreeSet<Slot> = below.map(|(slot, _)| Slot(*slot)).collect();
                    let found: Vec<Slot> = priorities.slots_below(limit).collect();
                    prop_assert_eq!(found.len(), wanted.len());
                    prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
                }
            }
        }
    }
}
