//! What preemption and nominations mean for the pods of a run.

use super::*;

fn ranked(name: &str, cpu: &str, priority: i32) -> Value {
    with(pod(name, cpu), "/spec/priority", json!(priority))
}

fn running(name: &str, priority: i32) -> Value {
    with(ranked(name, "1", priority), "/spec/nodeName", json!("n"))
}

fn nominated(pod: Value) -> Value {
    with(pod, "/status", json!({"nominatedNodeName": "n"}))
}

fn records(
    objects: impl IntoIterator<Item = Value>,
    stateless: bool,
) -> Vec<(String, Option<String>, Vec<String>)> {
    let options = SimulateOptions {
        stateless,
        ..SimulateOptions::default()
    };
    let records = run(documents(objects), &options).unwrap();
    let parts = |record: DecisionRecord| {
        let node = record.node.or(record.nominated);
        (record.pod, node, record.victims.into_iter().collect())
    };
    records.into_iter().map(parts).collect()
}

fn record(pod: &str, node: &str, victims: &[&str]) -> (String, Option<String>, Vec<String>) {
    let node = (!node.is_empty()).then(|| node.to_owned());
    let victims = victims.iter().map(|name| format!("default/{name}"));
    (format!("default/{pod}"), node, victims.collect())
}

#[test]
fn victims_stay_for_the_pods_after_it_which_see_the_nomination() {
    let objects = [
        node("n", "2"),
        running("a", 1),
        running("b", 2),
        ranked("first", "1", 10),
        ranked("second", "1", 9),
    ];
    // The second finds the room of both gone: one is promised, and only the other may go for it.
    let expected = [
        record("first", "n", &["a"]),
        record("second", "n", &["a", "b"]),
    ];
    assert_eq!(records(objects.clone(), false), expected);
    let alone = [record("first", "n", &["a"]), record("second", "n", &["a"])];
    assert_eq!(records(objects, true), alone);
}

#[test]
fn a_victim_that_is_on_its_way_out_is_not_evicted_again() {
    let going = json!("2024-01-01T00:00:00Z");
    let objects = [
        node("n", "2"),
        with(running("going", 1), "/metadata/deletionTimestamp", going),
        running("b", 2),
        ranked("p", "2", 10),
    ];
    assert_eq!(records(objects, false), [record("p", "n", &["b"])]);
}

#[test]
fn a_lesser_pod_loses_its_nomination_for_the_node_before_its_turn() {
    let gated = with(
        nominated(ranked("gated", "1", 3)),
        "/spec/schedulingGates",
        json!([{"name": "later"}]),
    );
    let objects = [
        node("n", "1"),
        running("a", 1),
        ranked("p", "1", 10),
        with(
            nominated(ranked("lesser", "1", 4)),
            "/spec/preemptionPolicy",
            json!("Never"),
        ),
        gated,
    ];
    let expected = [
        record("p", "n", &["a"]),
        record("lesser", "", &[]),
        record("gated", "", &[]),
    ];
    assert_eq!(records(objects, false), expected);
}

#[test]
fn nominations_of_the_files_count_for_every_pod_of_a_stateless_run() {
    let objects = [
        node("n", "1"),
        nominated(ranked("promised", "1", 5)),
        ranked("same", "1", 5),
        ranked("higher", "1", 6),
    ];
    let expected = [
        record("higher", "n", &[]),
        record("promised", "n", &[]),
        record("same", "", &[]),
    ];
    assert_eq!(records(objects, true), expected);
}

#[test]
fn a_pod_that_is_being_deleted_holds_the_room_it_was_nominated_for() {
    let going = with(
        nominated(ranked("going", "1", 5)),
        "/metadata/deletionTimestamp",
        json!("2024-01-01T00:00:00Z"),
    );
    let objects = [node("n", "1"), going, ranked("p", "1", 1)];
    for stateless in [false, true] {
        let records = records(objects.clone(), stateless);
        assert_eq!(records, [record("p", "", &[])]);
    }
}
