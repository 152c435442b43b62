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
mod rejectors;
mod requeue;
mod target_pod;
mod timers;
mod waiting;
mod wake;

pub use backoff::BackoffPolicy;
pub use in_flight::RecordedChange;
pub use places::Place;
pub use plugins::QueuePlugins;
pub use queued_pod::QueuedPod;
pub use rejectors::Rejectors;
pub(crate) use target_pod::any_less;
pub use target_pod::target_pod_change;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::framework::{ActionType, ClusterEventKind, EventResource};
use crate::engine::queue::in_flight::InFlight;
use crate::engine::queue::places::Places;
use crate::engine::queue::wake::Strategy;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

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
        let earlier = self.places.replace_info(info, plugins);
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
}

#[cfg(test)]
mod tests;
