//! The live scheduler: everything that waits, retries, can fail or talks to an API server.

pub mod barrier;
pub mod clock;
pub mod leadership;
pub mod resource_version;
pub mod watch_progress;
