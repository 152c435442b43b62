//! Runs over small clusters: order, state between pods, profiles, and what is refused.

#![expect(
    clippy::needless_pass_by_value,
    reason = "json!(…) reads better without a &"
)]

mod preemption;

use serde_json::{Value, json};

use super::*;

/// The objects as documents of one file.
fn documents(objects: impl IntoIterator<Item = Value>) -> Vec<NamedDocument> {
    let document = |(index, value)| NamedDocument {
        file: "c.yaml".into(),
        index: index + 1,
        value,
    };
    objects.into_iter().enumerate().map(document).collect()
}

fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": 10}}})
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

fn profile(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
        "metadata": {"name": name}, "spec": spec})
}

fn decide(objects: impl IntoIterator<Item = Value>) -> Vec<(String, RecordOutcome)> {
    outcomes(objects, &SimulateOptions::default())
}

fn outcomes(
    objects: impl IntoIterator<Item = Value>,
    options: &SimulateOptions,
) -> Vec<(String, RecordOutcome)> {
    let records = run(documents(objects), options).unwrap();
    let pair = |record: DecisionRecord| (record.pod, record.outcome);
    records.into_iter().map(pair).collect()
}

fn refusal(objects: impl IntoIterator<Item = Value>, options: &SimulateOptions) -> String {
    run(documents(objects), options).unwrap_err().to_string()
}

fn pods(expected: &[(&str, RecordOutcome)]) -> Vec<(String, RecordOutcome)> {
    let pair = |(name, outcome): &(&str, _)| (format!("default/{name}"), *outcome);
    expected.iter().map(pair).collect()
}

use RecordOutcome::{Gated, Scheduled, Unschedulable};

#[test]
fn pods_go_by_priority_then_age_then_place_in_the_file() {
    let old = json!("2020-01-01T00:00:00Z");
    let gates = json!([{"name": "g"}]);
    let objects = [
        node("n", "3"),
        pod("third", "1"),
        with(pod("second", "1"), "/metadata/creationTimestamp", old),
        pod("late", "1"),
        with(pod("gated", "1"), "/spec/schedulingGates", gates),
        with(pod("first", "1"), "/spec/priority", json!(5)),
    ];
    assert_eq!(
        decide(objects),
        pods(&[
            ("first", Scheduled),
            ("second", Scheduled),
            ("third", Scheduled),
            ("late", Unschedulable),
            ("gated", Gated)
        ])
    );
}

#[test]
fn a_pod_that_was_refused_is_not_tried_again() {
    let objects = [
        node("n", "2"),
        with(pod("big", "4"), "/spec/priority", json!(1)),
        pod("a", "1"),
        pod("b", "1"),
    ];
    assert_eq!(
        decide(objects),
        pods(&[("big", Unschedulable), ("a", Scheduled), ("b", Scheduled)])
    );
}

#[test]
fn stateless_decides_each_pod_against_the_files_alone() {
    let objects = [node("n", "1"), pod("a", "1"), pod("b", "1"), pod("c", "2")];
    let options = SimulateOptions {
        stateless: true,
        ..SimulateOptions::default()
    };
    assert_eq!(
        outcomes(objects.clone(), &options),
        pods(&[("a", Scheduled), ("b", Scheduled), ("c", Unschedulable)])
    );
    assert_eq!(
        decide(objects),
        pods(&[("a", Scheduled), ("b", Unschedulable), ("c", Unschedulable)])
    );
}

#[test]
fn pods_that_ended_or_are_being_deleted_get_no_record() {
    let ended = json!({"phase": "Succeeded"});
    let going = json!("2024-01-01T00:00:00Z");
    let objects = [
        node("n", "1"),
        with(
            with(pod("ended", "1"), "/spec/nodeName", json!("n")),
            "/status",
            ended,
        ),
        with(pod("going", "1"), "/metadata/deletionTimestamp", going),
        pod("p", "1"),
    ];
    assert_eq!(decide(objects), pods(&[("p", Scheduled)]));
}

#[test]
fn without_nodes_the_record_says_so() {
    let records = run(documents([pod("p", "1")]), &SimulateOptions::default()).unwrap();
    assert_eq!(
        serde_json::to_value(&records).unwrap(),
        json!([{"pod": "default/p", "outcome": "unschedulable",
            "message": "no nodes available to schedule pods"}])
    );
}

