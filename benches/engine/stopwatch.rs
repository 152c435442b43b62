//! Time that a thread ran: machines are shared, so the time that passed says little.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Measures from its making on.
#[derive(Debug)]
pub(crate) struct Stopwatch(Duration);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(time_run())
    }

    /// How long this thread ran since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        time_run().saturating_sub(self.0)
    }
}

/// How long this thread has run so far.
fn time_run() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("no thread runs for less than no time")
}
