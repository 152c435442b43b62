//! What wakes pods that wait: changes that a plugin hopes from, and those who call them by name.

use crate::engine::framework::{ClusterEventKind, EventResource, QueueingHint};
use crate::engine::queue::SchedulingQueue;
use crate::engine::queue::in_flight::RecordedChange;
use crate::engine::queue::places::Place;
use crate::engine::queue::plugins::QueuePlugins;
use crate::engine::queue::queued_pod::QueuedPod;
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

/// What a change means for a pod (`queueingStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strategy {
    /// It stays.
    Skip,
    /// It moves, and waits out its backoff.
    AfterBackoff,
    /// It moves to the active queue at once.
    Immediately,
}

impl SchedulingQueue {
    /// Something happened that may help pods that were rejected (`MoveAllToActiveOrBackoffQueue`).
    pub fn move_all(
        &mut self,
        now: Timestamp,
        change: &RecordedChange,
        plugins: &dyn QueuePlugins,
    ) {
        self.in_flight.record(change.clone());
        for uid in self.places.interested(change, plugins) {
            self.move_if_worth(now, &uid, change, plugins);
        }
    }

    /// Wakes pods at once, past their backoff.
    pub fn activate(&mut self, now: Timestamp, uids: &[PodUid], plugins: &dyn QueuePlugins) {
        for uid in uids {
            self.force(now, uid, Strategy::Immediately, plugins);
        }
    }

    /// Tries a pod that waits for an event when its backoff is over, whatever its hints say.
    pub fn wake(&mut self, now: Timestamp, uid: &PodUid, plugins: &dyn QueuePlugins) {
        self.force(now, uid, Strategy::AfterBackoff, plugins);
    }

    fn force(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        strategy: Strategy,
        plugins: &dyn QueuePlugins,
    ) {
        let event = ClusterEventKind::FORCE_ACTIVATE;
        match self.places.place(uid) {
            Some(Place::InFlight) => self.in_flight.record(RecordedChange {
                pod: Some(uid.clone()),
                ..RecordedChange::of(event)
            }),
            Some(Place::Backoff) if strategy == Strategy::AfterBackoff => {}
            Some(Place::Backoff | Place::Unschedulable | Place::Gated) => {
                if let Some(pod) = self.places.remove(uid) {
                    self.enter(now, pod, event, strategy, plugins);
                }
            }
            Some(Place::Active) | None => {}
        }
    }

    /// Moves a waiting pod if `change` may help it.
    pub(super) fn move_if_worth(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        change: &RecordedChange,
        plugins: &dyn QueuePlugins,
    ) {
        let Some(pod) = self.places.get(uid) else {
            return;
        };
        let is_above = |most| pod.info.priority > most;
        if change.priority_at_most.is_some_and(is_above) {
            return;
        }
        let strategy = strategy(pod, change, plugins);
        if strategy == Strategy::Skip {
            return;
        }
        if let Some(pod) = self.places.remove(uid) {
            self.enter(now, pod, change.event, strategy, plugins);
        }
    }

    /// What the changes during the attempt mean (`determineSchedulingHintForInFlightPod`).
    pub(super) fn strategy_after_flight(
        &self,
        pod: &QueuedPod,
        plugins: &dyn QueuePlugins,
    ) -> Strategy {
        if pod.has_no_rejectors() || self.in_flight.has_overflowed(&pod.info.uid) {
            return Strategy::AfterBackoff;
        }
        self.in_flight
            .changes_since_pop(&pod.info.uid)
            .map(|change| strategy(pod, change, plugins))
            .max()
            .unwrap_or(Strategy::Skip)
    }
}

/// What `change` means for `pod` (`isPodWorthRequeuing`).
fn strategy(pod: &QueuedPod, change: &RecordedChange, plugins: &dyn QueuePlugins) -> Strategy {
    let about_this_pod = change.pod.as_ref() == Some(&pod.info.uid);
    match change.event.resource {
        EventResource::TargetPod if !about_this_pod => return Strategy::Skip,
        // The room that a pod leaves behind is no news to the pod itself.
        EventResource::AssignedPod if about_this_pod => return Strategy::Skip,
        _ => {}
    }
    if pod.has_no_rejectors() {
        return Strategy::AfterBackoff;
    }
    if change.event.is_wildcard() {
        let meant = change.pod.is_none() || about_this_pod;
        return if meant {
            Strategy::AfterBackoff
        } else {
            Strategy::Skip
        };
    }
    // Only what its gating plugin registered opens a gate, whoever else is asked about it then.
    if let Some(gating) = pod.gating_plugin
        && !plugins.is_registered(gating, change)
    {
        return Strategy::Skip;
    }
    let says_queue = |plugin| plugins.hint(plugin, &pod.info, change) == Some(QueueingHint::Queue);
    if pod.pending_plugins.iter().any(|plugin| says_queue(plugin)) {
        Strategy::Immediately
    } else if pod
        .unschedulable_plugins
        .iter()
        .any(|plugin| says_queue(plugin))
    {
        Strategy::AfterBackoff
    } else {
        Strategy::Skip
    }
}
