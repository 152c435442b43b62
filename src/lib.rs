//! Bayplan: a Kubernetes scheduler that decides what kube-scheduler decides, faster, and says why.
//!
//! `ARCHITECTURE.md` has the map and the invariants.

pub mod apis;
pub mod cli;
pub mod engine;
#[cfg(feature = "live")]
pub mod kubernetes;
#[cfg(feature = "live")]
pub mod metrics;
pub mod model;
pub mod options;
pub mod plugins;
pub mod sim;
