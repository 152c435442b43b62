//! What happens by time alone: backoffs end, and pods that wait too long are tried again.

use std::time::Duration;

use crate::engine::framework::ClusterEventKind;
use crate::engine::queue::SchedulingQueue;
use crate::engine::queue::backoff::BackoffPolicy;
use crate::engine::queue::places::Place;
use crate::engine::queue::plugins::QueuePlugins;
use crate::engine::queue::wake::Strategy;
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

/// How often pods that wait too long are looked for (`flushUnschedulableEntitiesLeftover`).
pub(super) const UNSCHEDULABLE_FLUSH_INTERVAL: Duration = Duration::from_secs(30);

impl SchedulingQueue {
    /// Moves what is due: pods whose backoff is over, and pods that waited too long.
    pub fn tick(&mut self, now: Timestamp, plugins: &dyn QueuePlugins) {
        for uid in self.places.backoff_over(BackoffPolicy::align(now)) {
            if let Some(pod) = self.places.remove(&uid) {
                // `PreEnqueue` was asked on the way into the backoff queue.
                let event = ClusterEventKind::BACKOFF_COMPLETE;
                self.settle(now, pod, Place::Active, event, plugins);
            }
        }
        let flush = *self
            .next_unschedulable_flush
            .get_or_insert(now + UNSCHEDULABLE_FLUSH_INTERVAL);
        if now >= flush {
            self.next_unschedulable_flush = Some(now + UNSCHEDULABLE_FLUSH_INTERVAL);
            self.flush_unschedulable(now, plugins);
        }
    }

    /// When [`Self::tick`] has something to do at the latest.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let backoff = self
            .places
            .first_backoff_expiry()
            .map(BackoffPolicy::end_of_window);
        let waits = self.count(Place::Unschedulable) + self.count(Place::Gated) > 0;
        let flush = self.next_unschedulable_flush.filter(|_| waits);
        backoff.into_iter().chain(flush).min()
    }

    fn flush_unschedulable(&mut self, now: Timestamp, plugins: &dyn QueuePlugins) {
        let limit = self.config.max_in_unschedulable;
        let late: Vec<PodUid> = self
            .places
            .iter()
            .filter(|(_, place)| matches!(place, Place::Unschedulable | Place::Gated))
            .filter(|(pod, _)| now.since(pod.waits_since()) > limit)
            .map(|(pod, _)| pod.info.uid.clone())
            .collect();
        for uid in late {
            let Some(mut pod) = self.places.remove(&uid) else {
                continue;
            };
            pod.was_flushed = true;
            pod.flushed_at = Some(now);
            let event = ClusterEventKind::UNSCHEDULABLE_TIMEOUT;
            self.enter(now, pod, event, Strategy::AfterBackoff, plugins);
        }
    }
}
