//! Topology spread constraints.

use serde_json::{Value, json};

use crate::builders::{labeled, node, on, pod, with_labels};
use crate::verdict::decide;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const APP: [(&str, &str); 1] = [("app", "x")];

fn zoned(name: &str, zone: &str) -> Value {
    labeled(node(name, "4"), ZONE, zone)
}

/// A hard constraint over `key` for the pods of the app, with more fields.
fn constraint(key: &str, fields: Value) -> Value {
    let mut constraint = json!({"maxSkew": 1, "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "x"}}});
    for (key, value) in fields.as_object().unwrap() {
        constraint[key] = value.clone();
    }
    json!({"topologySpreadConstraints": [constraint]})
}

fn app(name: &str, spec: Value) -> Value {
    with_labels(pod(name, spec), &APP)
}

fn running(name: &str, node: &str) -> Value {
    on(app(name, json!({})), node)
}

// CASES C08; A3.24
#[test]
fn a_tainted_node_counts_as_an_empty_domain_unless_taints_are_honored() {
    let mut tainted = node("t1", "4");
    tainted["spec"]["taints"] = json!([{"key": "special", "effect": "NoSchedule"}]);
    let verdict = decide!([
        node("w1", "4"),
        node("w2", "4"),
        tainted,
        running("a", "w1"),
        running("b", "w2"),
        app("c", constraint(HOSTNAME, json!({}))),
        app(
            "honoring",
            constraint(HOSTNAME, json!({"nodeTaintsPolicy": "Honor"}))
        )
    ]);
    assert!(verdict.is_pending("c"));
    assert_eq!(verdict.feasible("honoring"), ["w1", "w2"]);
}

// CASES A3.24, A3.34
#[test]
fn a_cordoned_node_counts_as_an_empty_domain_unless_taints_are_honored() {
    let mut cordoned = node("t1", "4");
    cordoned["spec"] = json!({"unschedulable": true,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]});
    let verdict = decide!([
        node("w1", "4"),
        cordoned,
        running("a", "w1"),
        app("c", constraint(HOSTNAME, json!({}))),
        app(
            "honoring",
            constraint(HOSTNAME, json!({"nodeTaintsPolicy": "Honor"}))
        )
    ]);
    assert!(verdict.is_pending("c"));
    assert_eq!(verdict.node("honoring"), Some("w1"));
}

// CASES C09; A3.35, A3.36
#[test]
fn nodes_that_the_pod_rules_out_are_not_counted_unless_it_asks_for_them() {
    let pooled = |name: &str, zone: &str, pool: &str| labeled(zoned(name, zone), "pool", pool);
    let selecting = |policy: Value| {
        let mut spec = constraint(ZONE, policy);
        spec["nodeSelector"] = json!({"pool": "x"});
        spec
    };
    let verdict = decide!([
        pooled("n1", "a", "x"),
        pooled("n2", "b", "x"),
        pooled("n3", "c", "y"),
        running("a", "n1"),
        running("b", "n2"),
        app(
            "ignoring",
            selecting(json!({"nodeAffinityPolicy": "Ignore"}))
        ),
        app("c", selecting(json!({})))
    ]);
    assert_eq!(verdict.feasible("c"), ["n1", "n2"]);
    assert!(verdict.is_pending("ignoring"));
}

// CASES C11; A3.28, A3.29
#[test]
fn a_key_that_no_node_has_forbids_what_is_hard_and_leaves_what_is_soft() {
    let soft = json!({"whenUnsatisfiable": "ScheduleAnyway"});
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        app("hard", constraint("rack", json!({}))),
        app("soft", constraint("rack", soft))
    ]);
    assert!(verdict.is_pending("hard"));
    assert!(verdict.of("hard").rejections["n1"].unresolvable);
    assert_eq!(verdict.feasible("soft"), ["n1", "n2"]);
}

// CASES C12; A3.31
#[test]
fn an_absent_selector_counts_nothing() {
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        running("a", "n1"),
        running("b", "n1"),
        app("q", constraint(HOSTNAME, json!({"labelSelector": null})))
    ]);
    assert_eq!(verdict.feasible("q"), ["n1", "n2"]);
}

// CASES C12; A3.30: upstream 1.37.2 counts nobody, the API means everybody
#[test]
fn an_empty_selector_counts_as_upstream_counts() {
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        running("a", "n1"),
        running("b", "n1"),
        app("q", constraint(HOSTNAME, json!({"labelSelector": {}})))
    ]);
    assert_eq!(verdict.feasible("q"), ["n1", "n2"]);
}

