//! What plugins remember between the extension points of one attempt.

use std::any::{Any, TypeId};
use std::fmt;

/// Data of one plugin for one attempt. Preemption tries nodes on copies.
pub trait CycleData: Any + fmt::Debug + Send {
    /// A copy for a hypothesis.
    fn boxed_clone(&self) -> Box<dyn CycleData>;
    /// The value as [`Any`].
    fn as_any(&self) -> &dyn Any;
    /// The value as mutable [`Any`].
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Any + Clone + fmt::Debug + Send> CycleData for T {
    fn boxed_clone(&self) -> Box<dyn CycleData> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The memory of one attempt: at most one value of each type, the type being the plugin's own.
#[derive(Debug, Default)]
pub struct CycleState {
    values: Vec<(TypeId, Box<dyn CycleData>)>,
}

impl CycleState {
    /// Keeps `value`, in place of an earlier one of its type.
    pub fn write<T: CycleData>(&mut self, value: T) {
        let id = TypeId::of::<T>();
        self.values.retain(|(other, _)| *other != id);
        self.values.push((id, Box::new(value)));
    }

    /// Lets go of the value of type `T`.
    pub fn remove<T: CycleData>(&mut self) {
        let id = TypeId::of::<T>();
        self.values.retain(|(other, _)| *other != id);
    }

    /// The value of type `T`, if a plugin wrote one.
    pub fn read<T: CycleData>(&self) -> Option<&T> {
        let id = TypeId::of::<T>();
        let (_, value) = self.values.iter().find(|(other, _)| *other == id)?;
        (**value).as_any().downcast_ref()
    }

    /// The value of type `T` to change, if a plugin wrote one.
    pub fn read_mut<T: CycleData>(&mut self) -> Option<&mut T> {
        let id = TypeId::of::<T>();
        let (_, value) = self.values.iter_mut().find(|(other, _)| *other == id)?;
        (**value).as_any_mut().downcast_mut()
    }
}

impl Clone for CycleState {
    fn clone(&self) -> Self {
        let values = self
            .values
            .iter()
            .map(|(id, value)| (*id, (**value).boxed_clone()))
            .collect();
        Self { values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Count(u32);

    #[test]
    fn a_copy_does_not_change_with_the_original() {
        let mut state = CycleState::default();
        assert_eq!(state.read::<Count>(), None);
        state.write(Count(1));
        let copy = state.clone();
        state.read_mut::<Count>().unwrap().0 = 2;
        assert_eq!(
            (state.read(), copy.read()),
            (Some(&Count(2)), Some(&Count(1)))
        );
        state.write(Count(3));
        assert_eq!(state.read(), Some(&Count(3)));
    }
}
