//! The scheduling queue: which pod is next, and what wakes the others.
//!
//! ```text
//!             PreEnqueue rejects                   hint says Queue / gates gone
//!   new ───────────────────────▶ Gated ─────────────────────────────────┐
//!    │ ok                                                               ▼
//!    └────────▶ Active ──pop──▶ InFlight ──rejected──▶ Unschedulable ──event + hint──▶ Backoff ──▶ Active
//!                  ▲               │  │                      └──────── too long ──────────┘
//!                  └── Pending ────┘  ├─ error, or event while in flight ──▶ Backoff
//!                                     └─ done ──▶ (leaves the queue: binding)
//! ```
//!
//! A pod is in exactly one place. Mirrors `pkg/scheduler/backend/queue` for single pods, with
//! `SchedulerPopFromBackoffQ` on as in 1.37: a pod in backoff is popped early when nothing else is
//! ready.

mod backoff;
mod in_flight;
mod places;
mod plugins;
mod queued_pod;
mod target_pod;

pub use backoff::BackoffPolicy;
pub use in_flight::RecordedChange;
pub use places::Place;
pub use plugins::QueuePlugins;
pub use queued_pod::QueuedPod;
pub(crate) use target_pod::any_less;
pub use target_pod::target_pod_change;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::{
    ActionType, ClusterEventKind, EventResource, PluginName, QueueingHint,
};
use crate::engine::queue::in_flight::InFlight;
use crate::engine::queue::places::Places;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

/// How often pods that wait too long are looked for (`flushUnschedulableEntitiesLeftover`).
const UNSCHEDULABLE_FLUSH_INTERVAL: Duration = Duration::from_secs(30);

/// How long a pod waits for an event at most (`DefaultPodMaxInUnschedulablePodsDuration`).
pub const MAX_IN_UNSCHEDULABLE: Duration = Duration::from_mins(5);

/// A pod is new.
const UNSCHEDULED_POD_ADD: ClusterEventKind =
    ClusterEventKind::new(EventResource::UnscheduledPod, ActionType::ADD);

/// Times of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// How long pods that failed wait.
    pub backoff: BackoffPolicy,
    /// How long a pod waits for an event at most (`--pod-max-in-unschedulable-pods-duration`).
    pub max_in_unschedulable: Duration,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            backoff: BackoffPolicy::default(),
            max_in_unschedulable: MAX_IN_UNSCHEDULABLE,
        }
    }
}

/// Why an attempt gave no node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejectors {
    /// Plugins that said no. Empty with `pending`: the attempt failed with an error.
    pub unschedulable: BTreeSet<PluginName>,
    /// Plugins that wait for something outside.
    pub pending: BTreeSet<PluginName>,
}

/// Pods that entered a queue: `scheduler_queue_incoming_pods_total{queue,event}`.
pub type IncomingPods = BTreeMap<(&'static str, ClusterEventKind), u64>;

/// The scheduling queue.
#[derive(Debug)]
pub struct SchedulingQueue {
    config: QueueConfig,
    places: Places,
    in_flight: InFlight,
    next_unschedulable_flush: Option<Timestamp>,
    incoming: IncomingPods,
    scheduled_after_flush: u64,
}

/// What a change means for a pod (`queueingStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strategy {
    /// It stays.
    Skip,
    /// It moves, and waits out its backoff.
    AfterBackoff,
    /// It moves to the active queue at once.
    Immediately,
}

// === impl Rejectors ===

impl Rejectors {
    /// The attempt failed with an error: nobody said no.
    pub fn error() -> Self {
        Self::default()
    }

    /// Those who said no in an attempt.
    pub fn of(diagnosis: &Diagnosis) -> Self {
        Self {
            unschedulable: diagnosis.unschedulable_plugins.clone(),
            pending: diagnosis.pending_plugins.clone(),
        }
    }

    fn is_error(&self) -> bool {
        self.unschedulable.is_empty() && self.pending.is_empty()
    }
}

// === impl SchedulingQueue ===

impl SchedulingQueue {
    /// An empty queue. `seed` keys its hasher.
    pub fn new(config: QueueConfig, seed: u64) -> Self {
        Self {
            config,
            places: Places::new(seed),
            in_flight: InFlight::default(),
            next_unschedulable_flush: None,
            incoming: IncomingPods::new(),
            scheduled_after_flush: 0,
        }
    }

    /// The pod called `uid`, wherever it is.
    pub fn get(&self, uid: &PodUid) -> Option<&QueuedPod> {
        self.places.get(uid)
    }