// CASES A3.26
#[test]
fn a_key_of_the_pods_own_labels_counts_its_own_generation_only() {
    let of = |name: &str, hash: &str, spec: Value| {
        with_labels(app(name, spec), &[("pod-template-hash", hash)])
    };
    let keyed = || constraint(HOSTNAME, json!({"matchLabelKeys": ["pod-template-hash"]}));
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        on(of("old-1", "1", json!({})), "n1"),
        on(of("old-2", "1", json!({})), "n1"),
        on(of("new-1", "2", json!({})), "n2"),
        of("q", "2", keyed())
    ]);
    assert_eq!(verdict.feasible("q"), ["n1"]);
}

// CASES A3.27
#[test]
fn a_zone_without_room_holds_the_others_back() {
    let mut objects = vec![
        zoned("n1", "a"),
        zoned("n2", "b"),
        labeled(node("n3", "1m"), ZONE, "c"),
    ];
    for index in 0..4 {
        let mut spec = constraint(ZONE, json!({}));
        spec["containers"] = json!([{"name": "main", "image": "i",
            "resources": {"requests": {"cpu": "1"}}}]);
        objects.push(app(&format!("q{index}"), spec));
    }
    let verdict = decide!(objects);
    let placed = |pod| verdict.node(pod).is_some();
    assert_eq!(
        ["q0", "q1", "q2", "q3"].map(placed),
        [true, true, false, false]
    );
}

// CASES A3.33 (contested)
#[test]
fn a_pod_that_is_being_deleted_no_longer_counts() {
    let mut going = running("c", "n3");
    going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
    going["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let mut pinned = constraint(ZONE, json!({}));
    pinned["nodeSelector"] = json!({ZONE: "a"});
    pinned["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = "Ignore".into();
    let verdict = decide!([
        zoned("n1", "a"),
        zoned("n2", "b"),
        zoned("n3", "c"),
        running("a", "n1"),
        running("b", "n2"),
        going,
        app("q", pinned)
    ]);
    assert!(verdict.is_pending("q"));
}

// CASES A3.25: the kind
#[test]
fn with_fewer_domains_than_asked_for_the_emptiest_counts_as_empty() {
    let verdict = decide!([
        zoned("n1", "a"),
        zoned("n2", "b"),
        running("a", "n1"),
        running("b", "n2"),
        app("three", constraint(ZONE, json!({"minDomains": 3}))),
        app("two", constraint(ZONE, json!({"minDomains": 2})))
    ]);
    assert!(verdict.is_pending("three"));
    assert_eq!(verdict.feasible("two"), ["n1", "n2"]);
}

// CASES A3.29, A3.38
#[test]
fn what_is_soft_draws_pods_to_emptier_domains() {
    let soft = json!({"whenUnsatisfiable": "ScheduleAnyway"});
    let verdict = decide!([
        zoned("n1", "a"),
        zoned("n2", "b"),
        node("n0", "4"),
        running("a", "n1"),
        app("q", constraint(ZONE, soft))
    ]);
    assert_eq!(verdict.node("q"), Some("n2"));
    assert_eq!(verdict.feasible("q"), ["n0", "n1", "n2"]);
}

// CASES A3.37: replicas spread over nodes also where nodes have no zones
#[test]
fn pods_of_an_owner_spread_by_default_also_without_zones() {
    let replicas = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "rs", "uid": "rs"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}}});
    let owned = |name: &str| {
        let mut pod = app(name, json!({}));
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1",
            "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": true}]);
        pod
    };
    let mut taken = owned("taken");
    taken["spec"]["nodeName"] = "n1".into();
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        replicas,
        taken,
        owned("q")
    ]);
    assert_eq!(verdict.node("q"), Some("n2"));
}

// The API server gives a replication controller without a selector the labels of its template.
#[test]
fn pods_of_a_controller_without_a_selector_spread_by_its_template() {
    let controller = json!({"apiVersion": "v1", "kind": "ReplicationController",
        "metadata": {"name": "rc", "uid": "rc"},
        "spec": {"selector": {}, "template": {"metadata": {"labels": {"app": "x"}}}}});
    let owned = |name: &str| {
        let mut pod = app(name, json!({}));
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1",
            "kind": "ReplicationController", "name": "rc", "uid": "rc", "controller": true}]);
        pod
    };
    let mut taken = owned("taken");
    taken["spec"]["nodeName"] = "n1".into();
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        controller,
        taken,
        owned("q")
    ]);
    assert_eq!(verdict.node("q"), Some("n2"));
}
