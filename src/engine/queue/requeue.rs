//! Where a pod goes that is new, failed or woke up.

use crate::engine::framework::ClusterEventKind;
use crate::engine::queue::SchedulingQueue;
use crate::engine::queue::places::Place;
use crate::engine::queue::plugins::QueuePlugins;
use crate::engine::queue::queued_pod::QueuedPod;
use crate::engine::queue::rejectors::Rejectors;
use crate::engine::queue::timers::UNSCHEDULABLE_FLUSH_INTERVAL;
use crate::engine::queue::wake::Strategy;
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

impl SchedulingQueue {
    /// The attempt of a pod in flight gave no node (`AddUnschedulablePodIfNotPresent`). Changes
    /// that happened meanwhile are judged now. A pod that is not in flight stays where it is.
    pub fn requeue(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        rejectors: Rejectors,
        plugins: &dyn QueuePlugins,
    ) {
        if self.places.place(uid) != Some(Place::InFlight) {
            return;
        }
        let Some(mut pod) = self.places.remove(uid) else {
            return;
        };
        pod.fail(now, rejectors);
        let strategy = self.strategy_after_flight(&pod, plugins);
        self.in_flight.done(uid);
        self.enter(
            now,
            pod,
            ClusterEventKind::SCHEDULE_ATTEMPT_FAILURE,
            strategy,
            plugins,
        );
    }

    /// A pod that had left for its binding comes back: always after its backoff.
    pub fn put_back(
        &mut self,
        now: Timestamp,
        mut pod: QueuedPod,
        rejectors: Rejectors,
        plugins: &dyn QueuePlugins,
    ) {
        pod.fail(now, rejectors);
        let event = ClusterEventKind::SCHEDULE_ATTEMPT_FAILURE;
        self.enter(now, pod, event, Strategy::AfterBackoff, plugins);
    }

    /// Puts a pod where it belongs (`requeueEntityWithQueueingStrategy`).
    pub(super) fn enter(
        &mut self,
        now: Timestamp,
        mut pod: QueuedPod,
        event: ClusterEventKind,
        strategy: Strategy,
        plugins: &dyn QueuePlugins,
    ) {
        let policy = self.config.backoff;
        let place = match strategy {
            Strategy::Skip => Place::Unschedulable,
            Strategy::AfterBackoff if policy.is_backing_off(&pod, now) => Place::Backoff,
            Strategy::AfterBackoff | Strategy::Immediately => Place::Active,
        };
        let place = if place == Place::Unschedulable {
            place
        } else {
            gate(&mut pod, place, plugins)
        };
        self.settle(now, pod, place, event, plugins);
    }

    /// Puts a pod into `place` (`moveToActiveQ` and its siblings, after `PreEnqueue`).
    pub(super) fn settle(
        &mut self,
        now: Timestamp,
        mut pod: QueuedPod,
        place: Place,
        event: ClusterEventKind,
        plugins: &dyn QueuePlugins,
    ) {
        let policy = self.config.backoff;
        if place == Place::Active {
            pod.initial_attempt.get_or_insert(now);
        }
        self.count_incoming(place, event);
        self.places.insert(pod, place, policy, plugins);
        if self.next_unschedulable_flush.is_none() {
            self.next_unschedulable_flush = Some(now + UNSCHEDULABLE_FLUSH_INTERVAL);
        }
    }

    /// The pod changed and may have another place in the order.
    pub(super) fn reorder(&mut self, uid: &PodUid, plugins: &dyn QueuePlugins) {
        let Some(place) = self.places.place(uid) else {
            return;
        };
        if let Some(pod) = self.places.remove(uid) {
            self.places.insert(pod, place, self.config.backoff, plugins);
        }
    }

    pub(super) fn count_incoming(&mut self, place: Place, event: ClusterEventKind) {
        *self.incoming.entry((place.label(), event)).or_default() += 1;
    }
}

/// Asks the `PreEnqueue` plugins on the way to `place`; a pod that they hold is gated.
fn gate(pod: &mut QueuedPod, place: Place, plugins: &dyn QueuePlugins) -> Place {
    match plugins.pre_enqueue(&pod.info) {
        None => {
            pod.gating_plugin = None;
            place
        }
        Some(rejection) => {
            // The flush did not help: whatever opens the gate later is what woke the pod.
            pod.was_flushed = false;
            pod.gating_plugin = Some(rejection.plugin);
            pod.unschedulable_plugins.insert(rejection.plugin);
            Place::Gated
        }
    }
}
