//! A real cluster in which both schedulers run.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::configuration::configuration;
use crate::harness::bayplan::{Installation, Replica};
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::process::Process;
use crate::harness::{objects, wait};
use crate::live::referee::profile;

/// The `schedulerName` of kube-scheduler, and that of the chart's profile.
const NAMES: [&str; 2] = ["default-scheduler", "bayplan"];

/// What a decision may depend on.
const KINDS: &str =
    "namespaces,nodes,pods,services,replicationcontrollers,replicasets,statefulsets";

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(2);

/// What became of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It got this node.
    Placed(String),
    /// Reason and message of `PodScheduled`, and the note of the event.
    Refused([String; 3]),
}

/// What both made of one pod.
#[derive(Debug)]
pub(crate) struct Match {
    /// The cluster before, with the pod as its last object.
    pub(crate) cluster: Vec<Value>,
    pub(crate) upstream: Fate,
    pub(crate) bayplan: Fate,
}

/// A running cluster. Dropping it ends all of it.
pub(crate) struct Arena {
    schedulers: (Process, Replica),
    control_plane: ControlPlane,
}

impl Arena {
    /// With the objects that the API server takes.
    pub(crate) async fn start(standing: Vec<&Value>) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let client = control_plane.client();
        // The generator names it, but leaves it out: a file may do that, a server may not.
        let unlisted = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "unlisted"}});
        objects::create(&client, [unlisted]).await?;
        let is_leaving = |object: &&Value| !object["metadata"]["deletionTimestamp"].is_null();
        for object in standing.into_iter().filter(|object| !is_leaving(object)) {
            take(objects::create(&client, [object.clone()]).await)?;
        }
        let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
        let installation = Installation::install(&control_plane, binary, &[]).await?;
        let replica = installation.start(&control_plane).await?;
        let profiles = configuration(&[profile()], &[])["profiles"].take();
        let kubeconfig = control_plane.kubeconfig();
        let upstream = control_plane.kube_scheduler(json!({"profiles": profiles}), &kubeconfig)?;
        Ok(Self {
            schedulers: (upstream, replica),
            control_plane,
        })
    }

    /// Gives a pod to both, to kube-scheduler first or last, and leaves it where the second put it.
    /// `None` if the API server does not take it.
    pub(crate) async fn give(
        &self,
        pod: &Value,
        upstream_first: bool,
    ) -> anyhow::Result<Option<Match>> {
        let mut cluster = self.objects().await?;
        let [first, second] = if upstream_first { [0, 1] } else { [1, 0] };
        let Some(taken) = self.create(pod, NAMES[first]).await? else {
            return Ok(None);
        };
        let one = self.fate(&taken).await?;
        self.remove(&taken).await?;
        cluster.push(as_document(&taken)?);
        let Some(taken) = self.create(pod, NAMES[second]).await? else {
            return Ok(None);
        };
        let other = self.fate(&taken).await?;
        if let Fate::Refused(_) = other {
            self.remove(&taken).await?;
        }
        let (upstream, bayplan) = if upstream_first {
            (one, other)
        } else {
            (other, one)
        };
        Ok(Some(Match {
            cluster,
            upstream,
            bayplan,
        }))
    }

    pub(crate) fn stop(self) -> anyhow::Result<()> {
        drop(self.schedulers);
        self.control_plane.stop()
    }

    /// As the API server shows them.
    async fn objects(&self) -> anyhow::Result<Vec<Value>> {
        let arguments = ["get", KINDS, "--all-namespaces", "--output=json"];
        let text = self.control_plane.kubectl(&arguments).await?;
        let mut list: Value = serde_json::from_str(&text)?;
        let items = list["items"].as_array_mut().map(std::mem::take);
        Ok(items.unwrap_or_default())
    }

    fn pods(&self, pod: &Pod) -> Api<Pod> {
        let client: Client = self.control_plane.client();
        Api::namespaced(client, &pod.namespace().unwrap_or_default())
    }

    async fn create(&self, pod: &Value, scheduler: &str) -> anyhow::Result<Option<Pod>> {
        let mut pod: Pod = serde_json::from_value(pod.clone())?;
        pod.status = None;
        pod.metadata.creation_timestamp = None;
        if let Some(spec) = &mut pod.spec {
            spec.scheduler_name = Some(scheduler.to_owned());
        }
        let created = self.pods(&pod).create(&PostParams::default(), &pod).await;
        take(created.map_err(anyhow::Error::from))
    }

    async fn fate(&self, pod: &Pod) -> anyhow::Result<Fate> {
        let name = pod.name_any();
        let (pods, uid) = (self.pods(pod), pod.uid());
        wait::until(&format!("{name} to be decided"), PATIENCE, async || {
            let pod = pods.get(&name).await?;
            if let Some(node) = pod.spec.and_then(|spec| spec.node_name) {
                return Ok(Some(Fate::Placed(node)));
            }
            let conditions = pod.status.and_then(|status| status.conditions);
            let mut conditions = conditions.into_iter().flatten();
            let Some(condition) = conditions.find(|c| c.type_ == "PodScheduled") else {
                return Ok(None);
            };
            let note = self.note(uid.as_deref()).await?;
            Ok(note.map(|note| {
                let [reason, message] = [condition.reason, condition.message];
                Fate::Refused([
                    reason.unwrap_or_default(),
                    message.unwrap_or_default(),
                    note,
                ])
            }))
        })
        .await
    }

    /// The note of the event that says that the pod of this UID fits nowhere.
    async fn note(&self, uid: Option<&str>) -> anyhow::Result<Option<String>> {
        let events: Api<Event> = Api::all(self.control_plane.client());
        let failed = ListParams::default().fields("reason=FailedScheduling");
        let events = events.list(&failed).await?.items.into_iter();
        let mut ours = events.filter(|event| {
            let regarding = event.regarding.as_ref();
            regarding.and_then(|regarding| regarding.uid.as_deref()) == uid
        });
        Ok(ours.next().and_then(|event| event.note))
    }

    /// Without grace: there is no kubelet that could wait.
    async fn remove(&self, pod: &Pod) -> anyhow::Result<()> {
        let (pods, name) = (self.pods(pod), pod.name_any());
        pods.delete(&name, &DeleteParams::default().grace_period(0))
            .await?;
        wait::until(&format!("{name} to be gone"), PATIENCE, async || {
            Ok(pods.get_opt(&name).await?.is_none().then_some(()))
        })
        .await
    }
}

/// What the API server refuses, such as overhead without a runtime class, is left out.
fn take<T>(answer: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    match answer {
        Ok(taken) => Ok(Some(taken)),
        Err(error) => match error.chain().find_map(|cause| cause.downcast_ref()) {
            Some(kube::Error::Api(status)) if matches!(status.code, 403 | 409 | 422) => Ok(None),
            _ => Err(error),
        },
    }
}

/// For upstream's default profile.
fn as_document(pod: &Pod) -> anyhow::Result<Value> {
    let mut pod = serde_json::to_value(pod)?;
    pod["spec"]["schedulerName"] = NAMES[0].into();
    Ok(pod)
}
