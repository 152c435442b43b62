//! Plugins that are left out of an attempt.

use smallvec::SmallVec;

/// Plugins of a profile that have nothing to say in the attempt, by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped(SmallVec<[bool; 32]>);

impl Skipped {
    /// Whether no plugin is left out.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the plugin at `index` is left out.
    pub(super) fn has(&self, index: usize) -> bool {
        self.0.get(index).copied().unwrap_or(false)
    }

    /// Leaves out the plugin at `index`.
    pub(super) fn insert(&mut self, index: usize) {
        if self.0.len() <= index {
            self.0.resize(index + 1, false);
        }
        self.0[index] = true;
    }
}
