//! The elector's numbers, for `/metrics` to read.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

/// What the elector has counted since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ElectionNumbers {
    /// Times this replica began or ceased to lead.
    pub transitions: u64,
    /// Looks at the Lease, successful or not.
    pub attempts: u64,
    /// Looks that ended in an error or a timeout.
    pub failures: u64,
    /// Writes refused because somebody else had written in between.
    pub conflicts: u64,
    /// Renewals that succeeded.
    pub renewals: u64,
    /// Time the successful renewals took, in sum.
    pub renew_latency_sum: Duration,
    /// Time the slowest successful renewal took.
    pub renew_latency_max: Duration,
    /// What was left of the deadline when the last renewal succeeded.
    pub slack_last: Option<Duration>,
    /// The least that was ever left of it.
    pub slack_min: Option<Duration>,
}

/// A shared [`ElectionNumbers`].
#[derive(Clone, Debug, Default)]
pub struct ElectionStats(Arc<Mutex<ElectionNumbers>>);

impl ElectionStats {
    /// The numbers now.
    pub fn read(&self) -> ElectionNumbers {
        *self.0.lock()
    }

    pub(crate) fn attempted(&self) {
        self.0.lock().attempts += 1;
    }

    pub(crate) fn failed(&self) {
        self.0.lock().failures += 1;
    }

    pub(crate) fn conflicted(&self) {
        self.0.lock().conflicts += 1;
    }

    pub(crate) fn transitioned(&self) {
        self.0.lock().transitions += 1;
    }

    pub(crate) fn renewed(&self, latency: Duration, slack: Duration) {
        let mut numbers = self.0.lock();
        numbers.renewals += 1;
        numbers.renew_latency_sum += latency;
        numbers.renew_latency_max = numbers.renew_latency_max.max(latency);
        numbers.slack_last = Some(slack);
        numbers.slack_min = Some(numbers.slack_min.map_or(slack, |least| least.min(slack)));
    }
}
