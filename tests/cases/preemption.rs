//! Whom a pod may drive out, and whom it does.

use serde_json::{Value, json};

use crate::builders::{labeled, node, object, on, pod, requesting, with_labels};
use crate::verdict::{Verdict, decide};
use crate::volumes::{bound, using};

const ZONE: &str = "topology.kubernetes.io/zone";

fn ranked(name: &str, cpu: &str, priority: i32) -> Value {
    let mut spec = requesting(json!({"cpu": cpu}));
    spec["priority"] = priority.into();
    pod(name, spec)
}

/// A pod that a budget of its own protects.
fn guarded(pod: Value) -> Value {
    let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
    with_labels(pod, &[("guard", &name)])
}

/// The budget of a guarded pod.
fn budget(guard: &str, allowed: i32) -> Value {
    object(
        "policy/v1",
        "PodDisruptionBudget",
        guard,
        json!({
        "spec": {"selector": {"matchLabels": {"guard": guard}}},
        "status": {"disruptionsAllowed": allowed}}),
    )
}

fn plan<'a>(verdict: &'a Verdict, pod: &str) -> (Option<&'a str>, Vec<&'a str>) {
    let record = verdict.of(pod);
    let victims = record.victims.iter().map(String::as_str);
    (record.nominated.as_deref(), victims.collect())
}

// CASES C22; A6.66
#[test]
fn of_equal_violations_the_node_with_the_lower_highest_victim_is_taken() {
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        budget("low", 0),
        budget("mid", 0),
        on(ranked("high", "2", 1_000), "n1"),
        on(guarded(ranked("low", "2", 0)), "n1"),
        on(guarded(ranked("mid", "4", 100)), "n2"),
        ranked("q", "4", 10_000)
    ]);
    assert_eq!(plan(&verdict, "q"), (Some("n2"), vec!["default/mid"]));
}

// CASES C22, variant; A6.67 (contested)
#[test]
fn a_guarded_pod_that_can_stay_is_no_violation() {
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        budget("low", 0),
        budget("mid", 0),
        on(ranked("high", "3", 1_000), "n1"),
        on(guarded(ranked("low", "1", 0)), "n1"),
        on(guarded(ranked("mid", "4", 100)), "n2"),
        ranked("q", "3", 10_000)
    ]);
    assert_eq!(plan(&verdict, "q"), (Some("n1"), vec!["default/high"]));
}

// Upstream's sort is not stable; the oracle gives it this order.
#[test]
fn of_many_equal_victims_those_that_came_first_stay() {
    let mut objects = vec![node("n1", "4")];
    // Named against the order in which they come.
    for number in (0..16).rev() {
        let mut equal = on(ranked(&format!("p{number:02}"), "250m", 0), "n1");
        equal["status"]["startTime"] = "2024-01-01T02:30:00Z".into();
        objects.push(equal);
    }
    objects.push(ranked("q", "750m", 100));
    let verdict = decide!(objects);
    let victims = vec!["default/p00", "default/p01", "default/p02"];
    assert_eq!(plan(&verdict, "q"), (Some("n1"), victims));
}

// CASES C24; A7.86
#[test]
fn the_holder_of_a_claim_for_one_pod_goes_for_a_higher_priority_only() {
    let [claim, volume] = bound("c", "ReadWriteOncePod");
    let with_priority = |name: &str, priority: i32| {
        let mut spec = using(&["c"]);
        spec["priority"] = priority.into();
        pod(name, spec)
    };
    let cluster = |priority| {
        [
            node("n1", "4"),
            node("n2", "4"),
            claim.clone(),
            volume.clone(),
            on(with_priority("a", 0), "n1"),
            with_priority("b", priority),
        ]
    };
    assert_eq!(plan(&decide!(cluster(0)), "b"), (None, vec![]));
    let verdict = decide!(cluster(100), "-higher");
    assert_eq!(plan(&verdict, "b"), (Some("n1"), vec!["default/a"]));
}

// CASES A6.64, A6.65
#[test]
fn every_victim_takes_from_its_budget_and_who_goes_already_is_counted_already() {
    let guarded_by = |guard: &str, name: &str, node: &str| {
        with_labels(on(ranked(name, "2", 0), node), &[("guard", guard)])
    };
    let mut going = budget("going", 1);
    going["status"]["disruptedPods"] = json!({"c": "2024-01-01T00:00:00Z"});
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        budget("both", 1),
        going,
        guarded_by("both", "a", "n1"),
        guarded_by("both", "b", "n1"),
        guarded_by("going", "c", "n2"),
        guarded_by("going", "d", "n2"),
        ranked("q", "4", 10)
    ]);
    assert_eq!(
        plan(&verdict, "q"),
        (Some("n2"), vec!["default/c", "default/d"])
    );
}

