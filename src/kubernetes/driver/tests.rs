//! The loop with its real dispatcher and broadcaster, on paused time, against a fake API service.

mod recovery;
mod start;
mod turns;
mod world;
