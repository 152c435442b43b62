//! Judges where pods are by their volumes, with rules of the harness's own.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{
    Node, NodeSelectorRequirement, PersistentVolume, PersistentVolumeClaim, Pod, Volume,
};
use k8s_openapi::api::storage::v1::CSINode;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

/// What there is.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    pub(crate) nodes: Vec<Node>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) claims: Vec<PersistentVolumeClaim>,
    pub(crate) volumes: Vec<PersistentVolume>,
    pub(crate) csi_nodes: Vec<CSINode>,
}

impl Storage {
    /// Asks the API server.
    pub(crate) async fn read(client: &Client) -> anyhow::Result<Self> {
        Ok(Self {
            nodes: list(client).await?,
            pods: list(client).await?,
            claims: list(client).await?,
            volumes: list(client).await?,
            csi_nodes: list(client).await?,
        })
    }

    /// Sentences about pods with a node that should not have it: a claim without its volume, a
    /// volume that is nowhere near, a claim for one pod in two of them, more volumes than the
    /// node can attach.
    pub(crate) fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        let mut sole_users: BTreeMap<String, String> = BTreeMap::new();
        let mut attached: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (pod, node) in self.pods.iter().filter_map(placed) {
            for name in claim_names(pod) {
                let used = match self.volume_of(pod, &name) {
                    Ok(used) => used,
                    Err(finding) => {
                        findings.push(finding);
                        continue;
                    }
                };
                let (claim, volume) = used;
                if !self.is_usable_on(volume, node) {
                    let volume = volume.name_any();
                    let pod = pod.name_any();
                    findings.push(format!("{pod} is on {node}, where {volume} cannot go"));
                }
                let modes = claim
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.access_modes.as_ref());
                if modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod")) {
                    let before = sole_users.insert(claim.uid().unwrap_or_default(), pod.name_any());
                    findings.extend(
                        before.map(|other| format!("{other} and {} share {name}", pod.name_any())),
                    );
                }
                if let Some(csi) = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()) {
                    let place = (node.to_owned(), csi.driver.clone());
                    attached
                        .entry(place)
                        .or_default()
                        .insert(csi.volume_handle.clone());
                }
            }
        }
        for ((node, driver), volumes) in attached {
            if self
                .limit(&node, &driver)
                .is_some_and(|limit| volumes.len() > limit)
            {
                findings.push(format!("{node} has {} volumes of {driver}", volumes.len()));
            }
        }
        findings
    }

    /// The claim and its volume, which are bound to each other.
    fn volume_of(
        &self,
        pod: &Pod,
        name: &str,
    ) -> Result<(&PersistentVolumeClaim, &PersistentVolume), String> {
        let missing = |what: &str| format!("{} has a node, but {name} {what}", pod.name_any());
        let mut claims = self.claims.iter();
        let claim = claims
            .find(|claim| claim.name_any() == name && claim.namespace() == pod.namespace())
            .ok_or_else(|| missing("is not there"))?;
        let volume = claim
            .spec
            .as_ref()
            .and_then(|spec| spec.volume_name.clone());
        let volume = volume.unwrap_or_default();
        let mut volumes = self.volumes.iter();
        let volume = volumes
            .find(|known| known.name_any() == volume)
            .ok_or_else(|| missing("has no volume"))?;
        let reference = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.claim_ref.as_ref());
        if reference.and_then(|reference| reference.uid.clone()) != claim.uid() {
            return Err(missing("has a volume of somebody else"));
        }
        Ok((claim, volume))
    }

    fn is_usable_on(&self, volume: &PersistentVolume, node: &str) -> bool {
        let Some(node) = self.nodes.iter().find(|known| known.name_any() == node) else {
            return false;
        };
        let affinity = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.node_affinity.as_ref());
        let Some(required) = affinity.and_then(|affinity| affinity.required.as_ref()) else {
            return true;
        };
        required.node_selector_terms.iter().any(|term| {
            let mut expressions = term.match_expressions.iter().flatten();
            expressions.all(|expression| is_met(expression, node))
        })
    }

    fn limit(&self, node: &str, driver: &str) -> Option<usize> {
        let mut nodes = self.csi_nodes.iter();
        let node = nodes.find(|known| known.name_any() == node)?;
        let mut drivers = node.spec.drivers.iter();
        let count = drivers
            .find(|known| known.name == driver)?
            .allocatable
            .as_ref()?
            .count?;
        usize::try_from(count).ok()
    }
}

async fn list<K>(client: &Client) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let api = Api::<K>::all(client.clone());
    Ok(api.list(&ListParams::default()).await?.items)
}

fn placed(pod: &Pod) -> Option<(&Pod, &str)> {
    Some((pod, pod.spec.as_ref()?.node_name.as_deref()?))
}

/// The claims of a pod; that of an ephemeral volume is named after pod and volume.
fn claim_names(pod: &Pod) -> Vec<String> {
    let name = |volume: &Volume| match &volume.persistent_volume_claim {
        Some(source) => Some(source.claim_name.clone()),
        None => volume
            .ephemeral
            .as_ref()
            .map(|_| format!("{}-{}", pod.name_any(), volume.name)),
    };
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(name).collect()
}

/// Only `In` is used for volumes here: anything else is not met.
fn is_met(expression: &NodeSelectorRequirement, node: &Node) -> bool {
    let label = node.labels().get(&expression.key);
    let mut values = expression.values.iter().flatten();
    expression.operator == "In" && values.any(|value| Some(value) == label)
}
