//! Taints, tolerations and cordons.

use serde_json::{Value, json};

use crate::builders::{node, pod};
use crate::verdict::decide;

fn tainted(name: &str, taints: Value) -> Value {
    let mut node = node(name, "4");
    node["spec"]["taints"] = taints;
    node
}

fn tolerating(toleration: Value) -> Value {
    json!({"tolerations": [toleration]})
}

// CASES A5.56, A5.57: the kind
#[test]
fn every_form_of_toleration_is_understood() {
    let verdict = decide!([
        tainted(
            "n1",
            json!([{"key": "k", "value": "v", "effect": "NoSchedule"}])
        ),
        pod("none", json!({})),
        pod(
            "equal",
            tolerating(json!({"key": "k", "value": "v", "effect": "NoSchedule"}))
        ),
        pod(
            "exists",
            tolerating(json!({"key": "k", "operator": "Exists"}))
        ),
        pod("everything", tolerating(json!({"operator": "Exists"}))),
        pod("value", tolerating(json!({"key": "k", "value": "w"}))),
        pod(
            "effect",
            tolerating(json!({"key": "k", "operator": "Exists", "effect": "NoExecute"}))
        ),
    ]);
    for pod in ["equal", "exists", "everything"] {
        assert_eq!(verdict.node(pod), Some("n1"), "{pod}");
    }
    for pod in ["none", "value", "effect"] {
        assert!(verdict.is_pending(pod), "{pod}");
        assert_eq!(
            verdict.of(pod).rejections["n1"].reasons,
            ["node(s) had untolerated taint(s)"]
        );
    }
}

// CASES A5.56
#[test]
fn comparing_tolerations_are_decided_as_upstream_decides_them() {
    let number = |operator: &str, value: &str| {
        tolerating(json!({"key": "level", "operator": operator, "value": value}))
    };
    decide!([
        tainted(
            "n1",
            json!([{"key": "level", "value": "950", "effect": "NoSchedule"}])
        ),
        pod("above", number("Gt", "900")),
        pod("below", number("Lt", "900")),
        pod("equal", number("Gt", "950")),
        pod("text", number("Gt", "many")),
        pod("zero", number("Gt", "0900")),
        pod("plus", number("Gt", "+900")),
    ]);
}

// CASES A5.57
#[test]
fn a_cordoned_node_takes_pods_that_tolerate_the_cordon_only() {
    let mut cordoned = node("n1", "4");
    cordoned["spec"]["unschedulable"] = true.into();
    let key = "node.kubernetes.io/unschedulable";
    let verdict = decide!([
        cordoned,
        pod("q", json!({})),
        pod(
            "daemon",
            tolerating(json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}))
        )
    ]);
    assert_eq!(
        verdict.of("q").rejections["n1"].reasons,
        ["node(s) were unschedulable"]
    );
    assert_eq!(verdict.node("daemon"), Some("n1"));
}

#[test]
fn soft_taints_are_avoided_and_never_forbid() {
    let soft = json!([{"key": "k", "effect": "PreferNoSchedule"}]);
    let both = [
        tainted("n1", soft.clone()),
        node("n2", "4"),
        pod("q", json!({})),
    ];
    assert_eq!(decide!(both).node("q"), Some("n2"));
    let one = [tainted("n1", soft), pod("q", json!({}))];
    assert_eq!(decide!(one, "-alone").node("q"), Some("n1"));
}
