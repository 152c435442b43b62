//! Pods that were promised room on a node, and what it means for others.

use super::*;

/// A pod that holds a whole core of `n` and is not tried itself.
fn promised(priority: i32) -> PodBuilder {
    make_pod("promised")
        .priority(priority)
        .request("cpu", "1")
        .status(json!({"nominatedNodeName": "n"}))
        .gate("later")
}

fn ungated(pod: PodBuilder) -> PodBuilder {
    pod.spec(json!({"schedulingGates": null}))
}

fn one_core() -> Driver {
    Driver::new([make_node("n").allocatable(&[("cpu", "1"), ("pods", "9")])])
}

#[test]
fn promised_room_is_kept_from_pods_of_the_same_or_a_lower_priority() {
    let mut driver = one_core();
    driver.pod(&promised(10));
    for priority in [9, 10] {
        let name = format!("p-{priority}");
        driver.pod(&make_pod(&name).priority(priority).request("cpu", "1"));
        let message = driver.message();
        assert_eq!(message, "0/1 nodes are available: 1 Insufficient cpu.");
    }
    driver.pod(&make_pod("higher").priority(11).request("cpu", "1"));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_pod_takes_the_room_that_was_promised_to_itself_and_holds_it_once() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "2"), ("pods", "9")])]);
    for name in ["first", "second"] {
        let pod = make_pod(name).priority(10).request("cpu", "1");
        driver.pod(&pod.status(json!({"nominatedNodeName": "n"})));
    }
    assert_eq!((driver.placed(), driver.placed()), ("n".into(), "n".into()));
}

#[test]
fn a_promise_that_ends_wakes_the_pods_that_it_kept_away() {
    for withdrawn in [true, false] {
        let mut driver = one_core();
        driver.pod(&promised(10));
        let waiting = make_pod("waiting").request("cpu", "1");
        driver.pod(&waiting);
        driver.message();
        assert_eq!(driver.place(&waiting), Some(Place::Unschedulable));
        if withdrawn {
            driver.pod(&promised(10).status(json!({"nominatedNodeName": null})));
        } else {
            driver.delete(&promised(10));
        }
        assert_eq!(driver.place(&waiting), Some(Place::Backoff));
        driver.wait(Duration::from_secs(2));
        assert_eq!(driver.placed(), "n");
    }
}

#[test]
fn a_promise_that_ends_wakes_nobody_of_a_higher_priority() {
    let mut driver = one_core();
    let with_port = |pod: PodBuilder| pod.host_port("", "TCP", 80);
    driver.pod(&with_port(make_pod("there")).on("n"));
    driver.pod(&with_port(promised(10)));
    let [same, higher] = [10, 11].map(|priority| {
        let waiting = with_port(make_pod(&format!("p-{priority}"))).priority(priority);
        driver.pod(&waiting);
        driver.message();
        waiting
    });
    driver.pod(&with_port(promised(10)).status(json!({"nominatedNodeName": null})));
    assert_eq!(driver.place(&same), Some(Place::Backoff));
    assert_eq!(driver.place(&higher), Some(Place::Unschedulable));
}

#[test]
fn room_that_another_scheduler_promised_is_kept_from_lesser_pods() {
    for withdrawn in [true, false] {
        let mut driver = one_core();
        let foreign = make_pod("foreign")
            .spec(json!({"schedulerName": "another"}))
            .priority(10)
            .request("cpu", "1");
        let promised = foreign.clone().status(json!({"nominatedNodeName": "n"}));
        driver.pod(&promised);
        driver.pod(&make_pod("lesser").request("cpu", "1"));
        let message = driver.message();
        assert_eq!(message, "0/1 nodes are available: 1 Insufficient cpu.");
        if withdrawn {
            driver.pod(&foreign);
        } else {
            driver.delete(&promised);
        }
        driver.wait(Duration::from_secs(2));
        assert_eq!(driver.placed(), "n");
        driver.engine.handle(ClusterEvent::PodsListed(Vec::new()));
        driver.assert_empty();
    }
}

#[test]
fn a_promise_leaves_nothing_behind() {
    let mut driver = one_core();
    driver.pod(&promised(10));
    driver.pod(&promised(10).label("changed", "yes"));
    driver.delete(&promised(10));
    driver.assert_empty();
}

#[test]
fn a_nominated_pod_that_is_being_deleted_keeps_its_room_until_it_is_gone() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "1"), ("pods", "9")])]);
    let leaving = make_pod("leaving")
        .request("cpu", "1")
        .status(json!({"nominatedNodeName": "n"}))
        .metadata(json!({"deletionTimestamp": "2024-01-01T00:00:00Z"}));
    driver.pod(&leaving);
    assert_eq!(driver.outcome(), Outcome::Skipped);
    driver.pod(&make_pod("p").request("cpu", "1"));
    assert!(driver.message().contains("Insufficient cpu"));
    driver.delete(&leaving);
    driver.wait(Duration::from_secs(10));
    assert_eq!(driver.placed(), "n");
    driver.delete(&make_pod("p"));
    driver.assert_empty();
}

#[test]
fn a_pod_that_gives_its_nomination_up_wakes_those_whom_it_kept_away() {
    let mut driver = one_core();
    driver.profile(json!({"schedulerName": "bayplan"}));
    // It cannot be on the node that it was promised, which its next attempt finds out.
    let elsewhere = promised(10).node_selector("zone", "none");
    driver.pod(&elsewhere);
    let waiting = make_pod("waiting").request("cpu", "1");
    driver.pod(&waiting);
    driver.message();
    assert_eq!(driver.place(&waiting), Some(Place::Unschedulable));
    driver.pod(&ungated(elsewhere));
    driver.message();
    assert_eq!(driver.place(&waiting), Some(Place::Backoff));
    driver.wait(Duration::from_secs(2));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_pod_that_goes_elsewhere_wakes_those_who_may_have_the_room_that_it_was_promised() {
    for bound_by_us in [true, false] {
        let mut driver = one_core();
        let other = make_node("other").allocatable(&[("cpu", "2"), ("pods", "9")]);
        driver.node(&other);
        let elsewhere = promised(10).request("cpu", "2");
        driver.pod(&elsewhere);
        let waiting = make_pod("waiting").request("cpu", "1");
        let waiting = waiting.node_selector("kubernetes.io/hostname", "n");
        driver.pod(&waiting);
        driver.message();
        if bound_by_us {
            driver.pod(&ungated(elsewhere));
            assert_eq!(driver.placed(), "other");
        } else {
            driver.pod(&ungated(elsewhere).on("other"));
        }
        assert_eq!(driver.place(&waiting), Some(Place::Backoff));
    }
}

#[test]
fn a_waiting_pod_that_somebody_else_nominates_is_tried_again() {
    let mut driver = one_core();
    let pod = make_pod("p").request("cpu", "2");
    driver.pod(&pod);
    driver.message();
    assert_eq!(driver.place(&pod), Some(Place::Unschedulable));
    driver.pod(&pod.clone().status(json!({"nominatedNodeName": "n"})));
    assert_eq!(driver.place(&pod), Some(Place::Backoff));
}
