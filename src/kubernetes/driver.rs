//! The loop that owns the engine: what happened goes in, decisions come out, effects go on.
//!
//! ```text
//!  Syncing ─▶ Standby ─▶ Catching up (barrier) ─▶ Scheduling
//!                             ▲                        │ a panic: engine rebuilt from the stores
//!                             └────────────────────────┘
//! ```
//!
//! A standby takes in everything and decides nothing. A new leader decides nothing before its
//! barrier: what earlier leaders have written must have been seen.

mod inputs;
mod recovery;
mod stopwatch;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::engine::decision::{Decision, Outcome};
use crate::engine::effect::{Effect, EffectAction};
use crate::engine::event::ClusterEvent;
use crate::engine::queue::Place;
use crate::engine::{Engine, EngineConfig};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::dispatcher::DispatcherHandle;
use crate::kubernetes::driver::stopwatch::Stopwatch;
use crate::kubernetes::events::{EventSink, PodEvent};
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::leadership::heartbeat::Heartbeat;
use crate::kubernetes::profiles::RunningProfile;
use crate::metrics::SchedulerMetrics;
use crate::model::pod_info::PodUid;
use crate::plugins::registry::Registry;

pub use inputs::Inputs;

/// Cycles in a row before the loop looks at what happened meanwhile.
const CYCLES_PER_TURN: usize = 64;
/// The loop turns at least this often, so that its heart is seen to beat.
const IDLE_TURN: Duration = Duration::from_secs(1);
/// Gauges and pending counts are written this often.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the watches have seen what is in the API server now.
pub type Barrier = Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Pending pods by profile and place.
pub type Pending = BTreeMap<Arc<str>, BTreeMap<Place, usize>>;

/// What the loop works with.
pub struct DriverConfig {
    /// Of the engine.
    pub engine: EngineConfig,
    /// The time.
    pub clock: Clock,
    /// Whether this replica leads.
    pub leadership: Leadership,
    /// Beaten on every turn.
    pub heartbeat: Heartbeat,
    /// Where effects go.
    pub dispatcher: DispatcherHandle,
    /// Where events go.
    pub events: EventSink,
    /// What a new leader waits for.
    pub barrier: Barrier,
    /// What is counted.
    pub metrics: SchedulerMetrics,
}

/// What the loop tells others.
#[derive(Debug)]
pub struct DriverReports {
    /// Everything was listed once.
    pub synced: watch::Sender<bool>,
    /// Generations in force by `schedulerName`.
    pub active: watch::Sender<BTreeMap<Arc<str>, i64>>,
    /// Pending pods.
    pub pending: watch::Sender<Pending>,
}

/// The loop.
pub struct Driver {
    config: DriverConfig,
    engine: Engine,
    inputs: Inputs,
    reports: DriverReports,
    phase: Phase,
    profiles: Arc<Vec<RunningProfile>>,
    /// Pods whose cycle panicked; they are not fed again until they change.
    set_aside: BTreeSet<PodUid>,
    last_panic: Option<Instant>,
    next_report: Instant,
}

/// How far the loop has come.
#[derive(Debug)]
enum Phase {
    /// Not everything was listed yet.
    Syncing,
    /// Another replica leads.
    Standby,
    /// Leads, and waits for the barrier.
    CatchingUp(JoinHandle<Result<(), String>>),
    /// Leads and decides.
    Scheduling,
}

/// Why the loop ended.
#[derive(Debug, PartialEq, Eq)]
pub enum DriverEnd {
    /// It was asked to.
    Cancelled,
    /// Two panics within a minute: the state cannot be trusted.
    Panicked,
}

impl Driver {
    /// A loop that has not begun.
    pub fn new(config: DriverConfig, inputs: Inputs, reports: DriverReports) -> Self {
        let next_report = config.clock.now();
        let mut engine = Engine::new(config.engine);
        let points = config.metrics.extension_points.clone();
        engine.set_observer(Box::new(Stopwatch::new(config.clock.clone(), points)));
        Self {
            engine,
            config,
            inputs,
            reports,
            phase: Phase::Syncing,
            profiles: Arc::default(),
            set_aside: BTreeSet::new(),
            last_panic: None,
            next_report,
        }
    }

