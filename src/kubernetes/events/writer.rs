//! Events as requests: the bytes of their bodies, and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::Client;
use kube::core::request::Error as RequestError;
use serde::Serialize;
use serde_json::json;
use tracing::debug;

use crate::engine::effect::EventKind;
use crate::kubernetes::dispatcher::retry::{Meaning, TRIES, pause, send};
use crate::kubernetes::events::PodEvent;
use crate::kubernetes::events::queue::Waiting;
use crate::kubernetes::leadership::Leadership;
use crate::metrics::EventMetrics;
use crate::model::pod_info::{PodKey, PodUid};
use crate::model::timestamp::Timestamp;

/// The longest pause between two tries: an event is not worth a place for longer.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Writes events.
pub(super) struct Writer {
    pub(super) client: Client,
    pub(super) leadership: Leadership,
    pub(super) identity: String,
    pub(super) metrics: EventMetrics,
    pub(super) waiting: Arc<Waiting>,
}

/// An event as the API server reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    event_time: &'a str,
    #[serde(rename = "type")]
    type_: &'static str,
    reason: &'static str,
    action: &'static str,
    note: &'a str,
    reporting_controller: &'a str,
    reporting_instance: &'a str,
    regarding: Reference<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<Reference<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    namespace: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'a> {
    api_version: &'static str,
    kind: &'static str,
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

impl Writer {
    /// Creates an event that was recorded at `time`.
    pub(super) async fn create(&self, event: &PodEvent, name: &str, time: Timestamp) {
        let path = events_path(&event.pod);
        let body = body(event, name, time, &self.identity);
        self.write(&event.pod, Method::POST, &path, "application/json", &body)
            .await;
    }

    /// Notes how often an event has come, the last time at `time`.
    pub(super) async fn count(&self, pod: &PodKey, name: &str, count: u32, time: Timestamp) {
        let path = format!("{}/{name}", events_path(pod));
        let series = json!({"series": {"count": count, "lastObservedTime": micro_time(time)}});
        let body = series.to_string().into_bytes();
        let merge = "application/merge-patch+json";
        self.write(pod, Method::PATCH, &path, merge, &body).await;
    }

    /// Sends, trying again while that may help.
    async fn write(&self, pod: &PodKey, method: Method, path: &str, content: &str, body: &[u8]) {
        for attempt in 1..=TRIES {
            let Some(limit) = self.leadership.write_timeout() else {
                break;
            };
            let request = Request::builder().method(method.clone()).uri(path);
            let request = request.header(CONTENT_TYPE, content).body(body.to_vec());
            let sent = send(
                &self.client,
                limit,
                request.map_err(RequestError::BuildRequest),
            )
            .await;
            self.waiting.note_sent(sent.is_ok());
            let Err(failure) = sent else {
                self.metrics.written.inc();
                return;
            };
            match failure.meaning {
                // An earlier try has been carried out after all.
                Meaning::Conflict if attempt > 1 => {
                    self.metrics.written.inc();
                    return;
                }
                Meaning::Busy | Meaning::Unknown if attempt < TRIES => {
                    tokio::time::sleep(pause(attempt, failure.retry_after).min(PAUSE_MAX)).await;
                }
                _ => {
                    debug!(pod = %pod, error = failure.message, "event was not written");
                    break;
                }
            }
        }
        self.metrics.dropped.inc();
    }
}

fn events_path(pod: &PodKey) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", pod.namespace)
}

fn body(event: &PodEvent, name: &str, time: Timestamp, identity: &str) -> Vec<u8> {
    let PodEvent { pod, uid, record } = event;
    let related = record.related.as_ref();
    let body = Body {
        api_version: "events.k8s.io/v1",
        kind: "Event",
        metadata: Metadata {
            name,
            namespace: &pod.namespace,
        },
        event_time: &micro_time(time),
        type_: match record.kind {
            EventKind::Normal => "Normal",
            EventKind::Warning => "Warning",
        },
        reason: record.reason,
        action: record.action,
        note: &record.note,
        reporting_controller: &record.reporting_controller,
        reporting_instance: &reporting_instance(&record.reporting_controller, identity),
        regarding: reference(pod, uid),
        related: related.map(|(pod, uid)| reference(pod, uid)),
    };
    serde_json::to_vec(&body).expect("texts must be JSON")
}

fn reference<'a>(pod: &'a PodKey, uid: &'a PodUid) -> Reference<'a> {
    Reference {
        api_version: "v1",
        kind: "Pod",
        namespace: &pod.namespace,
        name: &pod.name,
        uid: &uid.0,
    }
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
mod tests {
    use super::*;

    #[test]
    fn times_have_microseconds() {
        assert_eq!(
            micro_time(Timestamp::from_micros(1_500_000)),
            "1970-01-01T00:00:01.500000Z"
        );
    }
}
