//! The contract between the engine and its plugins: extension points, statuses, the views that
//! plugins judge by, cluster events and queueing hints.
//!
//! The vocabulary is that of the upstream scheduling framework (KEP-624).

pub mod class_plugin;
pub mod cluster_event;
pub mod cycle_state;
pub mod earlier_preemptions;
pub mod extender;
pub mod extension_points;
pub mod failed_attempt;
pub mod plugin;
pub mod preemption_choice;
pub mod profile;

pub mod reservations;
pub mod status;

pub use cluster_event::{ActionType, ClusterEventKind, EventResource, HintScope, QueueingHint};
pub use cycle_state::CycleState;
pub use plugin::{Plugin, PluginName};
pub use status::{PluginError, Reason, Rejection, RejectionKind};