#[test]
fn a_nominated_node_that_fits_is_the_only_one_looked_at() {
    let status = json!({"nominatedNodeName": "b"});
    let objects = [
        node("a", "1"),
        node("b", "1"),
        with(pod("p", "1"), "/status", status),
    ];
    let records = run(documents(objects), &SimulateOptions::default()).unwrap();
    assert_eq!(
        serde_json::to_value(&records).unwrap(),
        json!([{"pod": "default/p", "outcome": "scheduled", "node": "b", "feasible": ["b"],
            "best": ["b"], "nominated": "b"}])
    );
}

#[test]
fn ties_go_to_the_first_name_or_by_the_seed() {
    let nodes = ["d", "c", "b", "a"].map(|name| node(name, "1"));
    let chosen = |seed, tie_break| {
        let options = SimulateOptions {
            tie_break,
            seed,
            ..SimulateOptions::default()
        };
        let objects = nodes.clone().into_iter().chain([pod("p", "1")]);
        run(documents(objects), &options).unwrap()[0]
            .node
            .clone()
            .unwrap()
    };
    let by_seed: std::collections::BTreeSet<_> =
        (0..20).map(|seed| chosen(seed, TieBreak::Seeded)).collect();
    assert!(by_seed.len() > 1, "{by_seed:?}");
    assert!((0..20).all(|seed| chosen(seed, TieBreak::Name) == "a"));
}

#[test]
fn profiles_decide_for_the_pods_that_name_them_unless_one_is_chosen() {
    let objects = [
        node("n", "9"),
        profile("object", json!({"schedulerName": "name"})),
        with(pod("mine", "1"), "/spec/schedulerName", json!("name")),
        pod("foreign", "1"),
    ];
    assert_eq!(decide(objects.clone()), pods(&[("mine", Scheduled)]));
    for chosen in ["object", "name"] {
        let options = SimulateOptions {
            profile: Some(chosen.into()),
            ..SimulateOptions::default()
        };
        let expected = pods(&[("mine", Scheduled), ("foreign", Scheduled)]);
        assert_eq!(outcomes(objects.clone(), &options), expected);
    }
}

#[test]
fn a_profile_that_is_not_there_is_refused_with_those_that_are() {
    let options = SimulateOptions {
        profile: Some("x".into()),
        ..SimulateOptions::default()
    };
    let object = profile("object", json!({"schedulerName": "name"}));
    assert_eq!(
        refusal([object.clone()], &options),
        "the files hold no profile \"x\": use one of object"
    );
    assert!(refusal([], &options).contains("add a SchedulerProfile"));
    assert_eq!(
        refusal([object, pod("p", "1")], &SimulateOptions::default()),
        "no pending pod names one of the profiles in the files (name): pod \"default/p\" has the \
         schedulerName \"default-scheduler\"; correct it, or choose a profile for all pods with \
         --profile NAME"
    );
}

#[test]
fn refusals_name_file_document_and_remedy() {
    let refused = |object: Value| refusal([node("n", "1"), object], &SimulateOptions::default());
    assert_eq!(
        refused(node("n", "2")),
        "c.yaml, document 2: the Node \"n\" was given before (c.yaml, document 1); remove one of \
         the two"
    );
    assert_eq!(
        refused(with(pod("p", "1"), "/metadata", json!({}))),
        "c.yaml, document 2: the Pod has no metadata.name; give it a name"
    );
    let priority = with(pod("p", "1"), "/spec/priority", json!("high"));
    assert_eq!(
        refused(priority),
        "c.yaml, document 2: spec.priority of the Pod \"default/p\" cannot be read: invalid type: \
         string \"high\", expected i32; correct the field"
    );
    let bad_node = refused(node("m", "lots"));
    assert!(
        bad_node.starts_with("c.yaml, document 2: node \"m\" takes no pods"),
        "{bad_node}"
    );
    let bad_pod = refused(pod("p", "1 core"));
    assert!(
        bad_pod.starts_with("c.yaml, document 2: pod \"default/p\" cannot be scheduled"),
        "{bad_pod}"
    );
    let twice = [
        profile("a", json!({"schedulerName": "s"})),
        profile("b", json!({"schedulerName": "s"})),
    ];
    assert!(
        refusal(twice, &SimulateOptions::default())
            .starts_with("c.yaml, document 2: profile \"b\" is not valid: spec.schedulerName:")
    );
    let missing = profile(
        "a",
        json!({"schedulerName": "s",
        "plugins": {"filter": {"enabled": [{"name": "DynamicResources"}]}}}),
    );
    assert!(refused(missing).contains("spec.plugins.filter.enabled[0].name"));
}
