//! The loop that owns the engine: what happened goes in, decisions come out, effects go on.
//!
//! ```text
//!  Syncing ─▶ Standby ─▶ Catching up (barrier) ─▶ Scheduling
//!      ▲                                               │ a panic: a new engine, and new lists
//!      └───────────────────────────────────────────────┘
//! ```
//!
//! A standby takes in everything and decides nothing. A new leader decides nothing before its
//! barrier: what earlier leaders have written must have been seen. Lists that the leader itself has
//! asked for, as the first replica of a cluster does, have all of that.

mod inputs;
mod recovery;
mod stopwatch;
#[cfg(test)]
mod tests;
mod unbound_pods;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::apis::effective_profile::EffectiveProfile;
use crate::engine::decision::{Decision, Outcome};
use crate::engine::effect::{Effect, EffectAction};
use crate::engine::event::ClusterEvent;
use crate::engine::framework::profile::Profile;
use crate::engine::queue::Place;
use crate::engine::set_aside::SetAside;
use crate::engine::{Engine, EngineConfig};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::dispatcher::DispatcherHandle;
use crate::kubernetes::driver::recovery::ToldObject;
use crate::kubernetes::driver::stopwatch::Stopwatch;
use crate::kubernetes::events::{EventSink, PodEvent};
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::leadership::heartbeat::Heartbeat;
use crate::kubernetes::profiles::RunningProfile;
use crate::metrics::SchedulerMetrics;
use crate::model::symbols::Symbols;
use crate::plugins::registry::BuildError;

pub use inputs::Inputs;
pub use recovery::SecondPanic;

