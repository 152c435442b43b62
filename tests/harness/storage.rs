//! Storage classes, volumes, claims and what drivers say, as JSON.

use serde_json::{Value, json};

/// The provisioner of classes whose volumes somebody else makes.
pub(crate) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// A class with the binding mode `WaitForFirstConsumer` or `Immediate`.
pub(crate) fn class(name: &str, provisioner: &str, mode: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode})
}

/// A claim in the namespace `default`; an access mode is a word like `ReadWriteOnce`.
pub(crate) fn claim(name: &str, class: &str, size: &str, access_mode: &str) -> Value {
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim"});
    claim["metadata"] = json!({"name": name, "namespace": "default"});
    claim["spec"] = claim_spec(class, size, access_mode);
    claim
}

/// The spec of a claim.
pub(crate) fn claim_spec(class: &str, size: &str, access_mode: &str) -> Value {
    json!({"storageClassName": class, "accessModes": [access_mode],
        "resources": {"requests": {"storage": size}}})
}

/// A volume on the disk of one node.
pub(crate) fn local_volume(name: &str, class: &str, size: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"storageClassName": class, "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/mnt/disk"}, "nodeAffinity": only_on(node)}})
}

/// The node affinity of a volume that can be used on one node.
pub(crate) fn only_on(node: &str) -> Value {
    json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}})
}

/// A driver that publishes how much storage is free, or does not.
pub(crate) fn driver(name: &str, storage_capacity: bool) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
        "spec": {"storageCapacity": storage_capacity}})
}

/// A node where a driver runs, which can attach `limit` volumes.
pub(crate) fn csi_node(node: &str, driver: &str, limit: u32) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
        "spec": {"drivers": [{"name": driver, "nodeID": node,
            "topologyKeys": ["kubernetes.io/hostname"], "allocatable": {"count": limit}}]}})
}

/// What is free on a node for a class.
pub(crate) fn capacity(node: &str, class: &str, free: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": format!("{class}-{node}"), "namespace": "default"},
        "storageClassName": class, "capacity": free,
        "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": node}}})
}
