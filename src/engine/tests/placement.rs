//! Which node is chosen, and what is said when none is.

use super::*;

#[test]
fn the_emptier_node_wins_and_the_reason_is_counted_when_none_is_left() {
    let node =
        |name| make_node(name).allocatable(&[("cpu", "2"), ("memory", "8Gi"), ("pods", "9")]);
    let mut driver = Driver::new([node("a"), node("b")]);
    let mut nodes = Vec::new();
    for i in 0..4 {
        driver.pod(&make_pod(&format!("p{i}")).request("cpu", "1"));
        nodes.push(driver.placed());
    }
    nodes.sort();
    assert_eq!(nodes, ["a", "a", "b", "b"]);
    driver.pod(&make_pod("late").request("cpu", "1"));
    assert_eq!(
        driver.message(),
        "0/2 nodes are available: 2 Insufficient cpu."
    );
    driver.pod(
        &make_pod("huge")
            .request("cpu", "3")
            .request("memory", "9Gi"),
    );
    assert_eq!(
        driver.message(),
        "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory."
    );
}

#[test]
fn without_nodes_the_message_says_so() {
    let mut driver = Driver::new([]);
    driver.pod(&make_pod("p"));
    assert_eq!(driver.message(), "no nodes available to schedule pods");
}

#[test]
fn nodes_that_a_pod_pinned_by_name_did_not_mean_are_counted_apart() {
    let mut driver =
        Driver::new(["a", "b", "c"].map(|name| make_node(name).taint("k", "", "NoSchedule")));
    let pinned = make_pod("p").spec(json!({"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]}}}}));
    driver.pod(&pinned);
    assert_eq!(
        driver.message(),
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy \
         plugin(s) [NodeAffinity]."
    );
}

#[test]
fn a_nominated_node_that_fits_is_taken_without_looking_further() {
    let mut driver = Driver::new(["a", "b", "c"].map(make_node));
    driver.pod(&make_pod("p").status(json!({"nominatedNodeName": "b"})));
    let decision = driver.schedule().unwrap();
    assert_eq!(decision.outcome, Outcome::Scheduled { node: "b".into() });
    assert_eq!(decision.feasible_count, 1);
}

#[test]
fn the_same_events_and_seed_give_the_same_decisions() {
    let run = |names: &[&str]| {
        let mut driver = Driver::new(names.iter().map(|name| make_node(name)));
        (0..20)
            .map(|i| {
                driver.pod(&make_pod(&format!("p{i}")));
                driver.placed()
            })
            .collect::<Vec<_>>()
    };
    let nodes = run(&["a", "b", "c", "d"]);
    assert_eq!(nodes, run(&["d", "b", "a", "c"]));
    assert!(
        nodes
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len()
            > 2,
        "{nodes:?}"
    );
}

#[test]
fn higher_priority_goes_first() {
    let mut driver = Driver::new([make_node("n")]);
    driver.pod(&make_pod("low"));
    driver.pod(&make_pod("high").priority(100));
    assert_eq!(&*driver.schedule().unwrap().pod.name, "high");
    assert_eq!(&*driver.schedule().unwrap().pod.name, "low");
    assert!(driver.schedule().is_none());
}

#[test]
fn pods_of_other_schedulers_are_left_alone_and_counted_once_they_have_a_node() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "1"), ("pods", "9")])]);
    let foreign = make_pod("foreign").scheduler("other").request("cpu", "1");
    driver.pod(&foreign);
    assert!(driver.schedule().is_none());
    driver.pod(&foreign.on("n"));
    driver.pod(&make_pod("p").request("cpu", "1"));
    assert_eq!(
        driver.message(),
        "0/1 nodes are available: 1 Insufficient cpu."
    );
}
