//! What a script does and waits for, in a few words.

use std::cell::Cell;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::harness::builders::{NodeBuilder, PodBuilder, make_pod};
use crate::harness::{create, kubelet, objects, wait};

/// Generous: the machine may be building something else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// What the names of pods begin with that are only there to be placed.
pub(crate) const SCOUT: &str = "scout-";

/// The cluster while one scheduler plays on it.
pub(crate) struct Stage {
    pub(crate) client: Client,
    /// The `schedulerName` of all pods.
    pub(crate) scheduler: &'static str,
    began: Cell<tokio::time::Instant>,
}

impl Stage {
    pub(crate) fn new(client: Client, scheduler: &'static str) -> Self {
        Self {
            client,
            scheduler,
            began: Cell::new(tokio::time::Instant::now()),
        }
    }

    /// From here on the scheduler's time counts.
    pub(crate) fn start_clock(&self) {
        self.began.set(tokio::time::Instant::now());
    }

    /// The time since the clock was started.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.get().elapsed()
    }

    /// A pod with 1 CPU.
    pub(crate) fn pod(&self, name: &str) -> PodBuilder {
        make_pod(name)
            .scheduler(self.scheduler)
            .requests("1", "64Mi")
    }

    pub(crate) async fn nodes(
        &self,
        nodes: impl IntoIterator<Item = NodeBuilder>,
    ) -> anyhow::Result<()> {
        let nodes = nodes.into_iter().map(NodeBuilder::build).collect();
        for node in create::nodes(&self.client, nodes).await? {
            self.scout(&node.name_any()).await?;
        }
        Ok(())
    }

    /// Waits until the scheduler knows the node: the watches of nodes and pods have no common order.
    async fn scout(&self, node: &str) -> anyhow::Result<()> {
        let name = format!("{SCOUT}{node}");
        let scout = make_pod(&name).scheduler(self.scheduler);
        let mut scout = scout.node_selector("kubernetes.io/hostname", node).build();
        if let Some(spec) = &mut scout.spec {
            let everything = json!([{"operator": "Exists"}]);
            spec.tolerations = serde_json::from_value(everything)?;
        }
        create::pods(&self.client, vec![scout]).await?;
        self.until_placed(&name).await?;
        self.let_go(&name).await
    }

    pub(crate) async fn pods(
        &self,
        pods: impl IntoIterator<Item = PodBuilder>,
    ) -> anyhow::Result<()> {
        let pods = pods.into_iter().map(PodBuilder::build).collect();
        create::pods(&self.client, pods).await?;
        Ok(())
    }

    /// Creates pods that are on their nodes, and waits until the kubelet has started them.
    pub(crate) async fn running(
        &self,
        pods: impl IntoIterator<Item = PodBuilder>,
    ) -> anyhow::Result<()> {
        let pods: Vec<Pod> = pods.into_iter().map(PodBuilder::build).collect();
        for pod in create::pods(&self.client, pods).await? {
            let name = pod.name_any();
            self.until(&name, "to run", |pod| {
                let phase = pod.status.as_ref()?.phase.as_deref()?;
                (phase == "Running").then_some(())
            })
            .await?;
        }
        Ok(())
    }

    /// Creates objects of other kinds.
    pub(crate) async fn objects(
        &self,
        objects: impl IntoIterator<Item = Value>,
    ) -> anyhow::Result<()> {
        objects::create(&self.client, objects).await
    }

    /// As the API server shows it.
    pub(crate) async fn pod_now(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.api::<Pod>().get(name).await?)?)
    }

    pub(crate) async fn patch_pod(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        patch_in(&self.api::<Pod>(), name, patch).await
    }

    pub(crate) async fn lift_gates(&self, name: &str) -> anyhow::Result<()> {
        self.patch_pod(name, json!({"spec": {"schedulingGates": null}}))
            .await
    }

    pub(crate) async fn patch_node(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let parameters = PatchParams::default();
        nodes
            .patch(name, &parameters, &Patch::Merge(&patch))
            .await?;
        if !patch["status"].is_null() {
            nodes
                .patch_status(name, &parameters, &Patch::Merge(&patch))
                .await?;
        }
        Ok(())
    }

    /// Lets the kubelet hold on to the pod when it is deleted.
    pub(crate) fn clings(pod: PodBuilder) -> PodBuilder {
        pod.label(kubelet::CLINGS, "true")
    }

    /// The pod that clings has ended at last.
    pub(crate) async fn let_go(&self, name: &str) -> anyhow::Result<()> {
        let at_once = DeleteParams::default().grace_period(0);
        self.api::<Pod>().delete(name, &at_once).await?;
        self.until_gone(name).await
    }

    pub(crate) async fn delete_pod(&self, name: &str) -> anyhow::Result<()> {
        self.api::<Pod>()
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    pub(crate) async fn until_placed(&self, name: &str) -> anyhow::Result<String> {
        self.until(name, "to be placed", |pod| {
            pod.spec.as_ref()?.node_name.clone()
        })
        .await
    }

    /// Waits for a `PodScheduled` condition whose message holds `part`.
    pub(crate) async fn until_refused(&self, name: &str, part: &str) -> anyhow::Result<()> {
        self.until(name, &format!("to be refused with {part:?}"), |pod| {
            let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
            let condition = conditions.find(|c| c.type_ == "PodScheduled")?;
            let message = condition.message.as_deref()?;
            message.contains(part).then_some(())
        })
        .await
    }

    pub(crate) async fn until_nominated(&self, name: &str, node: &str) -> anyhow::Result<()> {
        self.until(name, &format!("to be nominated for {node}"), |pod| {
            let nominated = pod.status.as_ref()?.nominated_node_name.as_deref()?;
            (nominated == node).then_some(())
        })
        .await
    }

    /// Waits until somebody has deleted the pod, which a kubelet holds on to.
    pub(crate) async fn until_leaving(&self, name: &str) -> anyhow::Result<()> {
        self.until(name, "to be deleted", |pod| {
            pod.metadata.deletion_timestamp.as_ref().map(|_| ())
        })
        .await
    }

    pub(crate) async fn until_gone(&self, name: &str) -> anyhow::Result<()> {
        let pods = self.api::<Pod>();
        wait::until(&format!("{name} to be gone"), PATIENCE, async || {
            Ok(pods.get_opt(name).await?.is_none().then_some(()))
        })
        .await
    }

    /// Waits until a claim has this annotation.
    pub(crate) async fn until_annotated(&self, claim: &str, key: &str) -> anyhow::Result<()> {
        let claims = self.api::<PersistentVolumeClaim>();
        let what = format!("{claim} to be annotated with {key}");
        wait::until(&what, PATIENCE, async || {
            let claim = claims.get(claim).await?;
            Ok(claim.annotations().contains_key(key).then_some(()))
        })
        .await
    }

    /// Waits until the disruption controller allows so many disruptions of a budget.
    pub(crate) async fn until_allowed(&self, budget: &str, allowed: i64) -> anyhow::Result<()> {
        let budgets = self.api::<PodDisruptionBudget>();
        let what = format!("{budget} to allow {allowed}");
        wait::until(&what, PATIENCE, async || {
            let budget = serde_json::to_value(budgets.get(budget).await?)?;
            let status = &budget["status"];
            let is_seen = status["observedGeneration"] == budget["metadata"]["generation"];
            let is_so = is_seen && status["disruptionsAllowed"] == allowed;
            Ok(is_so.then_some(()))
        })
        .await
    }

    async fn until<T>(
        &self,
        name: &str,
        what: &str,
        look: impl Fn(&Pod) -> Option<T>,
    ) -> anyhow::Result<T> {
        let pods = self.api::<Pod>();
        wait::until(&format!("{name} {what}"), PATIENCE, async || {
            Ok(look(&pods.get(name).await?))
        })
        .await
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::default_namespaced(self.client.clone())
    }
}

async fn patch_in<K>(api: &Api<K>, name: &str, patch: Value) -> anyhow::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// A disruption budget over the pods with a label `app`.
pub(crate) fn budget(name: &str, app: &str, min_available: u32) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}}})
}
