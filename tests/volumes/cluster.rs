//! A control plane with Bayplan, nodes and everything that volumes need.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::harness::bayplan::{Installation, Replica};
use crate::harness::builders::{PodBuilder, make_node, make_pod};
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::kubelet::FakeKubelet;
use crate::harness::process::Process;
use crate::harness::volume_checker::Storage;
use crate::harness::{create, objects, wait};

/// The driver that the player of the provisioner stands for.
pub(crate) const DRIVER: &str = "csi.example.com";

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(2);

/// A pod for Bayplan with one claim.
pub(crate) fn pod(name: &str, claim: &str) -> PodBuilder {
    small(name).claim(claim)
}

/// A pod for Bayplan without volumes.
pub(crate) fn small(name: &str) -> PodBuilder {
    make_pod(name).scheduler("bayplan").requests("10m", "16Mi")
}

/// A running cluster. Dropping it ends all of it.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    replica: Replica,
    controllers: Process,
    kubelet: FakeKubelet,
    control_plane: ControlPlane,
}

impl Cluster {
    /// With nodes `n0`, `n1`, … and these objects.
    pub(crate) async fn start(nodes: usize, storage: Vec<Value>) -> anyhow::Result<Self> {
        Self::with_arguments(nodes, storage, &json!({})).await
    }

    /// And with these arguments of `VolumeBinding`.
    pub(crate) async fn with_arguments(
        nodes: usize,
        storage: Vec<Value>,
        arguments: &Value,
    ) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let client = control_plane.client();
        let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
        let installation = Installation::install(&control_plane, binary, &[]).await?;
        let patch = json!({"spec": {"pluginConfig": {"volumeBinding": arguments}}}).to_string();
        control_plane
            .kubectl(&["patch", "sprof", "bayplan", "--type=merge", "-p", &patch])
            .await?;
        let node = |i| make_node(&format!("n{i}")).build();
        create::nodes(&client, (0..nodes).map(node).collect()).await?;
        objects::create(&client, storage).await?;
        Ok(Self {
            controllers: control_plane.kube_controller_manager().await?,
            kubelet: FakeKubelet::start(client.clone()),
            replica: installation.start(&control_plane).await?,
            control_plane,
            client,
        })
    }

    pub(crate) async fn create(&self, objects: Vec<Value>) -> anyhow::Result<()> {
        objects::create(&self.client, objects).await
    }

    pub(crate) async fn create_pods(
        &self,
        pods: impl IntoIterator<Item = PodBuilder>,
    ) -> anyhow::Result<()> {
        let pods = pods.into_iter().map(PodBuilder::build).collect();
        create::pods(&self.client, pods).await?;
        Ok(())
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    pub(crate) fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::default_namespaced(self.client.clone())
    }

    /// Waits until the pod runs and gives its node.
    pub(crate) async fn until_running(&self, name: &str) -> anyhow::Result<String> {
        wait::until(&format!("{name} to run"), PATIENCE, async || {
            let pod = self.pods().get(name).await?;
            let phase = pod.status.and_then(|status| status.phase);
            let is_running = phase.as_deref() == Some("Running");
            Ok(pod
                .spec
                .and_then(|spec| spec.node_name)
                .filter(|_| is_running))
        })
        .await
    }

    /// Waits until `PodScheduled` is `False` with a message that holds `part`; gives its reason
    /// and the message.
    pub(crate) async fn until_refused(
        &self,
        name: &str,
        part: &str,
    ) -> anyhow::Result<(String, String)> {
        let what = format!("{name} to be refused with {part:?}");
        wait::until(&what, PATIENCE, async || {
            let pod = self.pods().get(name).await?;
            Ok(refusal(&pod).filter(|(_, message)| message.contains(part)))
        })
        .await
    }

    /// Waits until of all pods `running` run and `refused` are refused with `part`.
    pub(crate) async fn until_settled(
        &self,
        running: usize,
        refused: usize,
        part: &str,
    ) -> anyhow::Result<()> {
        let what = format!("{running} pods to run and {refused} to be refused with {part:?}");
        wait::until(&what, PATIENCE, async || {
            let pods = self.pods().list(&ListParams::default()).await?;
            let counted = pods.items.iter().filter(|pod| has_node(pod)).count();
            let waiting = pods.items.iter().filter(|pod| !has_node(pod));
            let refusals = waiting.filter_map(refusal);
            let hit = refusals
                .filter(|(_, message)| message.contains(part))
                .count();
            Ok(((counted, hit) == (running, refused)).then_some(()))
        })
        .await
    }

    /// No pod is where its volumes cannot go; then everything ends.
    pub(crate) async fn finish(self) -> anyhow::Result<()> {
        let findings = Storage::read(&self.client).await?.findings();
        assert_eq!(findings, [""; 0]);
        let kubeconfig = self.control_plane.kubeconfig();
        self.replica.check_hints(&kubeconfig).await?;
        drop((self.replica, self.controllers, self.kubelet));
        self.control_plane.stop()
    }
}

pub(crate) fn has_node(pod: &Pod) -> bool {
    pod.spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some())
}

fn refusal(pod: &Pod) -> Option<(String, String)> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let condition = conditions.find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Some((text(&condition.reason), text(&condition.message)))
}
