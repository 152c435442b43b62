//! What plugins hold for pods on their way to a node, beside the room on the node itself: volumes,
//! devices.

use crate::engine::framework::cycle_state::{CycleData, CycleState};

/// The books of the plugins, owned by the engine: at most one value of each type. They outlive an
/// attempt and are read by later ones through the snapshot.
#[derive(Debug, Default)]
pub struct Reservations(CycleState);

/// An object that is held for a pod, told to audits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reserved {
    /// Kind and name.
    pub object: String,
    /// The `resourceVersion` from which on it is not held any more if it changes.
    pub version: String,
}

impl Reservations {
    /// The book of type `T`, if a plugin keeps one.
    pub fn read<T: CycleData>(&self) -> Option<&T> {
        self.0.read()
    }

    /// The book of type `T`, opened if there is none.
    ///
    /// # Panics
    /// Never: the book is opened first.
    pub fn book<T: CycleData + Default>(&mut self) -> &mut T {
        if self.0.read::<T>().is_none() {
            self.0.write(T::default());
        }
        self.0
            .read_mut()
            .expect("a book that was just opened must be there")
    }
}
