//! Time that a thread ran: machines are shared, so the time that passed says little.

use std::fs;
use std::time::Duration;

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
    let statistics = fs::read_to_string("/proc/thread-self/schedstat");
    let statistics = statistics.expect("Linux must tell how long a thread ran");
    let nanoseconds = statistics.split(' ').next().unwrap_or_default();
    Duration::from_nanos(nanoseconds.parse().expect("it must be a number"))
}
