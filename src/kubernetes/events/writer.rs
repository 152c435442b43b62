//! Events as requests: the bytes of their bodies, and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http::header::CONTENT_TYPE;
use kube::Client;
use kube::core::request::Error as RequestError;
use serde_json::json;
use tracing::debug;

use crate::engine::effect::EventKind;
use crate::kubernetes::clock;
use crate::kubernetes::dispatcher::retry::{Meaning, TRIES, pause, send};
use crate::kubernetes::events::PodEvent;
use crate::kubernetes::events::queue::Waiting;
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::protobuf::{self, Event, Metadata, ObjectReference};
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

impl Writer {
    /// Creates an event that was recorded at `time`.
    pub(super) async fn create(&self, event: &PodEvent, name: &str, time: Timestamp) {
        let path = events_path(&event.pod);
        let object = object(event, name, time, &self.identity);
        let request = Request::post(path).body(());
        let request = request.map(|request| protobuf::with_body(request, &object));
        self.write(&event.pod, request).await;
    }

    /// Notes how often an event has come, the last time at `time`.
    pub(super) async fn count(&self, pod: &PodKey, name: &str, count: u32, time: Timestamp) {
        let path = format!("{}/{name}", events_path(pod));
        let series = json!({"series": {"count": count, "lastObservedTime": micro_time(time)}});
        let request = Request::patch(path)
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(series.to_string().into_bytes());
        self.write(pod, request).await;
    }

    /// Sends, trying again while that may help.
    async fn write(&self, pod: &PodKey, request: http::Result<Request<Vec<u8>>>) {
        for attempt in 1..=TRIES {
            let Some(limit) = self.leadership.write_timeout() else {
                break;
            };
            let request = request.as_ref().cloned();
            let request = request.map_err(|error| RequestError::Validation(error.to_string()));
            let sent = send(&self.client, limit, request).await;
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

/// An event as the API server reads it.
fn object(event: &PodEvent, name: &str, time: Timestamp, identity: &str) -> Event {
    let PodEvent { pod, uid, record } = event;
    let related = record.related.as_ref();
    let type_ = match record.kind {
        EventKind::Normal => "Normal",
        EventKind::Warning => "Warning",
    };
    Event {
        metadata: Some(Metadata {
            name: name.to_owned(),
            namespace: pod.namespace.to_string(),
            ..Metadata::default()
        }),
        event_time: Some(time.into()),
        reporting_controller: record.reporting_controller.to_string(),
        reporting_instance: reporting_instance(&record.reporting_controller, identity),
        action: record.action.to_owned(),
        reason: record.reason.to_owned(),
        regarding: Some(reference(pod, uid)),
        related: related.map(|(pod, uid)| reference(pod, uid)),
        note: record.note.clone(),
        r#type: type_.to_owned(),
    }
}

fn reference(pod: &PodKey, uid: &PodUid) -> ObjectReference {
    ObjectReference {
        kind: "Pod".to_owned(),
        namespace: pod.namespace.to_string(),
        name: pod.name.to_string(),
        uid: uid.0.to_string(),
        api_version: "v1".to_owned(),
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
    format!("{:.6}", clock::utc(time))
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::effect::EventRecord;

    #[test]
    fn an_event_says_who_did_what_to_which_pod_and_why() {
        let pod = |name: &str| PodKey {
            namespace: "ns".into(),
            name: name.into(),
        };
        let event = PodEvent {
            pod: pod("victim"),
            uid: PodUid("uid-v".into()),
            record: EventRecord {
                related: Some((pod("p"), PodUid("uid-p".into()))),
                kind: EventKind::Normal,
                reason: "Preempted",
                action: "Preempting",
                note: "Preempted by a pod".into(),
                reporting_controller: "bayplan".into(),
            },
        };
        let time = Timestamp::from_micros(1_500_001);
        let object = object(&event, "victim.1", time, "host");
        let request = protobuf::with_body(Request::new(()), &object);
        let reference = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": name, "uid": uid});
        assert_eq!(
            protobuf::as_json(request.body()),
            json!({"apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"namespace": "ns", "name": "victim.1"},
                "eventTime": {"seconds": 1, "nanos": 500_001_000},
                "type": "Normal", "reason": "Preempted", "action": "Preempting",
                "note": "Preempted by a pod",
                "reportingController": "bayplan", "reportingInstance": "bayplan-host",
                "regarding": reference("victim", "uid-v"), "related": reference("p", "uid-p")})
        );
    }

    #[test]
    fn times_have_microseconds() {
        assert_eq!(
            micro_time(Timestamp::from_micros(1_500_000)),
            "1970-01-01T00:00:01.500000Z"
        );
    }
}
