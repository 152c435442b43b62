//! A pod with a volume that is there and one to be made, and what the volume controllers do.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::harness::wait;

/// Of a claim whose binding is complete.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Of a claim whose volume is to be made near a node.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The objects around a pod with two claims, `static` and `dynamic`.
pub(crate) struct PodVolumes {
    client: Client,
    volumes: Api<PersistentVolume>,
    claims: Api<PersistentVolumeClaim>,
}

impl PodVolumes {
    /// Creates the pod, its claims, and on `node` the volume `disk` for the first of them.
    pub(crate) async fn create(client: Client, pod: Pod, node: &str) -> anyhow::Result<Self> {
        let this = Self {
            volumes: Api::all(client.clone()),
            claims: Api::default_namespaced(client.clone()),
            client,
        };
        let classes: Api<StorageClass> = Api::all(this.client.clone());
        for (name, provisioner) in [
            ("by-hand", "kubernetes.io/no-provisioner"),
            ("made", "driver.example.com"),
        ] {
            let class = json!({"metadata": {"name": name}, "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer"});
            create(&classes, class).await?;
        }
        create(&this.volumes, volume("disk", "by-hand", node)).await?;
        let status = Patch::Merge(json!({"status": {"phase": "Available"}}));
        let parameters = PatchParams::default();
        this.volumes
            .patch_status("disk", &parameters, &status)
            .await?;
        create(&this.claims, claim("static", "by-hand")).await?;
        create(&this.claims, claim("dynamic", "made")).await?;
        let mut pod = serde_json::to_value(pod)?;
        pod["spec"]["volumes"] = ["static", "dynamic"]
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
            .into();
        let pods: Api<Pod> = Api::default_namespaced(this.client.clone());
        create(&pods, pod).await?;
        Ok(this)
    }

    /// Waits until the scheduler has reserved `disk` and chosen `node` for the volume to be made.
    pub(crate) async fn until_reserved(
        &self,
        node: &str,
        patience: Duration,
    ) -> anyhow::Result<()> {
        let what = format!("volumes to be reserved on {node}");
        wait::until(&what, patience, async || {
            let volume = serde_json::to_value(self.volumes.get("disk").await?)?;
            let claim = serde_json::to_value(self.claims.get("dynamic").await?)?;
            let is_reserved = volume["spec"]["claimRef"]["name"] == "static"
                && claim["metadata"]["annotations"][SELECTED_NODE] == node;
            Ok(is_reserved.then_some(()))
        })
        .await
    }

    /// Does what provisioner and controllers do: makes the volume and binds both claims.
    pub(crate) async fn bind(&self, node: &str) -> anyhow::Result<()> {
        create(&self.volumes, volume("disk-2", "made", node)).await?;
        for (claim, volume) in [("static", "disk"), ("dynamic", "disk-2")] {
            let patch = Patch::Merge(json!({
                "metadata": {"annotations": {BIND_COMPLETED: "yes"}},
                "spec": {"volumeName": volume}}));
            let parameters = PatchParams::default();
            self.claims.patch(claim, &parameters, &patch).await?;
        }
        Ok(())
    }
}

async fn create<K>(api: &Api<K>, object: Value) -> anyhow::Result<()>
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    let object = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

fn volume(name: &str, class: &str, node: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"storageClassName": class,
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/mnt"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}}})
}

fn claim(name: &str, class: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"storageClassName": class,
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}
