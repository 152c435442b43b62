//! The plugin on small clusters: what it refuses, what it takes, what it writes.

mod assuming;
mod events;
mod filter;
mod pre_filter;
mod score;

use serde_json::{Value, json};

use super::*;
use crate::engine::framework::Reason;
use crate::model::objects::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass,
};
use crate::plugins::fixtures::{Cluster, PodBuilder, make_node, make_pod};

/// A cluster of two nodes in zones `a` and `b`, with a class whose volumes are made by hand
/// (`local`), one with a provisioner (`csi`) and one that binds at once (`now`).
pub(super) fn cluster() -> Cluster {
    let class = |name: &str, provisioner: &str, mode: &str| json!({"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode});
    Cluster::new(["a", "b"].map(|name| make_node(name).label("zone", name)))
        .with_listed::<StorageClass>(class(
            "local",
            "kubernetes.io/no-provisioner",
            "WaitForFirstConsumer",
        ))
        .with_listed::<StorageClass>(class("csi", "driver", "WaitForFirstConsumer"))
        .with_listed::<StorageClass>(class("now", "driver", "Immediate"))
}

/// A volume of the class `local`.
pub(super) fn volume(name: &str, size: &str, zone: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {"storageClassName": "local", "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "zone", "operator": "In", "values": [zone]}]}]}}},
        "status": {"phase": "Available"}})
}

pub(super) fn claim(name: &str, class: &str, size: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"),
            "resourceVersion": "1"},
        "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}},
            "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"}})
}

/// `claim` bound to a volume.
pub(super) fn bound(mut claim: Value, volume: &str) -> Value {
    claim["spec"]["volumeName"] = volume.into();
    claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    claim["status"]["phase"] = "Bound".into();
    claim
}

pub(super) fn pod(claims: &[&str]) -> PodBuilder {
    let volumes: Vec<_> = claims
        .iter()
        .map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}}))
        .collect();
    make_pod("p").spec(json!({"volumes": volumes}))
}

pub(super) fn plugin() -> VolumeBinding {
    VolumeBinding::new(&VolumeBindingArgs::default())
}

pub(super) fn pre_filter(cluster: &Cluster, state: &mut CycleState) -> PreFilterVerdict {
    plugin().pre_filter(state, &cluster.view(), &cluster.snapshot())
}

/// The reasons of every node; no reason is a fit.
pub(super) fn judge(cluster: &Cluster) -> Vec<Vec<Reason>> {
    let mut state = CycleState::default();
    assert_eq!(
        pre_filter(cluster, &mut state),
        PreFilterVerdict::Proceed,
        "the pod must pass"
    );
    let nodes = cluster.snapshot().nodes();
    nodes
        .map(
            |node| match plugin().filter(&state, &cluster.view(), &node) {
                FilterVerdict::Fits => Vec::new(),
                FilterVerdict::Rejected(rejection) => {
                    assert!(rejection.is_unresolvable());
                    rejection.reasons.to_vec()
                }
                FilterVerdict::Failed(error) => panic!("{error}"),
            },
        )
        .collect()
}

/// The volumes that are taken and the claims whose volumes are made, on node `a`.
pub(super) fn taken(cluster: &Cluster) -> (Vec<String>, Vec<String>) {
    let mut state = CycleState::default();
    pre_filter(cluster, &mut state);
    let volumes = state.read::<PodVolumes>().unwrap();
    let node = cluster.snapshot().node("a").unwrap();
    let Ok(Found::Volumes(found)) = volumes.on(&node) else {
        panic!("the node must do");
    };
    let name = |name: &Option<String>| name.clone().unwrap();
    let bindings = found.bindings.iter();
    let provisions = found.provisions.iter();
    (
        bindings
            .map(|binding| name(&binding.volume.metadata.name))
            .collect(),
        provisions
            .map(|provision| name(&provision.claim.metadata.name))
            .collect(),
    )
}
