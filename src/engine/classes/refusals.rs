//! The nodes that refuse the pods of a class for what they are themselves, counted by reason.

use crate::engine::cache::nodes::Slot;
use crate::engine::framework::Rejection;
use crate::model::map::IdMap;

/// The index of nodes that do not refuse.
const NONE: u32 = u32::MAX;

/// Refusals by node.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_refusal: IdMap<Rejection, u32>,
    /// Each refusal with how many nodes have it.
    known: Vec<(Rejection, usize)>,
    free: Vec<u32>,
    /// By slot: the index in `known`.
    by_slot: Vec<u32>,
}

impl Refusals {
    /// Why the node in `slot` refuses.
    pub(crate) fn of(&self, slot: Slot) -> Option<&Rejection> {
        let index = *self.by_slot.get(slot.index())?;
        self.known.get(index as usize).map(|(refusal, _)| refusal)
    }

    /// The refusals with how many nodes have each.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&Rejection, usize)> {
        let known = self.known.iter().filter(|(_, count)| *count > 0);
        known.map(|(refusal, count)| (refusal, *count))
    }

    /// The node in `slot` refuses.
    pub(crate) fn put(&mut self, slot: Slot, refusal: Rejection) {
        if self.of(slot) == Some(&refusal) {
            return;
        }
        self.remove(slot);
        if self.by_slot.len() <= slot.index() {
            self.by_slot.resize(slot.index() + 1, NONE);
        }
        let known = self.by_refusal.get(&refusal).copied();
        let index = known.unwrap_or_else(|| self.add(refusal));
        self.known[index as usize].1 += 1;
        self.by_slot[slot.index()] = index;
    }

    /// The node in `slot` does not refuse, or is gone.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let Some(index) = self.by_slot.get_mut(slot.index()) else {
            return;
        };
        let index = std::mem::replace(index, NONE);
        let Some((refusal, count)) = self.known.get_mut(index as usize) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.by_refusal.swap_remove(refusal);
            self.free.push(index);
        }
    }

    fn add(&mut self, refusal: Rejection) -> u32 {
        let index = if let Some(index) = self.free.pop() {
            self.known[index as usize] = (refusal.clone(), 0);
            index
        } else {
            self.known.push((refusal.clone(), 0));
            u32::try_from(self.known.len() - 1).expect("fewer refusals than nodes must be known")
        };
        self.by_refusal.insert(refusal, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn refusals_are_counted_right_whatever_came_and_went(
            steps in proptest::collection::vec((0..6_u32, proptest::option::of(0..4_u8)), 0..60),
        ) {
            let mut refusals = Refusals::default();
            let mut expected = BTreeMap::new();
            for (slot, reason) in steps {
                if let Some(reason) = reason {
                    let refusal = Rejection::unschedulable("P", format!("reason {reason}"));
                    refusals.put(Slot(slot), refusal.clone());
                    expected.insert(slot, refusal);
                } else {
                    refusals.remove(Slot(slot));
                    expected.remove(&slot);
                }
                for slot in 0..7 {
                    prop_assert_eq!(refusals.of(Slot(slot)), expected.get(&slot));
                }
                let mut counts = BTreeMap::<String, usize>::new();
                for refusal in expected.values() {
                    *counts.entry(refusal.message()).or_default() += 1;
                }
                let found: BTreeMap<String, usize> =
                    refusals.counts().map(|(refusal, count)| (refusal.message(), count)).collect();
                prop_assert_eq!(found, counts);
                prop_assert!(refusals.known.len() <= 4);
            }
        }
    }
}
