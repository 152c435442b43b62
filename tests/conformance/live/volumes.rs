//! Plays the volume controllers and every provisioner for the pod that is being placed: whatever a
//! scheduler has reserved for it or asked for is bound at once.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::harness::objects;

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Set by the scheduler on a claim whose volume is to be made.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const ZONE: &str = "topology.kubernetes.io/zone";

/// A claim that named a node before anybody decided is left alone this long.
const GRACE: Duration = Duration::from_secs(1);

/// The claims of one pod, as they were before it was given to a scheduler.
pub(crate) struct PodClaims {
    client: Client,
    claims: Api<PersistentVolumeClaim>,
    /// Names, and the node that the claim names already.
    before: Vec<(String, Option<String>)>,
    since: tokio::time::Instant,
}

impl PodClaims {
    pub(crate) async fn of(client: &Client, pod: &Value) -> anyhow::Result<Self> {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default");
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
        let mut before = Vec::new();
        for name in names(pod) {
            if let Some(claim) = claims.get_opt(&name).await? {
                before.push((name, claim.annotations().get(SELECTED_NODE).cloned()));
            }
        }
        Ok(Self {
            client: client.clone(),
            claims,
            before,
            since: tokio::time::Instant::now(),
        })
    }

    /// Binds what has been reserved.
    pub(crate) async fn bind_reserved(&self) -> anyhow::Result<()> {
        for (name, node_before) in &self.before {
            let Some(claim) = self.claims.get_opt(name).await? else {
                continue;
            };
            let is_bound = claim.annotations().contains_key(BIND_COMPLETED)
                || claim.metadata.deletion_timestamp.is_some();
            if is_bound {
                continue;
            }
            let node = claim.annotations().get(SELECTED_NODE).cloned();
            let is_new = node != *node_before || self.since.elapsed() > GRACE;
            let volume = match self.reserved_volume(&claim).await? {
                Some(volume) => Some(volume),
                None if is_new && node.is_some() => {
                    Some(self.provision(&claim, &node.unwrap_or_default()).await?)
                }
                None => None,
            };
            if let Some(volume) = volume {
                self.complete(&claim, &volume).await?;
            }
        }
        Ok(())
    }

    async fn reserved_volume(
        &self,
        claim: &PersistentVolumeClaim,
    ) -> anyhow::Result<Option<String>> {
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let volumes = volumes.list(&ListParams::default()).await?;
        let reserved = volumes.items.into_iter().find(|volume| {
            let reference = volume
                .spec
                .as_ref()
                .and_then(|spec| spec.claim_ref.as_ref());
            reference.is_some_and(|reference| reference.uid == claim.metadata.uid)
        });
        Ok(reserved.map(|volume| volume.name_any()))
    }

    /// Makes a volume that can be used in the zone of the node.
    async fn provision(&self, claim: &PersistentVolumeClaim, node: &str) -> anyhow::Result<String> {
        let name = format!("made-{}", claim.uid().unwrap_or_default());
        let spec = claim.spec.clone().unwrap_or_default();
        let requests = spec.resources.and_then(|resources| resources.requests);
        let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {"accessModes": spec.access_modes, "capacity": requests,
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "namespace": claim.namespace(), "name": claim.name_any(), "uid": claim.uid()},
                "csi": {"driver": "csi.example.com", "volumeHandle": name},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": spec.storage_class_name}});
        let nodes: Api<Node> = Api::all(self.client.clone());
        if let Some(zone) = nodes.get(node).await?.labels().get(ZONE) {
            volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = json!([
                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]);
        }
        objects::create(&self.client, [volume]).await?;
        Ok(name)
    }

    async fn complete(&self, claim: &PersistentVolumeClaim, volume: &str) -> anyhow::Result<()> {
        let (name, parameters) = (claim.name_any(), PatchParams::default());
        let phase = Patch::Merge(json!({"status": {"phase": "Bound"}}));
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        volumes.patch_status(volume, &parameters, &phase).await?;
        let bound = Patch::Merge(json!({"spec": {"volumeName": volume},
            "metadata": {"annotations": {BIND_COMPLETED: "yes"}}}));
        self.claims.patch(&name, &parameters, &bound).await?;
        self.claims.patch_status(&name, &parameters, &phase).await?;
        Ok(())
    }
}

/// The claims that a pod names, and those that are made for it.
fn names(pod: &Value) -> Vec<String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.filter_map(|volume| {
        let claim = volume["persistentVolumeClaim"]["claimName"].as_str();
        let made = || {
            let pod = pod["metadata"]["name"].as_str()?;
            let volume = volume.get("ephemeral").and(volume["name"].as_str())?;
            Some(format!("{pod}-{volume}"))
        };
        claim.map(str::to_owned).or_else(made)
    });
    names.collect()
}
