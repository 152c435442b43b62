//! The guard and the elector against a fake API server, on paused time.

mod elector;
mod guard;
