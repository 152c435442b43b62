//! Which nodes changed, in order: whoever keeps something about nodes catches up from where it was.

use std::collections::VecDeque;

use crate::engine::cache::nodes::Slot;

/// Changes that are remembered at once, at most: 256 KiB. Who is further behind looks at every node.
const REMEMBERED_MAX: usize = 65_536;

/// The latest changes of a kind.
#[derive(Debug)]
pub struct NodeChanges {
    slots: VecDeque<Slot>,
    /// Where the first of `slots` is.
    forgotten: u64,
    remembered_max: usize,
}

impl Default for NodeChanges {
    fn default() -> Self {
        Self::starting_at(0, REMEMBERED_MAX)
    }
}

impl NodeChanges {
    /// No changes yet, the first of which will be at `position`; at most so many are remembered.
    pub(in crate::engine::cache) fn starting_at(position: u64, remembered_max: usize) -> Self {
        Self {
            slots: VecDeque::new(),
            forgotten: position,
            remembered_max,
        }
    }

    /// Where the next change will be.
    pub fn position(&self) -> u64 {
        self.forgotten + self.slots.len() as u64
    }

    /// The slots that changed from `position` on, some of them several times; `None` if that is not
    /// remembered any more.
    pub fn since(&self, position: u64) -> Option<impl ExactSizeIterator<Item = Slot> + '_> {
        let skipped = usize::try_from(position.checked_sub(self.forgotten)?).ok()?;
        (skipped <= self.slots.len()).then(|| self.slots.range(skipped..).copied())
    }

    pub(in crate::engine::cache) fn push(&mut self, slot: Slot) {
        if self.slots.len() == self.remembered_max {
            self.slots.pop_front();
            self.forgotten += 1;
        }
        self.slots.push_back(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_behind_catches_up_and_who_is_too_far_behind_is_told() {
        let mut changes = NodeChanges::default();
        let start = changes.position();
        for slot in 0..3 {
            changes.push(Slot(slot));
        }
        let slots = |position| Some(changes.since(position)?.collect::<Vec<_>>());
        assert_eq!(slots(start), Some(vec![Slot(0), Slot(1), Slot(2)]));
        assert_eq!(slots(2), Some(vec![Slot(2)]));
        assert_eq!(slots(changes.position()), Some(Vec::new()));
        assert_eq!(slots(changes.position() + 1), None);
        for _ in 0..REMEMBERED_MAX {
            changes.push(Slot(7));
        }
        assert!(changes.since(start).is_none());
        let behind = changes.since(3).expect("the last ones must be remembered");
        assert_eq!(behind.len(), REMEMBERED_MAX);
    }
}
