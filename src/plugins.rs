//! The plugins, one file each, named as upstream names them.
//!
//! They are registered into the engine and never imported by it.

#[cfg(test)]
mod class_verdicts;
#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod queueing_hints;

pub mod registry;
pub mod support;

mod claims;
mod csi_translation;
mod default_binder;
mod default_preemption;
mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_balanced_allocation;
mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
mod pod_topology_spread;
mod priority_sort;
mod scheduling_gates;
mod taint_toleration;
mod unimplemented_needs;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;
