//! Events about pods (`events.k8s.io/v1`): merged, limited, never in the way of bindings, and of
//! those that tell of a deed none lost.
//!
//! ```text
//!  recorded ─▶ waits ─▶ judged ─▶ created | counted in its series | kept back
//!              while bindings wait; never much longer than `BEHIND`
//! ```
//!
//! A pod is bound once, so `Scheduled` is written as it comes. Other events of one pod that are
//! equal become one object with a count, and a pod that says something new again and again is
//! limited by a token bucket, as the broadcaster and the spam filter of client-go have it. What
//! only complains is dropped and counted when too much of it waits, as in client-go; what tells of
//! a deed is kept, and the loop decides no more while there is no room for it.

mod queue;
mod series;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::engine::effect::EventRecord;
use crate::kubernetes::clock::Clock;
use crate::kubernetes::dispatcher::DispatcherHandle;
use crate::kubernetes::events::queue::{Recorded, Waiting};
use crate::kubernetes::events::series::{Said, Verdict};
use crate::kubernetes::events::writer::Writer;
use crate::kubernetes::leadership::Leadership;
use crate::metrics::EventMetrics;
use crate::model::pod_info::{PodKey, PodUid};

/// Events being written at most.
const IN_FLIGHT: usize = 32;
/// Effects under way with which bindings are not seen to wait for the API server.
const QUIET: usize = 16;
/// While bindings wait, events are held back until one has waited this long: a burst of 10,000 pods
/// is over by then at 700 bindings a second.
const BEHIND: Duration = Duration::from_secs(15);
/// Or until so many wait: a burst of 10,000 pods goes first.
const CROWD: usize = 12_288;
/// How long bindings are left alone before their number is looked at again.
const YIELD: Duration = Duration::from_millis(5);

/// What is said about a pod.
#[derive(Clone, Debug)]
pub struct PodEvent {
    /// The pod.
    pub pod: PodKey,
    /// Its UID.
    pub uid: PodUid,
    /// What is said.
    pub record: EventRecord,
}

/// The end that never waits.
#[derive(Clone, Debug)]
pub struct EventSink {
    waiting: Arc<Waiting>,
    clock: Clock,
    metrics: EventMetrics,
}

/// The end that writes.
#[derive(Debug)]
pub struct Broadcaster {
    waiting: Arc<Waiting>,
    bindings: DispatcherHandle,
    writer: Arc<Writer>,
    said: Said,
    clock: Clock,
    metrics: EventMetrics,
}

/// Makes both ends. Events yield to what `bindings` has under way.
pub fn new(
    client: Client,
    bindings: DispatcherHandle,
    leadership: Leadership,
    clock: Clock,
    identity: String,
    metrics: EventMetrics,
) -> (EventSink, Broadcaster) {
    let waiting = Arc::new(Waiting::default());
    let writer = Arc::new(Writer {
        client,
        leadership,
        identity,
        metrics: metrics.clone(),
        waiting: Arc::clone(&waiting),
    });
    let sink = EventSink {
        waiting: Arc::clone(&waiting),
        clock: clock.clone(),
        metrics: metrics.clone(),
    };
    let broadcaster = Broadcaster {
        waiting,
        bindings,
        writer,
        said: Said::default(),
        clock,
        metrics,
    };
    (sink, broadcaster)
}

// === impl EventSink ===

impl EventSink {
    /// Says something about a pod, or drops it if too much is being complained already.
    pub fn record(&self, event: PodEvent) {
        let recorded = Recorded {
            event,
            since: self.clock.now(),
            time: self.clock.timestamp(),
        };
        if !self.waiting.push(recorded) {
            self.metrics.dropped.inc();
        }
    }

    /// Whether there is room for what comes of another decision.
    pub fn has_room(&self) -> bool {
        self.waiting.has_room(self.clock.now())
    }

    /// Waits until an event was taken out; there may be room then.
    pub async fn wait_for_room(&self) {
        self.waiting.taken().await;
    }
}

// === impl Broadcaster ===

impl Broadcaster {
    /// Writes events until `cancel`, then those that wait, at most for `grace`.
    pub async fn run(mut self, cancel: CancellationToken, grace: Duration) {
        let mut writes = JoinSet::new();
        loop {
            while writes.try_join_next().is_some() {}
            let yields = self.yields();
            if !yields
                && writes.len() < IN_FLIGHT
                && let Some(recorded) = self.waiting.pop()
            {
                self.start(recorded, &mut writes);
                continue;
            }
            tokio::select! {
                Some(_) = writes.join_next() => {}
                () = self.waiting.arrived(), if !yields && writes.len() < IN_FLIGHT => {}
                () = sleep(YIELD), if yields => {}
                () = cancel.cancelled() => break,
            }
        }
        if timeout(grace, self.flush(&mut writes)).await.is_err() {
            debug!("events that were not written in time are dropped");
        }
    }

    /// Whether bindings go first.
    fn yields(&self) -> bool {
        if self.bindings.load() < QUIET {
            return false;
        }
        let (waiting, longest) = self.waiting.length(self.clock.now());
        waiting > 0 && waiting < CROWD && longest < BEHIND
    }

    async fn flush(&mut self, writes: &mut JoinSet<()>) {
        while let Some(recorded) = self.waiting.pop() {
            self.start(recorded, writes);
            while writes.len() >= IN_FLIGHT {
                writes.join_next().await;
            }
        }
        while writes.join_next().await.is_some() {}
    }

    fn start(&mut self, recorded: Recorded, under_way: &mut JoinSet<()>) {
        let writer = Arc::clone(&self.writer);
        let Recorded { event, time, .. } = recorded;
        match self.said.judge(&event, self.clock.now(), time) {
            Verdict::Aggregate => {
                self.metrics.aggregated.inc();
            }
            Verdict::Drop => {
                self.metrics.dropped.inc();
            }
            Verdict::Create { name } => {
                under_way.spawn(async move { writer.create(&event, &name, time).await });
            }
            Verdict::Count { name, count } => {
                under_way.spawn(async move { writer.count(&event.pod, &name, count, time).await });
            }
        }
    }
}

#[cfg(test)]
mod tests;
