//! Nodes that changed since they were judged.

use crate::engine::cache::node_changes::NodeChanges;
use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::Snapshot;

/// Follows the changes of nodes; in the beginning every node is one.
#[derive(Debug, Default)]
pub(crate) struct ChangedNodes {
    /// The changes that were seen; `None`: none yet.
    position: Option<u64>,
    slots: Vec<Slot>,
}

impl ChangedNodes {
    /// Takes note of what changed since the last time, by always the same `log`; tells these nodes,
    /// each once.
    pub(crate) fn catch_up(&mut self, log: &NodeChanges, cluster: Snapshot<'_>) -> &[Slot] {
        let since = self.position.and_then(|position| log.since(position));
        self.position = Some(log.position());
        let known = self.slots.len();
        match since {
            Some(slots) => self.slots.extend(slots),
            None => self.slots.extend(cluster.slots()),
        }
        if self.slots.len() - known > 1 {
            self.slots[known..].sort_unstable();
            self.slots.dedup();
        }
        &self.slots[known.min(self.slots.len())..]
    }

    /// A node that is to be judged.
    pub(crate) fn next(&self) -> Option<Slot> {
        self.slots.last().copied()
    }

    /// The node that [`Self::next`] gave is judged.
    pub(crate) fn pop(&mut self) {
        self.slots.pop();
    }

    /// Nothing is to be judged.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}
