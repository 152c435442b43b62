//! The scheduler itself: queue, cache, scheduling and binding cycles, diagnosis.
//!
//! Pure: events and time in, effects out. Same events, same seed, same configuration ⇒ the same
//! decisions, byte for byte. The driver's manual:
//!
//! 1. [`Engine::tick`] with the time, then [`Engine::handle`] with what happened;
//! 2. [`Engine::schedule_one`] until it has nothing to do, or while the dispatcher has room;
//! 3. [`Engine::drain_effects`] and carry them out; report each with
//!    [`ClusterEvent::EffectCompleted`];
//! 4. sleep until the next event or [`Engine::next_deadline`].

pub mod audit;
pub mod binding_cycle;
pub mod cache;
pub(crate) mod classes;
pub mod decision;
pub mod diagnosis;
pub mod effect;
pub mod event;
pub mod framework;
pub mod observer;
pub mod preemption;
pub mod queue;
pub mod scheduling_cycle;
pub mod set_aside;

mod activity;
mod attempt;
mod effects;
mod listed_events;
mod node_events;
mod pod_events;
mod profiles;
mod quarantine;
mod queue_plugins;
mod report;
mod suspensions;

pub use activity::Activity;
pub use attempt::Attempt;
pub use quarantine::Quarantine;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::binding_cycle::Bindings;
use crate::engine::cache::tie_break::TieBreak;
use crate::engine::cache::{Cache, CacheSize};
use crate::engine::classes::Classes;
use crate::engine::decision::Decision;
use crate::engine::effect::Effect;
use crate::engine::effects::Effects;
use crate::engine::event::ClusterEvent;
use crate::engine::observer::{CycleObserver, NoObserver, ObservedPoint, StatusCode};
use crate::engine::profiles::Profiles;
use crate::engine::queue::{IncomingPods, Place, QueueConfig, SchedulingQueue};
use crate::engine::suspensions::Suspensions;
use crate::model::map::{LookupMap, new_lookup_map};
use crate::model::pod_info::{PodKey, PodUid};
use crate::model::symbols::Symbols;
use crate::model::timestamp::Timestamp;

/// What an engine is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EngineConfig {
    /// Keys the hashers and the ring of ties.
    pub seed: u64,
    /// Which of equally good nodes wins.
    pub tie_break: TieBreak,
    /// Times of the queue.
    pub queue: QueueConfig,
    /// Nobody carries evictions out: each pod is decided as if no other had been.
    pub only_notes_evictions: bool,
}

/// The scheduler.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    now: Timestamp,
    cache: Cache,
    queue: SchedulingQueue,
    profiles: Profiles,
    bindings: Bindings,
    effects: Effects,
    /// Every pod that is in the queue, on its way or on a node, by name: a new UID under a known
    /// name means that the old pod is gone.
    known: LookupMap<PodKey, PodUid>,
    /// Where in the order of nodes the next search begins (`nextStartNodeIndex`).
    next_start: usize,
    suspensions: Suspensions,
    quarantine: Quarantine,
    observations: Observations,
    observer: Box<dyn CycleObserver>,
    activity: Option<Activity>,
    classes: Classes,
}

/// What happened since the driver last looked, for metrics.
#[derive(Debug, Default)]
pub struct Observations {
    /// Pods that entered a queue.
    pub incoming: IncomingPods,
    /// Pods that were bound.
    pub bound: Vec<BoundPod>,
    /// Attempts that ended between the decision and the binding.
    pub failed_bindings: Vec<FailedBinding>,
    /// Points that lasted longer than one call of the engine.
    pub timed_points: Vec<TimedPoint>,
    /// Preemptions whose evictions have ended.
    pub preemptions: Vec<EndedPreemption>,
    /// Pods that only the flush had woken.
    pub scheduled_after_flush: u64,
    /// How long pods waited at `Permit`, with what came of it.
    pub permit_waits: Vec<(std::time::Duration, StatusCode)>,
    /// Objects that were found to be unreadable, with the reason.
    pub quarantined: Vec<(String, String)>,
}

/// A pod that was bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundPod {
    /// The profile that placed it.
    pub profile: Arc<str>,
    /// How many attempts it took.
    pub attempts: u32,
    /// From the first attempt to the binding.
    pub since_first_attempt: std::time::Duration,
    /// From the decision to the binding.
    pub since_assumed: std::time::Duration,
}

/// A pod that was placed and not bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedBinding {
    /// The profile that placed it.
    pub profile: Arc<str>,
    /// `unschedulable` or `error`, as [`Decision::result`].
    pub result: &'static str,
    /// From the decision to the failure.
    pub since_assumed: std::time::Duration,
}

/// A preemption whose evictions have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedPreemption {
    /// Whether all of them were carried out.
    pub succeeded: bool,
    /// From the decision to the last answer.
    pub duration: std::time::Duration,
}