    /// Turns until `cancel`, which ends deciding at once; effects that were handed over are the
    /// dispatcher's to finish.
    pub async fn run(mut self, cancel: CancellationToken) -> DriverEnd {
        while !cancel.is_cancelled() {
            self.config.heartbeat.beat();
            self.engine.tick(self.config.clock.timestamp());
            let took = match catch_unwind(AssertUnwindSafe(|| self.turn()))
                .map_err(|panic| recovery::panic_text(&*panic))
            {
                Ok(took) => took,
                Err(panic) => {
                    if !self.recover(panic).await {
                        return DriverEnd::Panicked;
                    }
                    true
                }
            };
            self.hand_over_effects();
            self.report();
            if took {
                // Others on this thread have waited while a batch was decided.
                tokio::task::yield_now().await;
                continue;
            }
            let wake = self.next_wake();
            tokio::select! {
                () = self.inputs.wait() => {}
                () = sleep_until(wake) => {}
                () = cancel.cancelled() => {}
                () = leadership_changed(&self.config.leadership, &self.phase) => {}
            }
        }
        DriverEnd::Cancelled
    }

    /// Takes in what happened, and decides. Tells whether there was anything to do.
    fn turn(&mut self) -> bool {
        let took = self.take_in();
        self.advance_phase();
        let decided = matches!(self.phase, Phase::Scheduling) && self.decide();
        took || decided
    }

    fn take_in(&mut self) -> bool {
        let mut took = false;
        if let Some(profiles) = self.inputs.changed_profiles() {
            self.apply_profiles(profiles);
            took = true;
        }
        for event in self.inputs.take() {
            took = true;
            if let Some(event) = self.without_set_aside(event) {
                self.engine.handle(event);
            }
        }
        took
    }

    /// Pods that made a cycle panic are left out; they come back when they get a node or a new UID.
    fn without_set_aside(&mut self, event: ClusterEvent) -> Option<ClusterEvent> {
        if self.set_aside.is_empty() {
            return Some(event);
        }
        match event {
            ClusterEvent::PodApplied(pod)
                if pod.bound_node().is_none() && self.set_aside.contains(&PodUid::of(&pod)) =>
            {
                None
            }
            ClusterEvent::PodDeleted(pod) => {
                self.set_aside.remove(&PodUid::of(&pod));
                Some(ClusterEvent::PodDeleted(pod))
            }
            ClusterEvent::PodsResynced(mut pods) => {
                pods.retain(|pod| {
                    pod.bound_node().is_some() || !self.set_aside.contains(&PodUid::of(pod))
                });
                Some(ClusterEvent::PodsResynced(pods))
            }
            other => Some(other),
        }
    }

    fn apply_profiles(&mut self, profiles: Arc<Vec<RunningProfile>>) {
        let mut built = Vec::new();
        let mut active = BTreeMap::new();
        for profile in profiles.iter() {
            let (effective, generation) = (&profile.effective, profile.generation);
            match Registry.build(effective, generation, self.engine.symbols_mut()) {
                Ok(profile) => {
                    active.insert(Arc::clone(&profile.scheduler_name), generation);
                    built.push(profile);
                }
                Err(error) => warn!(%error, "profile is not run"),
            }
        }
        info!(profiles = ?active, "profiles in force");
        self.profiles = profiles;
        self.engine.handle(ClusterEvent::ProfilesChanged(built));
        // Pods of a new profile were passed over so far.
        self.engine
            .handle(ClusterEvent::PodsResynced(self.inputs.all_pods()));
        self.reports.active.send_replace(active);
    }

