//! The live scheduler: everything that waits, retries, can fail or talks to an API server.

pub mod clock;
pub mod leadership;
