//! Events for people (events.k8s.io/v1): bounded, aggregated, limited, never in the way.
//!
//! Equal events of one pod within `SERIES_WINDOW` become one object with a count; a pod that
//! says something new again and again is limited by a token bucket; what does not fit the queue is
//! dropped and counted. Mirrors the broadcaster and the spam filter of client-go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::engine::effect::{EventKind, EventRecord};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::leadership::Leadership;
use crate::metrics::EventMetrics;
use crate::model::pod_info::{PodKey, PodUid};
use crate::model::timestamp::Timestamp;

/// Events that wait at most (`maxQueuedEvents` of client-go).
const QUEUE: usize = 1000;
/// Events being written at most; binding comes first.
const IN_FLIGHT: usize = 16;
/// Equal events within this time are one series (`refreshTime` of `tools/events`).
const SERIES_WINDOW: Duration = Duration::from_mins(6);
/// Pods whose last events are remembered (`maxLruCacheEntries`).
const REMEMBERED: usize = 4096;
/// New events of one pod at once (`defaultSpamBurst`).
const BURST: u32 = 25;
/// Then one in this time (`defaultSpamQPS` = 1/300).
const REFILL: Duration = Duration::from_mins(5);

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
    queue: mpsc::Sender<PodEvent>,
    metrics: EventMetrics,
}

/// The end that writes.
#[derive(Debug)]
pub struct Broadcaster {
    queue: mpsc::Receiver<PodEvent>,
    writer: Arc<Writer>,
    pods: IndexMap<PodUid, Said>,
    clock: Clock,
}

struct Writer {
    client: Client,
    leadership: Leadership,
    identity: String,
    metrics: EventMetrics,
}

/// What was said about one pod.
#[derive(Debug)]
struct Said {
    tokens: u32,
    refilled: Instant,
    series: VecDeque<Series>,
}

/// An event that was written.
#[derive(Debug)]
struct Series {
    record: EventRecord,
    name: String,
    last: Instant,
    count: u32,
}

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Create { name: String },
    Count { name: String, count: u32 },
    Aggregate,
    Drop,
}

/// Makes both ends.
pub fn new(
    client: Client,
    leadership: Leadership,
    clock: Clock,
    identity: String,
    metrics: EventMetrics,
) -> (EventSink, Broadcaster) {
    let (send, queue) = mpsc::channel(QUEUE);
    let sink = EventSink {
        queue: send,
        metrics: metrics.clone(),
    };
    let writer = Arc::new(Writer {
        client,
        leadership,
        identity,
        metrics,
    });
    (
        sink,
        Broadcaster {
            queue,
            writer,
            pods: IndexMap::new(),
            clock,
        },
    )
}

// === impl EventSink ===

impl EventSink {
    /// Says something about a pod, or drops it if too much is being said already.
    pub fn record(&self, event: PodEvent) {
        if self.queue.try_send(event).is_err() {
            self.metrics.dropped.inc();
        }
    }
}

// === impl Broadcaster ===

impl Broadcaster {
    /// Writes events until `cancel`, then those that wait, at most for `grace`.
    pub async fn run(mut self, cancel: CancellationToken, grace: Duration) {
        let mut writes = JoinSet::new();
        loop {
            tokio::select! {
                Some(event) = self.queue.recv(), if writes.len() < IN_FLIGHT => {
                    self.start(event, &mut writes);
                }
                Some(_) = writes.join_next() => {}
                () = cancel.cancelled() => break,
            }
        }
        self.queue.close();
        let flush = async {
            while let Some(event) = self.queue.recv().await {
                self.start(event, &mut writes);
                while writes.len() >= IN_FLIGHT {
                    writes.join_next().await;
                }
            }
            while writes.join_next().await.is_some() {}
        };
        if timeout(grace, flush).await.is_err() {
            debug!("events that were not written in time are dropped");
        }
    }

    fn start(&mut self, event: PodEvent, writes: &mut JoinSet<()>) {
        let now = self.clock.now();
        let time = self.clock.timestamp();
        let verdict = self.judge(&event, now, time);
        let sink = Arc::clone(&self.writer);
        match verdict {
            Verdict::Aggregate => {
                sink.metrics.aggregated.inc();
            }
            Verdict::Drop => {
                sink.metrics.dropped.inc();
            }
            Verdict::Create { name } => {
                let body = event_object(&event, &name, time, &sink.identity);
                writes.spawn(async move { sink.create(&event.pod, body).await });
            }
            Verdict::Count { name, count } => {
                writes.spawn(async move { sink.count(&event.pod, &name, count, time).await });
            }
        }
    }