/// A point that the engine timed by its ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedPoint {
    /// Which one.
    pub point: ObservedPoint,
    /// How it ended.
    pub status: StatusCode,
    /// The profile of the pod.
    pub profile: Arc<str>,
    /// From the tick of its beginning to that of its end.
    pub duration: std::time::Duration,
}

impl Engine {
    /// An engine that knows no node, no pod and no profile.
    pub fn new(config: EngineConfig) -> Self {
        Self {
            config,
            now: Timestamp::EPOCH,
            cache: Cache::new(config.seed),
            queue: SchedulingQueue::new(config.queue, config.seed),
            profiles: Profiles::default(),
            bindings: Bindings::default(),
            effects: Effects::default(),
            known: new_lookup_map(config.seed),
            next_start: 0,
            suspensions: Suspensions::default(),
            quarantine: Quarantine::default(),
            observations: Observations::default(),
            observer: Box::new(NoObserver),
            activity: None,
            classes: Classes::default(),
        }
    }

    /// An engine that knows nothing but goes on counting effects where this one is, for the time
    /// after a panic: completions of earlier effects must not be taken for its own. It takes the
    /// observer with it.
    #[must_use]
    pub fn successor(&mut self) -> Self {
        let mut engine = Self::new(self.config);
        engine.now = self.now;
        engine.effects = self.effects.successor();
        let listers = std::mem::take(&mut self.cache.listers);
        engine.cache.take_over_listers(listers);
        engine.observer = std::mem::replace(&mut self.observer, Box::new(NoObserver));
        engine
    }

    /// Tells `observer` from now on which extension points are entered and left.
    pub fn set_observer(&mut self, observer: Box<dyn CycleObserver>) {
        self.observer = observer;
    }

    /// Takes in what happened.
    pub fn handle(&mut self, event: ClusterEvent) {
        match event {
            ClusterEvent::NodeApplied(node) => self.apply_node(&node),
            ClusterEvent::NodeDeleted(node) => {
                self.delete_node(node.metadata.name.as_deref().unwrap_or_default());
            }
            ClusterEvent::NodesListed(names) => self.nodes_listed(names),
            ClusterEvent::PodApplied(pod) => self.apply_pod(&pod),
            ClusterEvent::PodDeleted(pod) => self.pod_deleted(&pod),
            ClusterEvent::PodsListed(uids) => self.pods_listed(uids),
            ClusterEvent::Listed(event) => self.apply_listed(event),
            ClusterEvent::ProfilesChanged(profiles) => self.change_profiles(profiles),
            ClusterEvent::EffectCompleted { id, outcome } => self.complete_effect(id, outcome),
        }
        self.activity = None;
    }

    /// Tells the time; it never goes back. Moves what is due.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        queue.tick(now, &plugins);
        self.expire_permits();
        self.expire_waiting();
        self.expire_preemptions();
        self.profiles
            .release_retired(self.cache.vocabulary.symbols_mut());
        self.activity = None;
    }

    /// When to tick again at the latest.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let queue = self.queue.next_deadline();
        let bindings = self.bindings.next_deadline();
        let preemptions = self.cache.preemptions.next_deadline();
        queue.into_iter().chain(bindings).chain(preemptions).min()
    }

    /// Runs one scheduling cycle, if a pod is ready.
    pub fn schedule_one(&mut self) -> Option<Decision> {
        self.attempt(true, |_| ())
    }

    /// What is to be done.
    pub fn drain_effects(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.effects.drain()
    }

    /// What happened since the last call, for metrics.
    pub fn take_observations(&mut self) -> Observations {
        let mut observations = std::mem::take(&mut self.observations);
        observations.incoming = self.queue.take_incoming();
        observations.scheduled_after_flush = self.queue.take_scheduled_after_flush();
        observations
    }

    /// The interned texts, to compile profiles against them.
    pub fn symbols_mut(&mut self) -> &mut Symbols {
        self.cache.vocabulary.symbols_mut()
    }

    /// The queue, to look at.
    pub fn queue(&self) -> &SchedulingQueue {
        &self.queue
    }

    /// The cache, to look at.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How many nodes and pods are known.
    pub fn cache_size(&self) -> CacheSize {
        self.cache.size()
    }

    /// How many pods of a profile are in each place of the queue.
    pub fn pending_by_profile(&self) -> BTreeMap<Arc<str>, BTreeMap<Place, usize>> {
        let mut counts = BTreeMap::<Arc<str>, BTreeMap<Place, usize>>::new();
        for (pod, place) in self.queue.pods() {
            let of_profile = counts
                .entry(Arc::clone(&pod.info.scheduler_name))
                .or_default();
            *of_profile.entry(place).or_default() += 1;
        }
        counts
    }

    /// Objects that cannot be read, with the reason.
    pub fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }
}

#[cfg(test)]
mod tests;
