//! Extenders have a say in preemptions.

use super::*;
use crate::engine::framework::extender::{Candidates, Victims};

fn preempting(ignorable: bool) -> serde_json::Value {
    json!([{"urlPrefix": "http://outside", "preemptVerb": "preempt", "ignorable": ignorable}])
}

/// The nodes `a` and `b` are full; `a` would be chosen, since its pod has the lower priority.
fn scene(ignorable: bool) -> Driver {
    let mut driver = Driver::new([small("a"), small("b")]);
    driver.spec = json!({"schedulerName": "bayplan"});
    let mut driver = driver.with_probes(&[], &preempting(ignorable));
    for (name, node, priority) in [("low", "a", 1), ("lower", "a", 0), ("high", "b", 2)] {
        let cpu = if node == "a" { "500m" } else { "1" };
        driver.pod(
            &make_pod(name)
                .on(node)
                .priority(priority)
                .request("cpu", cpu),
        );
    }
    driver.pod(&make_pod("p").priority(10).request("cpu", "1"));
    driver
}

fn candidates(told: &[(&str, &[&str])]) -> Candidates {
    let told = told.iter().map(|(node, pods)| {
        let uid = |name: &&str| PodUid::of(&make_pod(name).object());
        let pods = pods.iter().map(uid).collect();
        let victims = Victims {
            pods,
            violations: 0,
        };
        (Arc::from(*node), victims)
    });
    told.collect()
}

/// What becomes of the pod when the extender answers so: its nomination and its message.
fn decided(driver: &mut Driver, answer: Answer) -> (Option<String>, String) {
    assert_eq!(driver.outcome(), Outcome::Suspended);
    let (id, question) = driver.question();
    let Subject::Preempt {
        candidates: offered,
        names,
    } = &question.subject
    else {
        panic!("{question:?}");
    };
    let wanted = candidates(&[("a", &["low", "lower"]), ("b", &["high"])]);
    assert_eq!(*offered, wanted);
    assert_eq!(names.len(), 3);
    driver.complete(id, EffectOutcome::Answered(answer));
    let decision = driver.schedule().unwrap();
    let Outcome::Unschedulable { message } = decision.outcome else {
        panic!("{decision:?}");
    };
    let nominated = decision.nominated_node.map(|node| node.to_string());
    let message = message.replace("0/2 nodes are available: 2 Insufficient cpu. ", "");
    (nominated, message)
}

#[test]
fn only_what_the_extender_leaves_is_a_candidate() {
    let answer = Answer::Preempted(candidates(&[("b", &["high"])]));
    let (nominated, message) = decided(&mut scene(false), answer);
    assert_eq!(nominated.as_deref(), Some("b"));
    assert_eq!(
        message,
        "preemption: found a potential placement for pod on node b, preempting 1 victims"
    );
}

#[test]
fn the_extender_names_the_victims() {
    let answer = Answer::Preempted(candidates(&[("a", &["low"])]));
    let (nominated, message) = decided(&mut scene(false), answer);
    assert_eq!(nominated.as_deref(), Some("a"));
    assert!(message.ends_with("preempting 1 victims"), "{message}");
}

#[test]
fn nothing_may_be_left() {
    for earlier in [None, Some("b")] {
        let mut driver = scene(false);
        let pod = make_pod("p").priority(10).request("cpu", "1");
        driver.pod(&pod.status(json!({"nominatedNodeName": earlier})));
        let (nominated, message) = decided(&mut driver, Answer::Preempted(Candidates::new()));
        assert_eq!(
            (nominated, &*message),
            (None, "preemption: no candidate node for preemption")
        );
    }
}

#[test]
fn errors_end_the_preemption_in_upstreams_words_unless_they_may_be_ignored() {
    for (answer, wanted) in [
        (Answer::Failed("down".to_owned()), "preemption: down"),
        (
            Answer::Preempted(candidates(&[("b", &[])])),
            "preemption: expected at least one victim pod on node \"b\"",
        ),
        (
            Answer::Preempted(candidates(&[("x", &["high"])])),
            "preemption: nodeinfo not found for node name \"x\"",
        ),
        (
            Answer::Preempted(candidates(&[("b", &["low"])])),
            "preemption: extender: http://outside claims to preempt pod (UID: &{uid-low}) on \
             node: b, but the pod is not found on that node",
        ),
    ] {
        let (nominated, message) = decided(&mut scene(false), answer);
        assert_eq!((nominated, &*message), (None, wanted));
    }
    let down = Answer::Failed("down".to_owned());
    let (nominated, _) = decided(&mut scene(true), down);
    assert_eq!(nominated.as_deref(), Some("a"));
    let some = candidates(&[("a", &[]), ("b", &["high"])]);
    let (nominated, _) = decided(&mut scene(true), Answer::Preempted(some));
    assert_eq!(nominated.as_deref(), Some("b"));
}

#[test]
fn a_node_that_changed_meanwhile_is_left_for_the_next_attempt() {
    let mut driver = scene(false);
    assert_eq!(driver.outcome(), Outcome::Suspended);
    let (id, _) = driver.question();
    driver.delete(&make_pod("lower").on("a"));
    let both = candidates(&[("a", &["low", "lower"]), ("b", &["high"])]);
    driver.complete(id, EffectOutcome::Answered(Answer::Preempted(both)));
    let decision = driver.schedule().unwrap();
    assert_eq!(decision.nominated_node.as_deref(), Some("b"));
}