    /// Creates what is new, counts the first repetition, keeps the others to itself.
    fn judge(&mut self, event: &PodEvent, now: Instant, time: Timestamp) -> Verdict {
        let new = || Said {
            tokens: BURST,
            refilled: now,
            series: VecDeque::new(),
        };
        let said = self.pods.entry(event.uid.clone()).or_insert_with(new);
        said.refill(now);
        said.series
            .retain(|series| now.duration_since(series.last) < SERIES_WINDOW);
        if let Some(series) = said
            .series
            .iter_mut()
            .find(|series| series.record == event.record)
        {
            series.last = now;
            series.count = series.count.saturating_add(1);
            // A count that doubles is news.
            return if series.count.is_power_of_two() {
                Verdict::Count {
                    name: series.name.clone(),
                    count: series.count,
                }
            } else {
                Verdict::Aggregate
            };
        }
        if said.tokens == 0 {
            return Verdict::Drop;
        }
        said.tokens -= 1;
        // As client-go names events: the object and the time in hexadecimal nanoseconds.
        let name = format!(
            "{}.{:x}",
            event.pod.name,
            time.as_micros().saturating_mul(1000)
        );
        if said.series.len() >= BURST as usize {
            said.series.pop_front();
        }
        let record = event.record.clone();
        said.series.push_back(Series {
            record,
            name: name.clone(),
            last: now,
            count: 1,
        });
        if self.pods.len() > REMEMBERED {
            self.pods.shift_remove_index(0);
        }
        Verdict::Create { name }
    }
}

impl Said {
    fn refill(&mut self, now: Instant) {
        while self.tokens < BURST && now.duration_since(self.refilled) >= REFILL {
            self.tokens += 1;
            self.refilled += REFILL;
        }
        if self.tokens == BURST {
            self.refilled = now;
        }
    }
}

// === impl Writer ===

impl Writer {
    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
        Api::namespaced_with(
            self.client.clone(),
            namespace,
            &ApiResource::from_gvk(&kind),
        )
    }

    async fn create(&self, pod: &PodKey, body: Value) {
        let Some(limit) = self.leadership.write_timeout() else {
            return self.metrics_dropped();
        };
        let Ok(object) = serde_json::from_value::<DynamicObject>(body) else {
            return self.metrics_dropped();
        };
        let api = self.api(&pod.namespace);
        let parameters = PostParams::default();
        match timeout(limit, api.create(&parameters, &object)).await {
            Ok(Ok(_)) => {
                self.metrics.written.inc();
            }
            Ok(Err(error)) => {
                debug!(pod = %pod, %error, "event was not written");
                self.metrics_dropped();
            }
            Err(_) => self.metrics_dropped(),
        }
    }

    async fn count(&self, pod: &PodKey, name: &str, count: u32, time: Timestamp) {
        let Some(limit) = self.leadership.write_timeout() else {
            return self.metrics_dropped();
        };
        let series = json!({"series": {"count": count, "lastObservedTime": micro_time(time)}});
        let (api, patch) = (self.api(&pod.namespace), Patch::Merge(series));
        let parameters = PatchParams::default();
        match timeout(limit, api.patch(name, &parameters, &patch)).await {
            Ok(Ok(_)) => {
                self.metrics.written.inc();
            }
            Ok(Err(_)) | Err(_) => self.metrics_dropped(),
        }
    }

    fn metrics_dropped(&self) {
        self.metrics.dropped.inc();
    }
}

fn event_object(event: &PodEvent, name: &str, time: Timestamp, identity: &str) -> Value {
    let PodEvent { pod, uid, record } = event;
    let mut object = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": &*pod.namespace},
        "eventTime": micro_time(time),
        "type": match record.kind {
            EventKind::Normal => "Normal",
            EventKind::Warning => "Warning",
        },
        "reason": record.reason,
        "action": record.action,
        "note": record.note,
        "reportingController": &*record.reporting_controller,
        "reportingInstance": reporting_instance(&record.reporting_controller, identity),
        "regarding": reference(pod, uid),
    });
    if let Some((pod, uid)) = &record.related {
        object["related"] = reference(pod, uid);
    }
    object
}

fn reference(pod: &PodKey, uid: &PodUid) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": &*pod.namespace,
        "name": &*pod.name,
        "uid": &*uid.0,
    })
}

/// `<controller>-<host>`, at most 128 bytes (`ReportingInstanceLengthLimit`).
fn reporting_instance(controller: &str, identity: &str) -> String {
    format!("{controller}-{identity}")
        .chars()
        .filter(char::is_ascii)
        .take(128)
        .collect()
}

fn micro_time(time: Timestamp) -> String {
    let time = jiff::Timestamp::from_microsecond(time.as_micros()).unwrap_or_default();
    format!("{time:.6}")
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
