//! A control plane with both schedulers, the controllers that they need, and a kubelet.

use std::path::Path;

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use kube::Client;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::harness::bayplan::{Installation, Replica};
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::kubelet::FakeKubelet;
use crate::harness::objects;
use crate::harness::process::Process;

/// The `schedulerName` of kube-scheduler, and that of the chart's profile.
pub(crate) const SCHEDULERS: [&str; 2] = ["default-scheduler", "bayplan"];

/// What scripts leave behind, in the order in which it is cleared away.
const LEFT_BEHIND: [(&str, &str, &str); 9] = [
    ("", "v1", "Pod"),
    ("policy", "v1", "PodDisruptionBudget"),
    ("", "v1", "PersistentVolumeClaim"),
    ("", "v1", "PersistentVolume"),
    ("storage.k8s.io", "v1", "StorageClass"),
    ("storage.k8s.io", "v1", "CSIDriver"),
    ("storage.k8s.io", "v1", "CSINode"),
    ("", "v1", "Node"),
    ("events.k8s.io", "v1", "Event"),
];

/// Upstream's default profile without the plugins that Bayplan lacks: both judge by the same.
fn configuration() -> Value {
    let there = Registry.names();
    let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    let missing = default.filter(|name| !there.contains(name));
    let missing: Vec<_> = missing.map(|name| json!({"name": name})).collect();
    json!({"profiles": [{"schedulerName": SCHEDULERS[0], "percentageOfNodesToScore": 100,
        "plugins": {"multiPoint": {"disabled": missing}}}]})
}

/// Everything that runs. Dropping it ends all of it.
pub(crate) struct Theatre {
    schedulers: (Process, Replica),
    controllers: Process,
    kubelet: FakeKubelet,
    control_plane: ControlPlane,
}

impl Theatre {
    /// With the priority classes `low`, `middle` and `high`, and no nodes.
    pub(crate) async fn open() -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let client = control_plane.client();
        let classes = [("low", 10), ("middle", 100), ("high", 1000)].map(|(name, value)| {
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value})
        });
        objects::create(&client, classes).await?;
        let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
        let installation = Installation::install(&control_plane, binary, &[]).await?;
        let replica = installation.start(&control_plane).await?;
        let ready = ["wait", "--for=condition=Ready", "--timeout=120s", "sprof"];
        control_plane
            .kubectl(&[&ready[..], &["--all"]].concat())
            .await?;
        let kubeconfig = control_plane.kubeconfig();
        let upstream = control_plane.kube_scheduler(configuration(), &kubeconfig)?;
        Ok(Self {
            schedulers: (upstream, replica),
            controllers: control_plane.kube_controller_manager().await?,
            kubelet: FakeKubelet::start(client),
            control_plane,
        })
    }

    pub(crate) fn client(&self) -> Client {
        self.control_plane.client()
    }

    /// Clears the stage for the next script.
    pub(crate) async fn clear(&self) -> anyhow::Result<()> {
        let client = self.client();
        for (group, version, kind) in LEFT_BEHIND {
            let kind = GroupVersionKind::gvk(group, version, kind);
            for object in objects::list(&client, &kind).await? {
                let namespace = object["metadata"]["namespace"].as_str();
                if namespace.is_none_or(|namespace| namespace == "default") {
                    objects::erase(&client, &object).await?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn close(self) -> anyhow::Result<()> {
        drop((self.schedulers, self.controllers, self.kubelet));
        self.control_plane.stop()
    }
}