    /// Where the pod called `uid` is.
    pub fn place(&self, uid: &PodUid) -> Option<Place> {
        self.places.place(uid)
    }

    /// All pods and where they are.
    pub fn pods(&self) -> impl Iterator<Item = (&QueuedPod, Place)> {
        self.places.iter()
    }

    /// How many pods are in a place (`scheduler_pending_pods`).
    pub fn count(&self, place: Place) -> usize {
        self.places.count(place)
    }

    /// How many recorded changes wait for pods in flight (`scheduler_inflight_events`).
    pub fn recorded_changes(&self) -> usize {
        self.in_flight.len()
    }

    /// Pods that entered a queue since the last call.
    pub fn take_incoming(&mut self) -> IncomingPods {
        std::mem::take(&mut self.incoming)
    }

    /// Pods that were placed only because the flush woke them, since the last call
    /// (`scheduler_pod_scheduled_after_flush_total`): each is a missing hint.
    pub fn take_scheduled_after_flush(&mut self) -> u64 {
        std::mem::take(&mut self.scheduled_after_flush)
    }

    /// A pod without a node is new. A pod that is here already is updated.
    pub fn add(
        &mut self,
        now: Timestamp,
        info: PodInfo,
        plugins: &dyn QueuePlugins,
    ) -> Option<PodInfo> {
        if self.places.get(&info.uid).is_some() {
            return self.update(now, info, Some(ActionType::UPDATE), plugins);
        }
        let pod = QueuedPod::new(info, now);
        self.enter(
            now,
            pod,
            UNSCHEDULED_POD_ADD,
            Strategy::Immediately,
            plugins,
        );
        None
    }

    /// The pod changed as `change` says (see [`target_pod_change`]); `None` moves nothing. Gives
    /// the earlier version back to the caller, who releases it.
    #[must_use = "the earlier version holds references"]
    pub fn update(
        &mut self,
        now: Timestamp,
        info: PodInfo,
        change: Option<ActionType>,
        plugins: &dyn QueuePlugins,
    ) -> Option<PodInfo> {
        let uid = info.uid.clone();
        let Some(place) = self.places.place(&uid) else {
            return self.add(now, info, plugins);
        };
        let earlier = self.places.replace_info(info);
        let Some(change) = change else { return earlier };
        let event = ClusterEventKind::new(EventResource::TargetPod, change);
        let recorded = RecordedChange {
            pod: Some(uid.clone()),
            ..RecordedChange::of(event)
        };
        match place {
            Place::InFlight => self.in_flight.record(recorded),
            Place::Active | Place::Backoff => self.reorder(&uid, plugins),
            Place::Unschedulable | Place::Gated => {
                self.move_if_worth(now, &uid, &recorded, plugins);
            }
        }
        earlier
    }

    /// The pod is gone or has a node. Gives it back to the caller, who releases its info.
    #[must_use = "the pod holds references"]
    pub fn delete(&mut self, uid: &PodUid) -> Option<QueuedPod> {
        self.in_flight.done(uid);
        self.places.remove(uid)
    }

    /// The next pod. It is in flight until it is requeued, done or deleted.
    pub fn pop(&mut self, now: Timestamp) -> Option<PodUid> {
        let (uid, place) = self.places.first_ready()?;
        if place == Place::Backoff {
            self.count_incoming(Place::Active, ClusterEventKind::POP_FROM_BACKOFF_QUEUE);
        }
        let mut pod = self.places.remove(&uid)?;
        pod.attempts = pod.attempts.saturating_add(1);
        pod.initial_attempt.get_or_insert(now);
        self.in_flight.begin(uid.clone());
        self.places.insert_in_flight(pod);
        Some(uid)
    }

    /// The attempt found a node and the pod leaves for its binding.
    #[must_use = "the pod holds references"]
    pub fn done(&mut self, uid: &PodUid) -> Option<QueuedPod> {
        if self.places.place(uid) != Some(Place::InFlight) {
            return None;
        }
        self.delete(uid)
    }

