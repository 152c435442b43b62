//! What becomes of a chosen node.

use super::*;

#[test]
fn a_bound_pod_is_reported_and_leaves_nothing_when_it_is_deleted() {
    let mut driver = Driver::new([make_node("n")]);
    let pod = make_pod("p")
        .request("example.com/x", "0")
        .label("app", "web");
    driver.pod(&pod);
    assert_eq!(driver.placed(), "n");
    driver.complete(
        driver.binding(),
        EffectOutcome::Done {
            resource_version: Some(7),
        },
    );
    assert_eq!(driver.events(), ["Scheduled"]);
    driver.pod(&pod.clone().on("n"));
    assert_eq!(driver.engine.cache_size().assumed_pods, 0);
    assert_eq!(driver.engine.cache_size().pods, 1);
    driver.delete(&pod.on("n"));
    driver.assert_empty();
}

#[test]
fn the_watch_may_confirm_before_the_binding_completes() {
    let mut driver = Driver::new([make_node("n")]);
    let pod = make_pod("p");
    driver.pod(&pod);
    driver.placed();
    driver.pod(&pod.clone().on("n"));
    driver.complete(
        driver.binding(),
        EffectOutcome::Done {
            resource_version: None,
        },
    );
    assert_eq!(driver.engine.cache_size().pods, 1);
    driver.delete(&pod.on("n"));
    driver.assert_empty();
}

#[test]
fn a_stale_update_does_not_take_the_node_from_an_assumed_pod() {
    let mut driver = Driver::new([make_node("n")]);
    let pod = make_pod("p");
    driver.pod(&pod);
    driver.placed();
    driver.pod(&pod.clone().label("seen", "late"));
    driver.complete(
        driver.binding(),
        EffectOutcome::Done {
            resource_version: None,
        },
    );
    driver.pod(&pod);
    assert!(driver.schedule().is_none());
    assert_eq!(driver.engine.cache_size().assumed_pods, 1);
}

#[test]
fn a_failed_binding_frees_the_room_and_the_pod_waits_out_its_backoff() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "1"), ("pods", "9")])]);
    let (first, second) = (
        make_pod("a").request("cpu", "1"),
        make_pod("b").request("cpu", "1"),
    );
    driver.pod(&first);
    driver.placed();
    driver.pod(&second);
    driver.message();
    driver.fail_binding(FailureKind::Unavailable);
    assert_eq!(driver.place(&first), Some(Place::Backoff));
    assert_eq!(driver.events(), ["FailedScheduling", "FailedScheduling"]);
    // The freed room wakes the other one.
    assert_eq!(driver.place(&second), Some(Place::Backoff));
    assert_eq!(driver.placed(), "n");
    assert!(driver.schedule().is_none(), "errors are not popped early");
    driver.wait(Duration::from_secs(3));
    assert_eq!(
        driver.message(),
        "0/1 nodes are available: 1 Insufficient cpu."
    );
}

#[test]
fn a_pod_that_is_gone_or_bound_elsewhere_is_dropped_without_a_word() {
    for kind in [FailureKind::Gone, FailureKind::AlreadyBound] {
        let mut driver = Driver::new([make_node("n")]);
        driver.pod(&make_pod("p"));
        driver.placed();
        driver.fail_binding(kind);
        driver.assert_empty();
        assert!(driver.events().is_empty());
    }
}

#[test]
fn a_pod_that_is_deleted_on_its_way_leaves_nothing_and_its_completion_is_ignored() {
    let mut driver = Driver::new([make_node("n")]);
    let pod = make_pod("p");
    driver.pod(&pod);
    driver.placed();
    driver.delete(&pod);
    driver.assert_empty();
    driver.complete(
        driver.binding(),
        EffectOutcome::Done {
            resource_version: None,
        },
    );
    driver.assert_empty();
}

#[test]
fn a_new_pod_under_the_same_name_is_another_pod() {
    let mut driver = Driver::new([make_node("n")]);
    driver.pod(&make_pod("p"));
    driver.placed();
    let again = make_pod("p").metadata(json!({"uid": "second"}));
    driver.pod(&again);
    assert_eq!(driver.engine.cache_size().pods, 0);
    assert_eq!(driver.placed(), "n");
    assert_eq!(driver.engine.cache_size().pods, 1);
}

#[test]
fn the_room_of_pods_that_ended_is_free() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "1"), ("pods", "9")])]);
    let job = make_pod("job").request("cpu", "1").on("n");
    driver.pod(&job);
    let pod = make_pod("p").request("cpu", "1");
    driver.pod(&pod);
    driver.message();
    driver.pod(&job.status(json!({"phase": "Succeeded"})));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_pod_that_somebody_else_binds_during_its_binding_stays_where_the_watch_says() {
    let kinds = [
        FailureKind::AlreadyBound,
        FailureKind::Gone,
        FailureKind::Refused,
        FailureKind::Unavailable,
        FailureKind::NotLeading,
    ];
    for kind in kinds {
        for on in ["other", "n"] {
            let mut driver = Driver::new([make_node("n")]);
            let pod = make_pod("p");
            driver.pod(&pod);
            driver.placed();
            driver.node(&make_node("other"));
            driver.pod(&pod.clone().on(on));
            driver.fail_binding(kind);
            assert_eq!(driver.engine.cache_size().pods, 1);
            assert_eq!(driver.engine.cache_size().assumed_pods, 0);
            assert!(driver.events().is_empty());
            driver.engine.handle(ClusterEvent::PodsListed(Vec::new()));
            driver.assert_empty();
        }
    }
}

#[test]
fn a_pod_that_is_smaller_when_it_is_bound_leaves_room_for_others() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "2"), ("pods", "9")])]);
    driver.spec = json!({"schedulerName": "bayplan"});
    driver.profile(driver.spec.clone());
    driver.pod(&make_pod("resized").request("cpu", "2"));
    assert_eq!(driver.placed(), "n");
    driver.pod(&make_pod("small").request("cpu", "1"));
    assert!(matches!(
        driver.schedule().map(|decision| decision.outcome),
        Some(Outcome::Unschedulable { .. })
    ));
    driver.pod(&make_pod("resized").request("cpu", "1").on("n"));
    driver.wait(Duration::from_secs(10));
    assert_eq!(driver.placed(), "n");
}