/// Cycles in a row before the loop looks at what happened meanwhile.
const CYCLES_PER_TURN: usize = 64;
/// Cycles that take long are fewer in a row: decisions are made on what is known, and a pod or a
/// node that comes meanwhile should not wait for longer than a person notices.
const DECIDING_PER_TURN: Duration = Duration::from_millis(50);
/// Effects under way with which the loop is ahead of the writers: several times what is in flight.
const AHEAD: usize = 256;
/// A loop that is ahead gathers what happens for so long. The API server does not carry out `AHEAD`
/// effects in that time.
const GATHERING: Duration = Duration::from_millis(2);
/// The loop turns at least this often, so that its heart is seen to beat.
const IDLE_TURN: Duration = Duration::from_secs(1);
/// Gauges and pending counts are written this often.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the watches have seen what is in the API server now.
pub type Barrier = Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Builds the plugins of a generation of a profile, as [`crate::plugins::registry::Registry`] does.
pub type BuildProfile =
    Box<dyn Fn(&EffectiveProfile, i64, &mut Symbols) -> Result<Profile, BuildError> + Send + Sync>;

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
    /// How profiles become plugins.
    pub build_profile: BuildProfile,
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
    set_aside: SetAside,
    /// What the engine was told of last.
    told: Option<ToldObject>,
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
            set_aside: SetAside::default(),
            told: None,
            last_panic: None,
            next_report,
        }
    }

    /// Turns until `cancel`, which ends deciding at once; effects that were handed over are the
    /// dispatcher's to finish. An error is a reason to end the process.
    pub async fn run(mut self, cancel: CancellationToken) -> Result<(), SecondPanic> {
        while !cancel.is_cancelled() {
            self.config.heartbeat.beat();
            let took = match catch_unwind(AssertUnwindSafe(|| self.turn())) {
                Ok(took) => took,
                Err(panic) => {
                    self.recover(&*panic)?;
                    true
                }
            };
            self.hand_over_effects();
            self.report();
            if took && self.is_ahead() {
                tokio::time::sleep(GATHERING).await;
                continue;
            }
            if took {
                // Others on this thread have waited while a batch was decided.
                tokio::task::yield_now().await;
                continue;
            }
            let wake = self.next_wake();
            tokio::select! {
                () = self.inputs.wait() => {}
                () = sleep_until(wake) => {}
                () = self.config.events.wait_for_room(), if !self.config.events.has_room() => {}
                () = cancel.cancelled() => {}
                () = leadership_changed(&self.config.leadership, &self.phase) => {}
            }
        }
        Ok(())
    }

    /// Takes in what happened, and decides. Tells whether there was anything to do.
    fn turn(&mut self) -> bool {
        self.engine.tick(self.config.clock.timestamp());
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
        self.inputs.take();
        while let Some(event) = self.inputs.next_event() {
            took = true;
            self.tell(event);
            self.config.heartbeat.beat();
        }
        took
    }

    /// Tells the engine, unless it is about an object that was set aside.
    fn tell(&mut self, event: ClusterEvent) {
        if let Some(event) = self.set_aside.admit(event) {
            self.told = ToldObject::of(&event);
            self.engine.handle(event);
        }
    }

    fn apply_profiles(&mut self, profiles: Arc<Vec<RunningProfile>>) {
        let mut built = Vec::new();
        let mut active = BTreeMap::new();
        for profile in profiles.iter() {
            let (effective, generation) = (&profile.effective, profile.generation);
            match (self.config.build_profile)(effective, generation, self.engine.symbols_mut()) {
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
        for pod in self.inputs.unbound_pods().all() {
            self.tell(ClusterEvent::PodApplied(pod));
        }
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
                let dispatcher = self.config.dispatcher.clone();
                let barrier = if self.inputs.are_listed_by_leader() {
                    Box::pin(std::future::ready(Ok(())))
                } else {
                    (self.config.barrier)()
                };
                self.phase = Phase::CatchingUp(tokio::spawn(async move {
                    // What an engine before a panic has begun would be bound behind the barrier.
                    dispatcher.wait_until_idle().await;
                    barrier.await
                }));
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

    /// Whether the writers have enough to do: what happens meanwhile is taken in at one go, since a
    /// turn for each event costs more than the event.
    fn is_ahead(&self) -> bool {
        self.config.dispatcher.load() >= AHEAD
    }

    /// Whether what comes of a decision can be taken in.
    fn has_room(&self) -> bool {
        self.config.dispatcher.has_room() && self.config.events.has_room()
    }

    fn decide(&mut self) -> bool {
        let until = self.config.clock.now() + DECIDING_PER_TURN;
        for cycle in 0..CYCLES_PER_TURN {
            if !self.has_room() || !self.config.leadership.is_leading() {
                return cycle > 0;
            }
            let started = self.config.clock.now();
            let Some(decision) = self.engine.schedule_one() else {
                return cycle > 0;
            };
            let ended = self.config.clock.now();
            self.config
                .metrics
                .observe_decision(&decision, ended - started);
            log_decision(&decision);
            self.hand_over_effects();
            if ended >= until {
                return true;
            }
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
        for (object, reason) in &observations.quarantined {
            warn!(
                object,
                reason, "object cannot be read and is left out until it is corrected"
            );
        }
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
            .set_quarantined(self.engine.quarantine().len() + self.set_aside.len());
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
            log_preemption(decision);
        }
        Outcome::Error { message } => {
            error!(%pod, attempt = decision.attempt, %message, "attempt failed");
        }
        Outcome::Suspended | Outcome::Skipped => {
            debug!(%pod, outcome = ?decision.outcome, "not placed");
        }
    }
}

/// Every eviction is explained.
fn log_preemption(decision: &Decision) {
    let (Some(choice), Some(node)) = (&decision.preemption, &decision.nominated_node) else {
        return;
    };
    let victims: Vec<&str> = decision.victims.iter().map(|uid| &*uid.0).collect();
    let (next, instead) = match &choice.runner_up {
        Some((node, criteria)) => (&**node, criteria.to_string()),
        None => ("none", String::new()),
    };
    info!(
        pod = %decision.pod, %node, ?victims, candidates = choice.candidates,
        criteria = %choice.criteria, runner_up = next, runner_up_criteria = instead,
        "makes room by evicting pods"
    );
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
