//! Carries out effects: bounded, many at once, one call at a time per pod.
//!
//! ```text
//!  submitted ─▶ Queued ─▶ InFlight ─▶ Done | Failed
//!                 ├─ a later patch of the same pod ─▶ merged (the earlier one: Superseded)
//!                 ├─ a binding of the same pod ─────▶ dropped (Superseded)
//!                 └─ an eviction of the same pod ───▶ dropped (Superseded)
//! ```
//!
//! A patch that comes while a binding of its pod waits or is in flight is dropped as well, and so is
//! everything that comes while an eviction waits.
//!
//! Every call asks the leadership for permission and for its time limit immediately before it is
//! sent. Plays the part of upstream's `api_dispatcher`.

mod bind;
mod call_queue;
mod evict;
pub(in crate::kubernetes) mod retry;
mod status;
mod volumes;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::core::Request;
use kube::{Client, Resource};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::engine::effect::{
    Effect, EffectAction, EffectFailure, EffectId, EffectOutcome, FailureKind,
};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::dispatcher::call_queue::{CallQueue, Submitted};
use crate::kubernetes::extender::Extenders;
use crate::kubernetes::leadership::Leadership;
use crate::metrics::DispatcherMetrics;
use crate::model::objects::Pod;

/// Effects that wait or are under way at most; the driver stops deciding beyond it.
pub const CAPACITY: usize = 1024;

/// Calls in flight at most: what a bare loop of bindings needs to reach the API server's limit.
const CALLS_IN_FLIGHT: usize = 64;

/// An effect that ended.
#[derive(Debug)]
pub struct Completion {
    /// Which one.
    pub id: EffectId,
    /// How.
    pub outcome: EffectOutcome,
}

/// The driver's end.
#[derive(Clone, Debug)]
pub struct DispatcherHandle {
    submit: mpsc::UnboundedSender<Effect>,
    load: Arc<AtomicUsize>,
    idle: Arc<Notify>,
}

/// The end that does the work.
#[derive(Debug)]
pub struct Dispatcher {
    submitted: mpsc::UnboundedReceiver<Effect>,
    completions: mpsc::UnboundedSender<Completion>,
    load: Arc<AtomicUsize>,
    idle: Arc<Notify>,
    caller: Arc<Caller>,
}

/// What a call needs.
struct Caller {
    client: Client,
    extenders: Extenders,
    leadership: Leadership,
    clock: Clock,
    metrics: DispatcherMetrics,
}

/// Makes both ends. The channels are unbounded; [`CAPACITY`] bounds what is in them, since each
/// effect is counted from submission to completion.
pub fn new(
    client: Client,
    extenders: Extenders,
    leadership: Leadership,
    clock: Clock,
    metrics: DispatcherMetrics,
) -> (
    DispatcherHandle,
    Dispatcher,
    mpsc::UnboundedReceiver<Completion>,
) {
    let (submit, submitted) = mpsc::unbounded_channel();
    let (completions, completed) = mpsc::unbounded_channel();
    let load = Arc::new(AtomicUsize::new(0));
    let idle = Arc::new(Notify::new());
    let caller = Arc::new(Caller {
        client,
        extenders,
        leadership,
        clock,
        metrics,
    });
    let handle = DispatcherHandle {
        submit,
        load: Arc::clone(&load),
        idle: Arc::clone(&idle),
    };
    (
        handle,
        Dispatcher {
            submitted,
            completions,
            load,
            idle,
            caller,
        },
        completed,
    )
}

// === impl DispatcherHandle ===

impl DispatcherHandle {
    /// Whether another decision may be taken.
    pub fn has_room(&self) -> bool {
        self.load() < CAPACITY
    }

    /// Effects that wait or are under way.
    pub fn load(&self) -> usize {
        self.load.load(Ordering::Acquire)
    }

    /// Hands over an effect. Questions write nothing and do not count: the engine asks few at a
    /// time, and a slow answer keeps nobody else waiting.
    pub fn submit(&self, effect: Effect) {
        if !is_question(&effect) {
            self.load.fetch_add(1, Ordering::AcqRel);
        }
        // The other end is gone only when the process ends.
        let _ = self.submit.send(effect);
    }

    /// Waits until nothing is under way.
    pub async fn wait_until_idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.load() == 0 {
                return;
            }
            notified.await;
        }
    }
}

// === impl Dispatcher ===

