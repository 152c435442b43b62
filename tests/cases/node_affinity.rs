//! Node selectors and node affinity.

use serde_json::{Value, json};

use crate::builders::{labeled, node, object, on, pod, requesting};
use crate::verdict::decide;

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

fn named(name: &str) -> Value {
    json!({"key": "metadata.name", "operator": "In", "values": [name]})
}

// CASES C20; A5.58, A5.60
#[test]
fn terms_are_alternatives_and_what_is_in_one_must_hold_together() {
    let foo = json!({"matchExpressions": [{"key": "foo", "operator": "In", "values": ["bar"]}]});
    let nodes = || {
        [
            node("node1", "4"),
            labeled(node("node2", "4"), "foo", "bar"),
        ]
    };
    let [node1, node2] = nodes();
    let verdict = decide!([
        node1,
        node2,
        pod(
            "q",
            required(json!([{"matchFields": [named("node1"), named("node2")]}, foo]))
        ),
        pod(
            "both",
            required(json!([{"matchFields": [named("node1")],
            "matchExpressions": foo["matchExpressions"]}]))
        ),
        pod(
            "pinned",
            required(json!([{"matchFields": [named("node1"), named("node2")]}]))
        ),
        pod("empty", required(json!([{}]))),
        pod("none", required(json!([])))
    ]);
    assert_eq!(verdict.node("q"), Some("node2"));
    for pod in ["both", "pinned", "empty", "none"] {
        assert!(verdict.is_pending(pod), "{pod}");
    }
}

// CASES C20, A5.59
#[test]
fn the_terms_of_a_volume_are_alternatives_too() {
    let zone = |zone: &str| json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]});
    let volume = object(
        "v1",
        "PersistentVolume",
        "pv",
        json!({
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "d.example", "volumeHandle": "h"},
            "claimRef": {"namespace": "default", "name": "c", "uid": "c-uid"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [zone("a"), zone("b")]}}},
        "status": {"phase": "Bound"}}),
    );
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "uid": "c-uid",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": "pv", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"}});
    let verdict = decide!([
        labeled(node("nb", "4"), "zone", "b"),
        labeled(node("nc", "4"), "zone", "c"),
        volume,
        claim,
        pod(
            "q",
            json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]})
        )
    ]);
    assert_eq!(verdict.feasible("q"), ["nb"]);
}

// CASES C29; A5.61
#[test]
fn of_a_pinned_pod_the_records_name_the_node_and_the_message_counts_all() {
    let mut objects: Vec<Value> = (1..=5).map(|n| node(&format!("n{n}"), "4")).collect();
    objects.push(on(pod("full", requesting(json!({"cpu": "4"}))), "n5"));
    let mut spec = required(json!([{"matchFields": [named("n5")]}]));
    spec["containers"] = requesting(json!({"cpu": "1"}))["containers"].take();
    objects.push(pod("q", spec));
    let verdict = decide!(objects);
    let record = verdict.of("q");
    assert!(
        record
            .message
            .starts_with("0/5 nodes are available: 1 Insufficient cpu")
    );
    assert_eq!(record.rejections["n5"].plugin, "NodeResourcesFit");
    assert!(record.rejections["n1"].plugin.is_empty());
}

// CASES A5.62: a pod pinned to a node that does not exist, and one that does
#[test]
fn a_pod_pinned_to_a_node_that_is_not_there_waits() {
    let verdict = decide!([
        node("n1", "4"),
        pod("q", required(json!([{"matchFields": [named("gone")]}]))),
        pod("r", required(json!([{"matchFields": [named("n1")]}])))
    ]);
    assert!(verdict.is_pending("q"));
    assert_eq!(verdict.node("r"), Some("n1"));
}

// CASES A5.63
#[test]
fn affinity_that_a_profile_adds_binds_pinned_pods_as_well() {
    let pool = json!({"key": "pool", "operator": "In", "values": ["x"]});
    let profile = object(
        "bayplan.dev/v1alpha1",
        "SchedulerProfile",
        "default",
        json!({
        "spec": {"schedulerName": "default-scheduler", "pluginConfig": {"nodeAffinity": {
            "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [pool]}]}}}}}}),
    );
    let verdict = decide!([
        profile,
        node("n1", "4"),
        labeled(node("n2", "4"), "pool", "x"),
        pod("daemon", required(json!([{"matchFields": [named("n1")]}]))),
        pod("q", json!({}))
    ]);
    assert!(verdict.is_pending("daemon"));
    assert_eq!(
        verdict.of("daemon").rejections["n1"].reasons,
        ["node(s) didn't match scheduler-enforced node affinity"]
    );
    assert_eq!(verdict.node("q"), Some("n2"));
}

#[test]
fn numbers_are_compared_as_numbers_and_texts_never_match() {
    let than = |operator: &str, value: &str| {
        required(json!([{"matchExpressions": [
        {"key": "cores", "operator": operator, "values": [value]}]}]))
    };
    let verdict = decide!([
        labeled(node("n10", "4"), "cores", "10"),
        labeled(node("n9", "4"), "cores", "9"),
        labeled(node("text", "4"), "cores", "x9"),
        node("unlabeled", "4"),
        pod("more", than("Gt", "9")),
        pod("less", than("Lt", "10"))
    ]);
    assert_eq!(verdict.feasible("more"), ["n10"]);
    assert_eq!(verdict.feasible("less"), ["n9"]);
}