    fn advance_phase(&mut self) {
        let leads = self.config.leadership.is_leading();
        match &mut self.phase {
            Phase::Syncing if self.inputs.are_synced() => {
                info!(
                    nodes = self.engine.cache_size().nodes,
                    pods = self.engine.cache_size().pods,
                    "caches are synced"
                );
                self.reports.synced.send_replace(true);
                self.phase = Phase::Standby;
                self.advance_phase();
            }
            Phase::Standby if leads => {
                info!("leading: waiting until the watches have caught up");
                self.phase = Phase::CatchingUp(tokio::spawn((self.config.barrier)()));
            }
            Phase::CatchingUp(_) | Phase::Scheduling if !leads => self.phase = Phase::Standby,
            Phase::CatchingUp(barrier) if barrier.is_finished() => {
                let caught_up = futures::FutureExt::now_or_never(barrier);
                match caught_up {
                    Some(Ok(Ok(()))) => {
                        info!("watches have caught up: scheduling");
                        // What the watches have seen may still be on its way through the channels.
                        while self.take_in() {}
                        self.phase = Phase::Scheduling;
                    }
                    Some(Ok(Err(reason))) => {
                        warn!(%reason, "watches have not caught up yet: trying again");
                        self.phase = Phase::Standby;
                    }
                    Some(Err(_)) | None => self.phase = Phase::Standby,
                }
            }
            Phase::Syncing | Phase::Standby | Phase::CatchingUp(_) | Phase::Scheduling => {}
        }
    }

    fn decide(&mut self) -> bool {
        for cycle in 0..CYCLES_PER_TURN {
            if !self.config.dispatcher.has_room() || !self.config.leadership.is_leading() {
                return cycle > 0;
            }
            let started = self.config.clock.now();
            let Some(decision) = self.engine.schedule_one() else {
                return cycle > 0;
            };
            self.config
                .metrics
                .observe_decision(&decision, self.config.clock.now() - started);
            log_decision(&decision);
            self.hand_over_effects();
        }
        true
    }

    fn hand_over_effects(&mut self) {
        let leads = self.config.leadership.is_leading();
        let effects: Vec<Effect> = self.engine.drain_effects().collect();
        for effect in effects {
            match effect.action {
                // A standby says nothing; the leader says the same.
                EffectAction::RecordEvent(record) if leads => {
                    let (pod, uid) = (effect.pod, effect.uid);
                    self.config.events.record(PodEvent { pod, uid, record });
                }
                EffectAction::RecordEvent(_) => {}
                _ => self.config.dispatcher.submit(effect),
            }
        }
    }

    fn report(&mut self) {
        let observations = self.engine.take_observations();
        self.config.metrics.observe(&observations);
        let now = self.config.clock.now();
        if now < self.next_report {
            return;
        }
        self.next_report = now + REPORT_INTERVAL;
        let queue = self.engine.queue();
        let recorded = queue.recorded_changes();
        self.config.metrics.set_gauges(
            self.engine.cache_size(),
            |place| queue.count(place),
            recorded,
        );
        self.config
            .metrics
            .set_quarantined(self.engine.quarantine().len());
        let pending = self.engine.pending_by_profile();
        self.reports.pending.send_if_modified(|before| {
            let changed = *before != pending;
            *before = pending;
            changed
        });
    }

    fn next_wake(&self) -> Instant {
        let idle = self.config.clock.now() + IDLE_TURN;
        let deadline = self.engine.next_deadline().map(|deadline| {
            self.config.clock.now() + deadline.since(self.config.clock.timestamp())
        });
        deadline.map_or(idle, |deadline| deadline.min(idle))
    }
}

/// Resolves when the phase and the leadership no longer fit.
async fn leadership_changed(leadership: &Leadership, phase: &Phase) {
    match phase {
        Phase::Syncing => std::future::pending().await,
        Phase::Standby => {
            if !leadership.wait_until_leading().await {
                std::future::pending::<()>().await;
            }
        }
        Phase::CatchingUp(barrier) => {
            let done = async {
                while !barrier.is_finished() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::select! {
                () = done => {}
                () = leadership.wait_until_lost() => {}
            }
        }
        Phase::Scheduling => leadership.wait_until_lost().await,
    }
}

fn log_decision(decision: &Decision) {
    let pod = &decision.pod;
    match &decision.outcome {
        Outcome::Scheduled { node } => debug!(%pod, %node, attempt = decision.attempt, "placed"),
        Outcome::Unschedulable { message } => {
            debug!(%pod, attempt = decision.attempt, %message, "fits nowhere");
        }
        Outcome::Error { message } => {
            error!(%pod, attempt = decision.attempt, %message, "attempt failed");
        }
        Outcome::Suspended | Outcome::Skipped => {
            debug!(%pod, outcome = ?decision.outcome, "not placed");
        }
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for DriverConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DriverConfig")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}