impl Dispatcher {
    /// Works until `cancel`, then waits for the answers to what was sent and sends nothing more. A
    /// call that panics ends it.
    pub async fn run(mut self, cancel: CancellationToken) -> Result<(), tokio::task::JoinError> {
        let mut queue = CallQueue::default();
        let mut calls = JoinSet::new();
        // Calls to extenders, which may be slow, take no place of those to the API server.
        let mut outside = 0;
        let mut questions = JoinSet::new();
        loop {
            while calls.len() - outside < CALLS_IN_FLIGHT && !cancel.is_cancelled() {
                let Some(effect) = queue.start_next() else {
                    break;
                };
                outside += usize::from(is_outside(&effect));
                let caller = Arc::clone(&self.caller);
                let stop = cancel.clone();
                calls.spawn(async move {
                    let outcome = caller.carry_out(&effect, &stop).await;
                    (effect, outcome)
                });
            }
            if cancel.is_cancelled() && calls.is_empty() {
                return Ok(());
            }
            tokio::select! {
                Some(effect) = self.submitted.recv() => {
                    if is_question(&effect) {
                        let caller = Arc::clone(&self.caller);
                        questions.spawn(async move { (effect.id, caller.ask(&effect).await) });
                    } else {
                        self.enqueue(&mut queue, effect);
                    }
                }
                Some(answered) = questions.join_next() => {
                    let (id, outcome) = answered?;
                    let _ = self.completions.send(Completion { id, outcome });
                }
                Some(ended) = calls.join_next() => {
                    let (effect, outcome) = ended?;
                    outside -= usize::from(is_outside(&effect));
                    queue.finish(&effect.uid);
                    self.complete(effect.id, outcome);
                }
                () = cancel.cancelled(), if calls.is_empty() => return Ok(()),
            }
        }
    }

    fn enqueue(&self, queue: &mut CallQueue, effect: Effect) {
        let id = effect.id;
        match queue.submit(effect) {
            Submitted::Queued => {}
            Submitted::Replaced(earlier) => self.complete(earlier, EffectOutcome::Superseded),
            Submitted::Dropped => self.complete(id, EffectOutcome::Superseded),
        }
    }

    fn complete(&self, id: EffectId, outcome: EffectOutcome) {
        let _ = self.completions.send(Completion { id, outcome });
        if self.load.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }
}

// === impl Caller ===

impl Caller {
    /// Asks an extender. It writes nothing, so nobody has to lead.
    async fn ask(&self, effect: &Effect) -> EffectOutcome {
        let EffectAction::Ask(question) = &effect.action else {
            return DONE;
        };
        let started = self.clock.now();
        let outcome = EffectOutcome::Answered(self.extenders.ask(effect, question).await);
        self.metrics
            .observe(effect, &outcome, self.clock.now() - started);
        outcome
    }

    async fn carry_out(&self, effect: &Effect, stop: &CancellationToken) -> EffectOutcome {
        let started = self.clock.now();
        let outcome = match &effect.action {
            EffectAction::Bind { node } => self.bind(effect, node, stop).await,
            EffectAction::BindByExtender { node, extender } => {
                self.bind_by_extender(effect, extender, node, stop).await
            }
            EffectAction::PatchStatus(patch) => self.patch_status(effect, patch, stop).await,
            EffectAction::Evict(eviction) => self.evict(effect, eviction, stop).await,
            EffectAction::BindVolumes(writes) => self.bind_volumes(writes, stop).await,
            EffectAction::PreBind(_) | EffectAction::Ask(_) | EffectAction::RecordEvent(_) => {
                failed(
                    FailureKind::Refused,
                    format!(
                        "nothing in this release carries out {:?}",
                        effect.action.name()
                    ),
                )
            }
        };
        self.metrics
            .observe(effect, &outcome, self.clock.now() - started);
        outcome
    }
}

fn is_question(effect: &Effect) -> bool {
    matches!(effect.action, EffectAction::Ask(_))
}

fn is_outside(effect: &Effect) -> bool {
    matches!(effect.action, EffectAction::BindByExtender { .. })
}

/// Carried out; nobody looks at the answer for a resourceVersion.
const DONE: EffectOutcome = EffectOutcome::Done {
    resource_version: None,
};

/// The collection that the pod of `effect` is in.
fn pods(effect: &Effect) -> Request {
    Request::new(Pod::url_path(&(), Some(&effect.pod.namespace)))
}

fn failed(kind: FailureKind, message: String) -> EffectOutcome {
    EffectOutcome::Failed(EffectFailure { kind, message })
}

fn not_leading() -> EffectOutcome {
    failed(
        FailureKind::NotLeading,
        "this replica does not lead any more".to_owned(),
    )
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}
