//! The live scheduler: everything that waits, retries, can fail or talks to an API server.

pub mod barrier;
pub mod clients;
pub mod clock;
pub mod dispatcher;
pub mod driver;
pub mod events;
pub mod extender;
pub mod leadership;
pub mod profiles;
pub mod protobuf;
pub mod rate_limit;
pub mod resource_version;
pub mod run;
pub mod serving;
pub mod watch;
pub mod watch_progress;