// CASES A6.68: no more than needed
#[test]
fn the_most_important_pods_that_can_stay_do_stay() {
    let verdict = decide!([
        node("n1", "4"),
        on(ranked("a", "1", 1), "n1"),
        on(ranked("b", "1", 2), "n1"),
        on(ranked("c", "2", 3), "n1"),
        ranked("q", "2", 10)
    ]);
    assert_eq!(
        plan(&verdict, "q"),
        (Some("n1"), vec!["default/a", "default/b"])
    );
}

// CASES A6.69: the kind
#[test]
fn nobody_goes_for_a_pod_that_would_not_fit_even_so() {
    let mut tainted = node("tainted", "4");
    tainted["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
    let verdict = decide!([
        tainted,
        node("small", "1"),
        on(ranked("a", "1", 0), "tainted"),
        on(ranked("b", "1", 0), "small"),
        ranked("q", "2", 10)
    ]);
    assert_eq!(plan(&verdict, "q"), (None, vec![]));
}

#[test]
fn a_pod_that_never_preempts_waits() {
    let mut polite = ranked("q", "4", 10);
    polite["spec"]["preemptionPolicy"] = "Never".into();
    let verdict = decide!([node("n1", "4"), on(ranked("a", "4", 0), "n1"), polite]);
    assert_eq!(plan(&verdict, "q"), (None, vec![]));
    assert!(verdict.is_pending("q"));
}

// CASES A6.78, A6.79, A6.80: affinity in the dry run
#[test]
fn a_victim_that_the_pod_wants_to_be_near_is_of_no_use() {
    let terms = |kind: &str| {
        json!({kind: {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}]}})
    };
    let victim =
        |name: &str, node: &str| with_labels(on(ranked(name, "4", 0), node), &[("app", "x")]);
    let wanting = |name: &str, kind: &str| {
        let mut pod = ranked(name, "4", 10);
        pod["spec"]["affinity"] = terms(kind);
        pod
    };
    let zoned = || labeled(node("n1", "4"), ZONE, "a");
    let near = [zoned(), victim("a", "n1"), wanting("q", "podAffinity")];
    assert_eq!(plan(&decide!(near), "q"), (None, vec![]));
    let apart = [zoned(), victim("a", "n1"), wanting("q", "podAntiAffinity")];
    assert_eq!(
        plan(&decide!(apart, "-apart"), "q"),
        (Some("n1"), vec!["default/a"])
    );
    // The obstacle is on another node of the zone: nobody is driven out there.
    let across = [
        zoned(),
        labeled(node("n2", "1"), ZONE, "a"),
        with_labels(on(ranked("a", "1", 0), "n2"), &[("app", "x")]),
        wanting("q", "podAntiAffinity"),
    ];
    assert_eq!(plan(&decide!(across, "-across"), "q"), (None, vec![]));
}

// CASES A3.40: preemption with spread constraints
#[test]
fn a_victim_leaves_its_domain() {
    let mut spread = ranked("q", "1", 10);
    spread["spec"]["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "x"}}}]);
    let verdict = decide!([
        labeled(node("n1", "4"), ZONE, "a"),
        labeled(node("n2", "0"), ZONE, "b"),
        with_labels(on(ranked("a", "1", 0), "n1"), &[("app", "x")]),
        with_labels(spread, &[("app", "x")])
    ]);
    assert_eq!(plan(&verdict, "q"), (Some("n1"), vec!["default/a"]));
}

// CASES A16.174: a budget with a wrong selector guards nobody
#[test]
fn a_budget_with_a_wrong_selector_guards_nobody() {
    let mut wrong = budget("a", 0);
    wrong["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
    let verdict = decide!([
        node("n1", "4"),
        node("n2", "4"),
        wrong,
        budget("b", 0),
        on(guarded(ranked("b", "4", 0)), "n1"),
        on(guarded(ranked("a", "4", 0)), "n2"),
        ranked("q", "4", 10)
    ]);
    assert_eq!(plan(&verdict, "q"), (Some("n2"), vec!["default/a"]));
}
