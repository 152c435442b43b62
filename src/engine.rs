//! The scheduler itself: queue, cache, scheduling and binding cycles, diagnosis.
//!
//! Pure: events and time in, effects out.

pub mod cache;
pub mod decision;
pub mod diagnosis;
pub mod effect;
pub mod event;
pub mod framework;
pub mod queue;
pub mod scheduling_cycle;
