//! How long pods that failed wait (`backoff_queue.go`).

use std::time::Duration;

use crate::engine::queue::queued_pod::QueuedPod;
use crate::model::timestamp::Timestamp;

/// Pods whose backoff ends in the same window are ordered as in the active queue
/// (`backoffQOrderingWindowDuration`).
const ORDERING_WINDOW: Duration = Duration::from_secs(1);

/// How long pods that failed wait: `initial` × 2^(failures − 1), at most `max`. A `max` of zero
/// switches backoff off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// After the first failure (`podInitialBackoffSeconds`).
    pub initial: Duration,
    /// At most (`podMaxBackoffSeconds`).
    pub max: Duration,
}

impl Default for BackoffPolicy {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(10),
        }
    }
}

impl BackoffPolicy {
    /// When the backoff of `pod` ends, cut to the window; `None` if it has none.
    pub fn expiry(&self, pod: &QueuedPod) -> Option<Timestamp> {
        let failures = match pod.consecutive_errors {
            0 => pod.unschedulable_count,
            errors => errors,
        };
        if failures == 0 || self.max.is_zero() {
            return None;
        }
        Some(Self::align(pod.timestamp + self.duration(failures)))
    }

    /// Whether `pod` still waits. In the window in which its backoff ends it does.
    pub(super) fn is_backing_off(&self, pod: &QueuedPod, now: Timestamp) -> bool {
        self.expiry(pod)
            .is_some_and(|expiry| expiry >= Self::align(now))
    }

    /// The beginning of the window of `time`.
    pub(super) fn align(time: Timestamp) -> Timestamp {
        let window = i64::try_from(ORDERING_WINDOW.as_micros()).unwrap_or(1);
        Timestamp::from_micros(time.as_micros().div_euclid(window).saturating_mul(window))
    }

    /// When pods whose backoff ends at `expiry` may go.
    pub(super) fn end_of_window(expiry: Timestamp) -> Timestamp {
        Self::align(expiry) + ORDERING_WINDOW
    }

    fn duration(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
        self.initial
            .checked_mul(factor)
            .map_or(self.max, |duration| duration.min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_its_limit() {
        let policy = BackoffPolicy::default();
        let seconds: Vec<u64> = (1..8).map(|n| policy.duration(n).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 10, 10, 10]);
        assert_eq!(policy.duration(u32::MAX), Duration::from_secs(10));
    }

    #[test]
    fn windows_are_aligned_to_whole_seconds() {
        let at = Timestamp::from_micros(5_999_999);
        assert_eq!(BackoffPolicy::align(at), Timestamp::from_seconds(5));
        assert_eq!(BackoffPolicy::end_of_window(at), Timestamp::from_seconds(6));
    }
}
