//! A real cluster in which both schedulers run.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::configuration::configuration;
use crate::harness::bayplan::{Installation, Replica};
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::objects;
use crate::harness::process::Process;
use crate::live::fate::{self, Fate};
use crate::live::profiles;
use crate::live::stage::{self, take};
use crate::subject;

/// After something was put back: the watches of several kinds have no common order.
const SETTLE: Duration = Duration::from_millis(100);

/// Holds a pod back until everything around it is ready.
const GATE: &str = "example.com/arena";

/// Who is given a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Upstream,
    Bayplan,
}

impl Side {
    /// What the side calls the profile that the cluster calls `scheduler`.
    fn name(self, scheduler: &str) -> String {
        match self {
            Self::Upstream => scheduler.to_owned(),
            Self::Bayplan => profiles::name(scheduler),
        }
    }
}

fn scheduler(pod: &Value) -> &str {
    let named = pod["spec"]["schedulerName"].as_str();
    named.unwrap_or("default-scheduler")
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
    client: Client,
    /// As upstream is given them, never empty.
    profiles: Vec<Value>,
}

impl Arena {
    /// With the objects that the API server takes.
    pub(crate) async fn start(standing: Vec<&Value>) -> anyhow::Result<Self> {
        let is_profile = |object: &&Value| object["kind"] == "SchedulerProfile";
        let (given, standing): (Vec<_>, Vec<_>) = standing.into_iter().partition(is_profile);
        let control_plane = ControlPlane::start(Options::default()).await?;
        let client = control_plane.client();
        stage::set(&client, standing).await?;
        let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
        let installation = Installation::install(&control_plane, binary, &[]).await?;
        if !given.is_empty() {
            // They take the place of the chart's.
            control_plane
                .kubectl(&["delete", "sprof", "bayplan"])
                .await?;
            objects::create(&client, profiles::renamed(&given)).await?;
        }
        let replica = installation.start(&control_plane).await?;
        let ready = ["wait", "--for=condition=Ready", "--timeout=120s", "sprof"];
        control_plane
            .kubectl(&[&ready[..], &["--all"]].concat())
            .await?;
        let profiles = profiles::complete(&given);
        let theirs = configuration(&profiles, &[])["profiles"].take();
        let kubeconfig = control_plane.kubeconfig();
        let upstream = control_plane.kube_scheduler(json!({"profiles": theirs}), &kubeconfig)?;
        Ok(Self {
            schedulers: (upstream, replica),
            control_plane,
            client,
            profiles,
        })
    }

    /// Whether the pod is for one of the profiles.
    pub(crate) fn answers_for(&self, pod: &Value) -> bool {
        let is_named = |profile: &Value| profile["spec"]["schedulerName"] == scheduler(pod);
        self.profiles.iter().any(is_named)
    }

