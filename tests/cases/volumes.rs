//! Volumes: who may share them, how many a node takes, where they are.

use serde_json::{Value, json};

use crate::builders::{labeled, node, object, on, pod};
use crate::verdict::decide;

/// A bound claim, and its volume of the driver `d.example`.
pub(crate) fn bound(name: &str, access_mode: &str) -> [Value; 2] {
    let uid = format!("uid-of-{name}");
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "uid": uid,
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": format!("pv-{name}"), "accessModes": [access_mode],
            "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"}});
    let volume = object(
        "v1",
        "PersistentVolume",
        &format!("pv-{name}"),
        json!({
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": [access_mode],
            "csi": {"driver": "d.example", "volumeHandle": format!("h-{name}")},
            "claimRef": {"namespace": "default", "name": name, "uid": uid}},
        "status": {"phase": "Bound"}}),
    );
    [claim, volume]
}

/// A pod with volumes from claims.
pub(crate) fn using(claims: &[&str]) -> Value {
    let volumes = claims
        .iter()
        .map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}}));
    json!({"volumes": volumes.collect::<Vec<_>>()})
}

fn limited(name: &str, count: u32) -> Value {
    object(
        "storage.k8s.io/v1",
        "CSINode",
        name,
        json!({"spec": {"drivers": [
        {"name": "d.example", "nodeID": name, "allocatable": {"count": count}}]}}),
    )
}

/// A class of `d.example` that waits for the first pod.
fn late() -> Value {
    object(
        "storage.k8s.io/v1",
        "StorageClass",
        "late",
        json!({"provisioner": "d.example",
        "volumeBindingMode": "WaitForFirstConsumer"}),
    )
}

fn unbound(name: &str) -> Value {
    object(
        "v1",
        "PersistentVolumeClaim",
        name,
        json!({
        "spec": {"storageClassName": "late", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}),
    )
}

// CASES C24; A7.86: of the same priority
#[test]
fn a_claim_for_one_pod_is_not_shared() {
    let [claim, volume] = bound("c", "ReadWriteOncePod");
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        claim,
        volume,
        on(pod("a", using(&["c"])), "n1"),
        pod("b", using(&["c"]))
    ]);
    let record = verdict.of("b");
    assert_eq!(
        record.rejections["n1"].reasons,
        [
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
        ]
    );
    assert_eq!(record.rejections.len(), 2);
}

// CASES A7.87: upstream lets it pass
#[test]
fn a_claim_for_one_node_does_not_keep_the_second_pod_from_another_node() {
    let [claim, volume] = bound("c", "ReadWriteOnce");
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        claim,
        volume,
        on(pod("a", using(&["c"])), "n1"),
        pod("b", using(&["c"]))
    ]);
    assert_eq!(verdict.feasible("b"), ["n1", "n2"]);
}

// CASES C24; A7.84, A7.85
#[test]
fn a_node_takes_as_many_different_volumes_as_its_driver_says() {
    let mut objects = vec![
        node("n1", "4"),
        node("n2", "4"),
        limited("n1", 1),
        limited("n2", 2),
    ];
    for claim in ["attached", "other"] {
        objects.extend(bound(claim, "ReadWriteMany"));
    }
    objects.extend([
        on(pod("a", using(&["attached"])), "n1"),
        pod("different", using(&["other"])),
        pod(
            "same",
            json!({"volumes": using(&["attached"])["volumes"],
            "nodeSelector": {"kubernetes.io/hostname": "n1"}}),
        ),
    ]);
    let verdict = decide!(objects);
    assert_eq!(verdict.feasible("different"), ["n2"]);
    assert_eq!(
        verdict.of("different").rejections["n1"].reasons,
        ["node(s) exceed max volume count"]
    );
    assert_eq!(verdict.node("same"), Some("n1"));
}

// CASES A7.88: the kind
#[test]
fn all_volumes_of_a_pod_count_together() {
    let mut objects = vec![node("n1", "4"), limited("n1", 2)];
    for claim in ["a", "b", "c"] {
        objects.extend(bound(claim, "ReadWriteOnce"));
    }
    objects.extend([
        pod("three", using(&["a", "b", "c"])),
        pod("two", using(&["a", "b"])),
    ]);
    let verdict = decide!(objects);
    assert!(verdict.is_pending("three"));
    assert_eq!(verdict.node("two"), Some("n1"));
}

// CASES A7.82: a limit that is not published does not limit
#[test]
fn a_driver_that_is_not_there_yet_sets_no_limit() {
    let [claim, volume] = bound("c", "ReadWriteOnce");
    let verdict = decide!([
        node("n1", "4"),
        object(
            "storage.k8s.io/v1",
            "CSINode",
            "n1",
            json!({"spec": {"drivers": []}})
        ),
        claim,
        volume,
        pod("q", using(&["c"]))
    ]);
    assert_eq!(verdict.node("q"), Some("n1"));
}

// CASES A7.91
#[test]
fn volumes_in_two_zones_leave_no_node() {
    let mut objects = vec![
        labeled(node("na", "4"), "topology.kubernetes.io/zone", "a"),
        labeled(node("nb", "4"), "topology.kubernetes.io/zone", "b"),
    ];
    for (claim, zone) in [("ca", "a"), ("cb", "b")] {
        let [claim, mut volume] = bound(claim, "ReadWriteOnce");
        volume["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": zone});
        objects.extend([claim, volume]);
    }
    objects.extend([
        pod("both", using(&["ca", "cb"])),
        pod("one", using(&["cb"])),
    ]);
    let verdict = decide!(objects);
    assert!(
        verdict
            .of("both")
            .message
            .contains("2 node(s) had no available volume zone")
    );
    assert_eq!(verdict.node("one"), Some("nb"));
}

// CASES A7.90: the kind
#[test]
fn a_claim_that_waits_for_the_pod_does_not_hold_it_up() {
    let verdict = decide!([
        node("n1", "4"),
        late(),
        unbound("c"),
        pod("q", using(&["c"]))
    ]);
    assert_eq!(verdict.node("q"), Some("n1"));
}

fn capacity(fields: Value) -> [Value; 2] {
    let driver = object(
        "storage.k8s.io/v1",
        "CSIDriver",
        "d.example",
        json!({"spec": {"storageCapacity": true}}),
    );
    let mut capacity = object(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        "of-n1",
        json!({
        "storageClassName": "late",
        "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "n1"}}}),
    );
    for (key, value) in fields.as_object().unwrap() {
        capacity[key] = value.clone();
    }
    [driver, capacity]
}

// CASES A7.92: the kind
#[test]
fn a_node_without_room_for_the_volume_is_left_out() {
    let [driver, capacity] = capacity(json!({"capacity": "500Mi"}));
    let verdict = decide!([
        node("n1", "4"),
        late(),
        unbound("c"),
        driver,
        capacity,
        pod("q", using(&["c"]))
    ]);
    assert_eq!(
        verdict.of("q").rejections["n1"].reasons,
        ["node(s) did not have enough free storage"]
    );
}

// CASES E: upstream's scores crash on such an object, so its records cannot be asked for
#[test]
fn a_largest_size_without_a_capacity_is_enough_room_and_no_crash() {
    let [driver, capacity] = capacity(json!({"maximumVolumeSize": "10Gi"}));
    let verdict = crate::verdict::simulated(&[
        node("n1", "4"),
        node("n2", "4"),
        late(),
        unbound("c"),
        driver,
        capacity,
        pod("q", using(&["c"])),
    ]);
    assert_eq!(verdict.unwrap().feasible("q"), ["n1"]);
}
