//! Affinity and anti-affinity between pods.

use serde_json::{Value, json};

use crate::builders::{labeled, node, object, on, pod, with_labels};
use crate::verdict::decide;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

fn zoned(name: &str, zone: &str) -> Value {
    labeled(node(name, "4"), ZONE, zone)
}

fn term(key: &str, labels: Value) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": labels}})
}

fn required(kind: &str, terms: Value) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
}

fn near(terms: Value) -> Value {
    required("podAffinity", terms)
}

fn apart(terms: Value) -> Value {
    required("podAntiAffinity", terms)
}

// CASES C15; A4.43, A4.45
#[test]
fn the_first_pod_of_a_kind_goes_where_the_topology_key_is() {
    let to_db = || near(json!([term(ZONE, json!({"app": "db"}))]));
    let verdict = decide!([
        node("n0", "4"),
        zoned("n1", "a"),
        with_labels(pod("web", to_db()), &[("app", "web")]),
        with_labels(pod("q", to_db()), &[("app", "db")])
    ]);
    assert!(verdict.is_pending("web"));
    assert_eq!(verdict.node("q"), Some("n1"));
}

// CASES C16; A4.42
#[test]
fn one_pod_must_match_all_terms_for_the_new_one_not_to_be_the_first() {
    let terms = json!([
        term(ZONE, json!({"app": "db"})),
        term(ZONE, json!({"tier": "be"}))
    ]);
    let verdict = decide!([
        zoned("n1", "a"),
        zoned("n2", "b"),
        on(with_labels(pod("x", json!({})), &[("app", "db")]), "n1"),
        with_labels(pod("q", near(terms)), &[("app", "db"), ("tier", "be")])
    ]);
    assert_eq!(verdict.feasible("q"), ["n1", "n2"]);
}

// CASES C16: the kind, with a pod that matches all terms
#[test]
fn a_pod_that_matches_all_terms_binds_the_next_one_to_its_domain() {
    let terms = json!([
        term(ZONE, json!({"app": "db"})),
        term(ZONE, json!({"tier": "be"}))
    ]);
    let labels = [("app", "db"), ("tier", "be")];
    let verdict = decide!([
        zoned("n1", "a"),
        zoned("n2", "b"),
        zoned("n3", "b"),
        on(with_labels(pod("x", json!({})), &labels), "n2"),
        with_labels(pod("q", near(terms)), &labels)
    ]);
    assert_eq!(verdict.feasible("q"), ["n2", "n3"]);
}

// CASES C18; A4.46
#[test]
fn running_pods_repel_by_their_own_anti_affinity() {
    let repelling = || apart(json!([term(HOSTNAME, json!({"custom-app": "aj"}))]));
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        on(pod("a", repelling()), "n1"),
        on(pod("b", repelling()), "n2"),
        with_labels(pod("q", json!({})), &[("custom-app", "aj")]),
        pod("other", json!({}))
    ]);
    assert!(verdict.is_pending("q"));
    assert!(
        verdict
            .of("q")
            .message
            .contains("2 node(s) didn't satisfy existing pods anti-affinity rules")
    );
    assert!(verdict.node("other").is_some());
}

// CASES A4.44 (contested; upstream counts domains only)
#[test]
fn a_match_on_a_node_without_the_key_leaves_the_next_pod_the_first() {
    let labels = [("app", "db")];
    let verdict = decide!([
        node("n0", "4"),
        zoned("n1", "a"),
        on(with_labels(pod("x", json!({})), &labels), "n0"),
        with_labels(
            pod("q", near(json!([term(ZONE, json!({"app": "db"}))]))),
            &labels
        )
    ]);
    assert_eq!(verdict.node("q"), Some("n1"));
}

// CASES A4.49
#[test]
fn anti_affinity_is_not_enforced_on_nodes_without_the_key() {
    let labels = [("app", "db")];
    let repelling = || apart(json!([term(ZONE, json!({"app": "db"}))]));
    let verdict = decide!([
        node("n0", "4"),
        on(with_labels(pod("x", repelling()), &labels), "n0"),
        with_labels(pod("q", repelling()), &labels)
    ]);
    assert_eq!(verdict.node("q"), Some("n0"));
}

fn elsewhere(mut pod: Value) -> Value {
    pod["metadata"]["namespace"] = "elsewhere".into();
    pod
}

// CASES A4.47, A4.48
#[test]
fn namespaces_of_a_term_are_its_own_the_named_and_the_selected_ones() {
    let db = || json!({"app": "db"});
    let scoped = |fields: Value| {
        let mut term = term(HOSTNAME, db());
        for (key, value) in fields.as_object().unwrap() {
            term[key] = value.clone();
        }
        apart(json!([term]))
    };
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        object("v1", "Namespace", "elsewhere", json!({})),
        elsewhere(on(with_labels(pod("x", json!({})), &[("app", "db")]), "n1")),
        pod("own", scoped(json!({}))),
        pod("named", scoped(json!({"namespaces": ["elsewhere"]}))),
        pod("all", scoped(json!({"namespaceSelector": {}}))),
        pod(
            "labeled",
            scoped(json!({"namespaceSelector":
            {"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}}))
        ),
        pod("null", scoped(json!({"namespaceSelector": null}))),
        pod(
            "others",
            scoped(json!({"namespaceSelector": {"matchLabels": {"team": "x"}}}))
        )
    ]);
    for pod in ["own", "null", "others"] {
        assert_eq!(verdict.feasible(pod), ["n1", "n2"], "{pod}");
    }
    for pod in ["named", "all", "labeled"] {
        assert_eq!(verdict.feasible(pod), ["n2"], "{pod}");
    }
}

// CASES A4.50, A3.26: what the API server merges when a pod is created
#[test]
fn keys_of_the_pods_own_labels_are_merged_into_the_selector() {
    let keyed = |field: &str| {
        let mut term = term(HOSTNAME, json!({"app": "db"}));
        term[field] = json!(["hash"]);
        with_labels(
            pod(
                if field == "matchLabelKeys" {
                    "same"
                } else {
                    "other"
                },
                apart(json!([term])),
            ),
            &[("app", "db"), ("hash", "1")],
        )
    };
    let run = |name: &str, hash: &str, node: &str| {
        on(
            with_labels(pod(name, json!({})), &[("app", "db"), ("hash", hash)]),
            node,
        )
    };
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        run("a", "1", "n1"),
        run("b", "2", "n2"),
        keyed("matchLabelKeys")
    ]);
    assert_eq!(verdict.feasible("same"), ["n2"]);
    let verdict = decide!(
        [
            node("n1", "4"),
            node("n2", "4"),
            run("a", "1", "n1"),
            run("b", "2", "n2"),
            keyed("mismatchLabelKeys")
        ],
        "-mismatch"
    );
    assert_eq!(verdict.feasible("other"), ["n1"]);
}

// CASES A3.30, A4: an empty selector means every pod, an absent one none
#[test]
fn an_empty_selector_repels_every_pod_and_an_absent_one_none() {
    let with =
        |selector: Value| apart(json!([{"topologyKey": HOSTNAME, "labelSelector": selector}]));
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        on(pod("x", json!({})), "n1"),
        pod("empty", with(json!({}))),
        pod("absent", with(Value::Null))
    ]);
    assert_eq!(verdict.feasible("empty"), ["n2"]);
    // It is repelled in its turn by the pod before it.
    assert_eq!(verdict.feasible("absent"), ["n1"]);
}
