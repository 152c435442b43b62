//! The Helm chart: rendered by the real helm, and installed into a real API server.

#[cfg(feature = "live")]
mod alerts;
mod docs;
mod flags;
mod goldens;
#[cfg(feature = "live")]
#[path = "../harness/mod.rs"]
mod harness;
mod helm;
mod image;
#[cfg(feature = "live")]
mod live;
mod pods;
mod rbac;
mod refusals;
