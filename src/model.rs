//! The cluster as the engine sees it: slim decoded objects, interned symbols, classes of pods and
//! of nodes.
//!
//! Nothing here knows a clock, a socket or a file.

pub mod controller_ref;
pub mod declared_features;
mod field_error;
pub mod host_port;
pub mod images;
pub mod label_selector;
pub mod label_set;
pub mod label_syntax;
pub mod map;
pub mod node_class;
pub mod node_selector;
pub mod object_key;
pub mod objects;
pub mod pod_affinity;
pub mod pod_class;
pub mod pod_info;
pub mod pod_volume;
pub mod quantity;
mod recent_classes;
pub mod requests;
pub mod resources;
pub(crate) mod shared_texts;
pub mod symbols;
pub mod taints;
pub mod timestamp;
pub mod topology_spread;
pub mod vocabulary;