    /// Gives a pod to both and leaves it where the second put it. `None` if the API server does not
    /// take it.
    pub(crate) async fn give(&self, pod: &Value, first: Side) -> anyhow::Result<Option<Match>> {
        let scheduler = scheduler(pod);
        let second = match first {
            Side::Upstream => Side::Bayplan,
            Side::Bayplan => Side::Upstream,
        };
        let before = stage::objects(&self.client).await?;
        let Some(one) = self.play(pod, &before, first).await? else {
            return Ok(None);
        };
        if stage::restore(&self.client, &before).await? {
            tokio::time::sleep(SETTLE).await;
        }
        let Some(other) = self.play(pod, &before, second).await? else {
            return Ok(None);
        };
        if let Fate::Refused(_) = other.1 {
            stage::restore(&self.client, &before).await?;
        }
        let cluster = self.cluster(before, one.0, scheduler);
        let (upstream, bayplan) = match first {
            Side::Upstream => (one.1, other.1),
            Side::Bayplan => (other.1, one.1),
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

    /// The cluster file that says what both saw.
    fn cluster(&self, before: Vec<Value>, mut pod: Value, scheduler: &str) -> Vec<Value> {
        let mut cluster = self.profiles.clone();
        cluster.extend(before);
        for object in &mut cluster {
            let is_claim = object["kind"] == "PersistentVolumeClaim"
                && object["metadata"]["namespace"] == pod["metadata"]["namespace"];
            let owner = object.pointer_mut("/metadata/ownerReferences/0");
            if let Some(owner) = owner.filter(|_| is_claim)
                && stage::is_meant(owner, &pod)
            {
                owner["uid"] = pod["metadata"]["uid"].clone();
            }
        }
        pod["spec"]["schedulerName"] = scheduler.into();
        if let Some(spec) = pod["spec"].as_object_mut() {
            spec.remove("schedulingGates");
        }
        cluster.push(pod);
        cluster
    }

    /// Gives a pod to a side: the pod as the API server took it, and what became of it.
    async fn play(
        &self,
        pod: &Value,
        before: &[Value],
        side: Side,
    ) -> anyhow::Result<Option<(Value, Fate)>> {
        let scheduler = side.name(scheduler(pod));
        let Some(taken) = self.create(pod, &scheduler).await? else {
            return Ok(None);
        };
        let mut fate = fate::of(&self.client, &taken).await?;
        if let Fate::Refused(refusal) = &mut fate
            && refusal.nominated.is_some()
        {
            let expected = self.expected_victims(before, &taken, pod);
            let client = &self.client;
            refusal.victims = fate::victims(client, &scheduler, before, &expected).await?;
        }
        Ok(Some((taken, fate)))
    }

    /// As the simulator says, which says the same as the oracle.
    fn expected_victims(&self, before: &[Value], taken: &Value, pod: &Value) -> BTreeSet<String> {
        let cluster = self.cluster(before.to_vec(), taken.clone(), scheduler(pod));
        let records = subject::bayplan(&cluster).unwrap_or_default();
        let victims = records
            .iter()
            .filter_map(|record| record["victims"].as_array());
        let names = victims.flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    /// Creates a pod for a scheduler and lifts its gates: the pod as the API server took it.
    async fn create(&self, pod: &Value, scheduler: &str) -> anyhow::Result<Option<Value>> {
        let mut pod = stage::in_runtime_class(pod.clone());
        pod["spec"]["schedulerName"] = scheduler.into();
        let nominated = pod["status"]["nominatedNodeName"].take();
        let volumes = pod["spec"]["volumes"].as_array();
        let has_ephemeral = volumes
            .into_iter()
            .flatten()
            .any(|volume| volume["ephemeral"].is_object());
        let is_gated = !pod["spec"]["schedulingGates"].is_null();
        if !is_gated && (has_ephemeral || nominated.is_string()) {
            pod["spec"]["schedulingGates"] = json!([{"name": GATE}]);
        }
        let api = self.pods(&pod);
        let mut object: DynamicObject = serde_json::from_value(pod)?;
        object.metadata.creation_timestamp = None;
        let created = api.create(&PostParams::default(), &object).await;
        let Some(created) = take(created.map_err(anyhow::Error::from))? else {
            return Ok(None);
        };
        let mut taken = serde_json::to_value(created)?;
        (taken["apiVersion"], taken["kind"]) = ("v1".into(), "Pod".into());
        if taken["spec"]["schedulingGates"].is_array() {
            stage::adopt(&self.client, &taken).await?;
            if nominated.is_string() {
                let status = json!({"status": {"nominatedNodeName": nominated}});
                let name = taken["metadata"]["name"].as_str().unwrap_or_default();
                let patch = Patch::Merge(&status);
                api.patch_status(name, &PatchParams::default(), &patch)
                    .await?;
                taken["status"] = status["status"].clone();
            }
            self.lift_gates(&taken).await?;
        }
        Ok(Some(taken))
    }

    /// Lifts one gate after the other; until the last is gone nobody touches the pod.
    async fn lift_gates(&self, pod: &Value) -> anyhow::Result<()> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let gates = pod["spec"]["schedulingGates"].as_array();
        let mut gates = gates.cloned().unwrap_or_default();
        while !gates.is_empty() {
            let touched = fate::touched(&self.client, pod).await?;
            ensure!(touched.is_none(), "{}", touched.unwrap_or_default());
            gates.remove(0);
            let patch = Patch::Merge(json!({"spec": {"schedulingGates": gates}}));
            self.pods(pod)
                .patch(name, &PatchParams::default(), &patch)
                .await?;
        }
        Ok(())
    }

    fn pods(&self, pod: &Value) -> Api<DynamicObject> {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default");
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
        Api::namespaced_with(self.client.clone(), namespace, &kind)
    }
}
