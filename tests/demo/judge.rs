//! The real kube-scheduler says what the message must be: it gets the same plugins and twins of
//! the pods that fit nowhere.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::harness::control_plane::ControlPlane;
use crate::harness::{create, wait};
use crate::workload::{Expected, Planned, twin};

/// The `schedulerName` of the twins.
const JUDGE: &str = "judge";

/// What the API server says of each pod: its node, or why it has none.
#[derive(Debug, Default)]
pub(crate) struct Fates(BTreeMap<String, Fate>);

/// What became of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// Its node.
    pub(crate) node: Option<String>,
    /// Reason and message of `PodScheduled` = `False`.
    pub(crate) refusal: Option<(String, String)>,
}

impl Fates {
    /// Asks the API server.
    pub(crate) async fn read(client: &Client) -> anyhow::Result<Self> {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let list = pods.list(&ListParams::default()).await?;
        Ok(Self(
            list.into_iter()
                .map(|pod| (pod.name_any(), fate(&pod)))
                .collect(),
        ))
    }

    /// What became of the pod called `name`.
    pub(crate) fn of(&self, name: &str) -> Fate {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

fn fate(pod: &Pod) -> Fate {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let scheduled = conditions
        .into_iter()
        .flatten()
        .find(|c| c.type_ == "PodScheduled");
    let refusal = scheduled
        .filter(|condition| condition.status == "False")
        .map(|condition| {
            (
                condition.reason.clone().unwrap_or_default(),
                condition.message.clone().unwrap_or_default(),
            )
        });
    Fate { node, refusal }
}

/// Lets kube-scheduler judge twins of the pods that fit nowhere and gives its word for each.
pub(crate) async fn refusals(
    control_plane: &ControlPlane,
    planned: &[Planned],
    patience: Duration,
) -> anyhow::Result<BTreeMap<String, (String, String)>> {
    let client = control_plane.client();
    let refused = planned
        .iter()
        .filter(|pod| pod.expected == Expected::Unschedulable);
    let refused: Vec<&Planned> = refused.collect();
    let mut kube_scheduler =
        control_plane.kube_scheduler(configuration(), &control_plane.kubeconfig())?;
    create::pods(
        &client,
        refused.iter().map(|pod| twin(pod, JUDGE)).collect(),
    )
    .await?;
    let said = wait::until("kube-scheduler to judge the twins", patience, async || {
        let fates = Fates::read(&client).await?;
        let said: Option<BTreeMap<_, _>> = refused
            .iter()
            .map(|pod| {
                Some((
                    pod.name.clone(),
                    fates.of(&format!("twin-{}", pod.name)).refusal?,
                ))
            })
            .collect();
        Ok(said)
    })
    .await
    .with_context(|| kube_scheduler.log_tail(10))?;
    kube_scheduler.kill();
    Ok(said)
}

/// kube-scheduler's default set without the plugins that the live scheduler lacks.
fn configuration() -> Value {
    let is_missing = |name: &&str| Registry.extension_points(name).is_none();
    let missing: Vec<Value> = DEFAULT_PLUGINS
        .iter()
        .map(|plugin| plugin.name)
        .filter(is_missing)
        .map(|name| json!({"name": name}))
        .collect();
    json!({"profiles": [{"schedulerName": JUDGE, "plugins": {
        "multiPoint": {"disabled": missing}}}]})
}