    /// The pod is bound: counts it if only the flush had woken it.
    pub fn note_bound(&mut self, pod: &QueuedPod) {
        self.scheduled_after_flush += u64::from(pod.was_flushed);
    }

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
            match self.places.place(uid) {
                Some(Place::InFlight) => self.in_flight.record(RecordedChange {
                    pod: Some(uid.clone()),
                    ..RecordedChange::of(ClusterEventKind::FORCE_ACTIVATE)
                }),
                Some(Place::Backoff | Place::Unschedulable | Place::Gated) => {
                    if let Some(pod) = self.places.remove(uid) {
                        let event = ClusterEventKind::FORCE_ACTIVATE;
                        self.enter(now, pod, event, Strategy::Immediately, plugins);
                    }
                }
                Some(Place::Active) | None => {}
            }
        }
    }

    /// Tries a pod that waits for an event when its backoff is over, whatever its hints say.
    pub fn wake(&mut self, now: Timestamp, uid: &PodUid, plugins: &dyn QueuePlugins) {
        let event = ClusterEventKind::FORCE_ACTIVATE;
        match self.places.place(uid) {
            Some(Place::InFlight) => self.in_flight.record(RecordedChange {
                pod: Some(uid.clone()),
                ..RecordedChange::of(event)
            }),
            Some(Place::Unschedulable | Place::Gated) => {
                if let Some(pod) = self.places.remove(uid) {
                    self.enter(now, pod, event, Strategy::AfterBackoff, plugins);
                }
            }
            Some(Place::Active | Place::Backoff) | None => {}
        }
    }

    /// Moves what is due: pods whose backoff is over, and pods that waited too long.
    pub fn tick(&mut self, now: Timestamp, plugins: &dyn QueuePlugins) {
        for uid in self.places.backoff_over(BackoffPolicy::align(now)) {
            if let Some(pod) = self.places.remove(&uid) {
                let event = ClusterEventKind::BACKOFF_COMPLETE;
                self.enter(now, pod, event, Strategy::Immediately, plugins);
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

    fn move_if_worth(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        change: &RecordedChange,
        plugins: &dyn QueuePlugins,
    ) {
        let Some(pod) = self.places.get(uid) else {
            return;
        };
        let strategy = strategy(pod, change, plugins);
        if strategy == Strategy::Skip {
            return;
        }
        if let Some(pod) = self.places.remove(uid) {
            self.enter(now, pod, change.event, strategy, plugins);
        }
    }

    /// What the changes during the attempt mean (`determineSchedulingHintForInFlightPod`).
    fn strategy_after_flight(&self, pod: &QueuedPod, plugins: &dyn QueuePlugins) -> Strategy {
        if pod.has_no_rejectors() || self.in_flight.has_overflowed(&pod.info.uid) {
            return Strategy::AfterBackoff;
        }
        self.in_flight
            .changes_since_pop(&pod.info.uid)
            .map(|change| strategy(pod, change, plugins))
            .max()
            .unwrap_or(Strategy::Skip)
    }

    /// Puts a pod where it belongs (`requeueEntityWithQueueingStrategy`).
    fn enter(
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
        if place == Place::Active {
            pod.initial_attempt.get_or_insert(now);
        }
        self.count_incoming(place, event);
        let sort_key = plugins.sort_key(&pod.info, pod.timestamp);
        self.places.insert(pod, place, sort_key, policy);
        if self.next_unschedulable_flush.is_none() {
            self.next_unschedulable_flush = Some(now + UNSCHEDULABLE_FLUSH_INTERVAL);
        }
    }

    /// The pod changed and may have another place in the order.
    fn reorder(&mut self, uid: &PodUid, plugins: &dyn QueuePlugins) {
        let Some(place) = self.places.place(uid) else {
            return;
        };
        if let Some(mut pod) = self.places.remove(uid) {
            // A gate cannot be added to a pod, but a plugin's opinion of a changed pod may differ.
            let place = gate(&mut pod, place, plugins);
            let sort_key = plugins.sort_key(&pod.info, pod.timestamp);
            self.places
                .insert(pod, place, sort_key, self.config.backoff);
        }
    }

    fn count_incoming(&mut self, place: Place, event: ClusterEventKind) {
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
    let is_held = |gating: PluginName| !plugins.is_registered(gating, change);
    if pod.gating_plugin.is_some_and(is_held) {
        return Strategy::Skip;
    }
    let says_queue =
        |plugin: &&PluginName| plugins.hint(plugin, &pod.info, change) == Some(QueueingHint::Queue);
    if pod.pending_plugins.iter().any(|plugin| says_queue(&plugin)) {
        Strategy::Immediately
    } else if pod
        .unschedulable_plugins
        .iter()
        .any(|plugin| says_queue(&plugin))
    {
        Strategy::AfterBackoff
    } else {
        Strategy::Skip
    }
}

#[cfg(test)]
mod tests;
