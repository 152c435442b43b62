//! What becomes of a pod that a scheduler was given.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::harness::wait;
use crate::live::PATIENCE;
use crate::live::stage::key;
use crate::live::volumes::PodClaims;

/// Then others than the expected victims, or none, were evicted.
const EVICTION_PATIENCE: Duration = Duration::from_secs(15);

/// What became of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It got this node.
    Placed(String),
    Refused(Refusal),
}

/// What a pod was told that fits nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Of the condition `PodScheduled`.
    pub(crate) reason: String,
    pub(crate) message: String,
    /// Of the event `FailedScheduling`.
    pub(crate) note: String,
    pub(crate) nominated: Option<String>,
    /// Who was evicted for it, each with the reason and the message of `DisruptionTarget`.
    pub(crate) victims: BTreeSet<[String; 3]>,
}

/// Waits until the pod has a node or has been refused; its volumes are bound as they are reserved.
pub(crate) async fn of(client: &Client, pod: &Value) -> anyhow::Result<Fate> {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    let (name, uid) = (text("name"), text("uid"));
    let pods: Api<Pod> = Api::namespaced(client.clone(), text("namespace"));
    let claims = PodClaims::of(client, pod).await?;
    wait::until(&format!("{name} to be decided"), PATIENCE, async || {
        let pod = pods.get(name).await?;
        if let Some(node) = pod.spec.and_then(|spec| spec.node_name) {
            return Ok(Some(Fate::Placed(node)));
        }
        let Some(mut refusal) = pod.status.and_then(refusal) else {
            claims.bind_reserved().await?;
            return Ok(None);
        };
        let Some(note) = note(client, uid).await? else {
            return Ok(None);
        };
        refusal.note = note;
        Ok(Some(Fate::Refused(refusal)))
    })
    .await
}

/// Without the note.
fn refusal(status: PodStatus) -> Option<Refusal> {
    let mut conditions = status.conditions.into_iter().flatten();
    let condition = conditions.find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    let refusal = Refusal {
        reason: condition.reason.unwrap_or_default(),
        message: condition.message.unwrap_or_default(),
        note: String::new(),
        nominated: status.nominated_node_name,
        victims: BTreeSet::new(),
    };
    // The API server's own, until the scheduler has looked at the pod that lost its gates.
    (refusal.reason != "SchedulingGated").then_some(refusal)
}

/// Waits until the victims named in `expected` have been evicted, and gives those that were. Others
/// than those in `before` are on their way out for no other reason.
pub(crate) async fn victims(
    client: &Client,
    scheduler: &str,
    before: &[Value],
    expected: &BTreeSet<String>,
) -> anyhow::Result<BTreeSet<[String; 3]>> {
    let pods: Api<Pod> = Api::all(client.clone());
    let since = tokio::time::Instant::now();
    wait::until("victims to be evicted", PATIENCE, async || {
        let now = pods.list(&ListParams::default()).await?.items;
        let now = now.iter().map(serde_json::to_value);
        let now = now.collect::<Result<Vec<_>, _>>()?;
        let was_going = |pod: &Value| {
            let mut before = before.iter().filter(|old| is_going(old));
            before.any(|old| old["metadata"]["uid"] == pod["metadata"]["uid"])
        };
        let gone: Vec<_> = now
            .iter()
            .filter(|pod| is_going(pod) && !was_going(pod))
            .collect();
        let keys: BTreeSet<_> = gone.iter().map(|pod| key(pod)).collect();
        let is_over = keys == *expected || since.elapsed() > EVICTION_PATIENCE;
        let victims = gone.into_iter().map(|pod| victim(pod, scheduler));
        Ok(is_over.then(|| victims.collect()))
    })
    .await
}

fn is_going(pod: &Value) -> bool {
    pod["kind"] != "PersistentVolumeClaim" && !pod["metadata"]["deletionTimestamp"].is_null()
}

fn victim(pod: &Value, scheduler: &str) -> [String; 3] {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut target = conditions.filter(|condition| condition["type"] == "DisruptionTarget");
    let target = target.next().unwrap_or(&Value::Null);
    let text = |field: &str| target[field].as_str().unwrap_or_default();
    // Each names itself.
    let message = text("message").replacen(scheduler, "SCHEDULER", 1);
    [key(pod), text("reason").to_owned(), message]
}

/// The note of the event that says that the pod of this UID fits nowhere.
async fn note(client: &Client, uid: &str) -> anyhow::Result<Option<String>> {
    let events: Api<Event> = Api::all(client.clone());
    let failed = ListParams::default().fields("reason=FailedScheduling");
    let events = events.list(&failed).await?.items.into_iter();
    let mut ours = events.filter(|event| {
        let regarding = event.regarding.as_ref();
        regarding.is_some_and(|regarding| regarding.uid.as_deref() == Some(uid))
    });
    Ok(ours.next().and_then(|event| event.note))
}

/// A pod that still has a gate: `None` if nobody has touched it.
pub(crate) async fn touched(client: &Client, pod: &Value) -> anyhow::Result<Option<String>> {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client.clone(), text("namespace"));
    let pod = pods.get(text("name")).await?;
    let name = pod.name_any();
    let node = pod.spec.and_then(|spec| spec.node_name);
    let conditions = pod.status.and_then(|status| status.conditions);
    let conditions = conditions.into_iter().flatten();
    let reasons = conditions.filter(|c| c.type_ == "PodScheduled");
    let reasons: Vec<_> = reasons.filter_map(|condition| condition.reason).collect();
    let is_untouched = node.is_none() && reasons == ["SchedulingGated"];
    Ok((!is_untouched).then(|| format!("{name} has a gate, but {reasons:?} on {node:?}")))
}
