//! Every state of a nomination has an exit.

use super::*;

/// Two nodes; the preemptor has evicted the pod on `n`, which is on its way out.
fn waiting() -> (Driver, PodBuilder, PodBuilder) {
    let mut driver = Driver::preempting([node("n", 1), node("m", 1)]);
    let victim = low("v");
    driver.pod(&victim);
    driver.pod(&pod("dear", 5).on("m"));
    let preemptor = pod("preemptor", 10);
    driver.pod(&preemptor);
    driver.preempt();
    driver.pod(&leaving(&victim));
    driver.pod(&nominated(&preemptor, "n"));
    assert_eq!(driver.place(&preemptor), Some(Place::Unschedulable));
    (driver, victim, preemptor)
}

fn evicted_next(driver: &mut Driver) -> Option<String> {
    driver.wait(Duration::from_secs(10));
    driver.schedule()?;
    driver.evictions().pop().map(|(_, name)| name)
}

#[test]
fn a_preemptor_whose_node_is_gone_looks_for_another_one() {
    let (mut driver, _, _) = waiting();
    driver
        .engine
        .handle(ClusterEvent::NodeDeleted(Arc::new(node("n", 1).object())));
    assert_eq!(evicted_next(&mut driver).as_deref(), Some("dear"));
}

#[test]
fn a_preemptor_whose_node_takes_it_no_more_looks_for_another_one() {
    let (mut driver, _, _) = waiting();
    driver.node(&node("n", 1).taint("down", "", "NoSchedule"));
    assert_eq!(evicted_next(&mut driver).as_deref(), Some("dear"));
}

#[test]
fn a_preemptor_whose_victim_never_dies_looks_for_another_node() {
    let (mut driver, _, preemptor) = waiting();
    driver.wait(Duration::from_mins(5));
    assert_eq!(driver.place(&preemptor), Some(Place::Unschedulable));
    let deadline = driver.engine.next_deadline().unwrap();
    assert!(
        deadline <= driver.now + Duration::from_secs(31),
        "{deadline:?}"
    );
    driver.wait(Duration::from_secs(31));
    assert_eq!(evicted_next(&mut driver).as_deref(), Some("dear"));
}

#[test]
fn a_preemptor_without_another_node_gives_the_promised_room_up() {
    let (mut driver, victims, preemptor) = scene(1);
    driver.preempt();
    driver.pod(&leaving(&victims[0]));
    driver.pod(&nominated(&preemptor, "n"));
    driver.wait(Duration::from_mins(6));
    driver.effects.clear();
    let decision = driver.schedule().unwrap();
    assert_eq!(decision.nominated_node, None);
    assert_eq!(
        driver.patches("preemptor")[0].nominated_node.as_deref(),
        Some("")
    );
    // And when the victim goes after all, the pod comes.
    driver.pod(&preemptor);
    driver.delete(&victims[0]);
    driver.wait(Duration::from_secs(10));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_deleted_preemptor_evicts_nobody_any_more() {
    let (mut driver, _, preemptor) = scene(3);
    driver.schedule();
    let first = driver.evictions();
    driver.delete(&preemptor);
    for (id, _) in first {
        driver.complete(id, done());
    }
    assert!(driver.evictions().is_empty());
    driver.assert_nothing_is_remembered();
}

#[test]
fn a_changed_preemptor_is_judged_anew_before_the_next_eviction() {
    let (mut driver, _, _) = scene(2);
    driver.schedule();
    let (id, _) = driver.eviction();
    // It needs less than it did: the room of one will do.
    let smaller = make_pod("preemptor").priority(10).request("cpu", "1");
    driver.pod(&nominated(&smaller, "n"));
    driver.complete(id, done());
    assert!(driver.evictions().is_empty());
    driver.delete(&low("v0"));
    driver.wait(Duration::from_secs(10));
    assert_eq!(driver.placed(), "n");
    assert!(driver.evictions().is_empty());
}

#[test]
fn a_preemptor_whose_room_a_higher_pod_took_makes_room_again() {
    let (mut driver, victim, _) = waiting();
    // A higher pod counts on the room, and takes it.
    driver.delete(&victim);
    driver.pod(&pod("higher", 20));
    assert_eq!(driver.placed(), "n");
    assert_eq!(evicted_next(&mut driver).as_deref(), Some("dear"));
}

#[test]
fn a_lesser_pod_that_loses_its_nomination_evicts_nobody_any_more() {
    let (mut driver, _, lesser) = scene(3);
    driver.schedule();
    driver.pod(&nominated(&lesser, "n"));
    driver.effects.clear();
    driver.pod(&make_pod("higher").priority(20).request("cpu", "1"));
    driver.schedule();
    assert_eq!(
        driver.patches("preemptor")[0].nominated_node.as_deref(),
        Some("")
    );
    let uid = PodUid::of(&lesser.object());
    assert!(driver.engine.cache().preemptions.is_evicting(&uid));
    driver.pod(&lesser);
    assert!(!driver.engine.cache().preemptions.is_evicting(&uid));
}

#[test]
fn a_new_leader_goes_on_from_what_the_objects_say() {
    let mut driver = Driver::preempting([node("n", 1), node("m", 1)]);
    let victim = leaving(&low("v"));
    driver.pod(&victim);
    driver.pod(&pod("dear", 5).on("m"));
    let preemptor = nominated(&pod("preemptor", 10), "n");
    driver.pod(&preemptor);
    let message = driver.message();
    let waits = "preemption: not eligible due to a terminating pod on the nominated node.";
    assert!(message.ends_with(waits), "{message}");
    assert!(driver.evictions().is_empty());
    driver.pod(&pod("lesser", 9));
    driver.message();
    driver.delete(&victim);
    driver.wait(Duration::from_secs(10));
    let decision = driver.schedule().unwrap();
    assert_eq!(
        decision.pod.name,
        preemptor.object().metadata.name.unwrap().into()
    );
    assert!(matches!(decision.outcome, Outcome::Scheduled { .. }));
}

#[test]
fn a_new_leader_does_not_wait_for_ever_for_victims_of_the_old_one() {
    let mut driver = Driver::preempting([node("n", 1), node("m", 1)]);
    driver.pod(&leaving(&low("v")));
    driver.pod(&pod("dear", 5).on("m"));
    driver.pod(&nominated(&pod("preemptor", 10), "n"));
    driver.message();
    driver.wait(Duration::from_mins(6));
    assert_eq!(evicted_next(&mut driver).as_deref(), Some("dear"));
}

#[test]
fn a_failed_eviction_wakes_the_preemptor() {
    for kind in [FailureKind::Unavailable, FailureKind::Refused] {
        let (mut driver, _, preemptor) = scene(3);
        driver.schedule();
        let first = driver.evictions();
        driver.complete(first[0].0, failed(kind));
        assert_eq!(driver.place(&preemptor), Some(Place::Backoff));
        driver.complete(first[1].0, done());
        assert!(driver.evictions().is_empty(), "the last one stays");
    }
}

#[test]
fn room_is_held_by_who_waits_for_it_before_the_watch_shows_the_nomination() {
    let (mut driver, victims, preemptor) = scene(2);
    driver.preempt();
    for victim in &victims {
        driver.pod(&leaving(victim));
    }
    driver.delete(&victims[0]);
    driver.wait(Duration::from_secs(10));
    // Its object names no node yet.
    let decision = driver.schedule().unwrap();
    assert_eq!(decision.nominated_node.as_deref(), Some("n"));
    assert_eq!(driver.place(&preemptor), Some(Place::Unschedulable));
    driver.pod(&pod("lesser", 5));
    assert!(driver.message().contains("Insufficient cpu"));
}

#[test]
fn an_older_nomination_that_the_watch_brings_late_takes_no_room_away() {
    let (mut driver, victims, preemptor) = scene(1);
    driver.preempt();
    driver.pod(&leaving(&victims[0]));
    let uid = PodUid::of(&preemptor.object());
    let node = |driver: &Driver| driver.engine.cache().nominator.node_of(&uid).cloned();
    driver.pod(&nominated(&preemptor, "m"));
    assert_eq!(node(&driver).as_deref(), Some("n"));
    driver.pod(&nominated(&preemptor, "n"));
    assert_eq!(node(&driver).as_deref(), Some("n"));
    // Now somebody takes it away.
    driver.pod(&preemptor);
    assert_eq!(node(&driver), None);
}

#[test]
fn nothing_is_remembered_of_a_preemptor_that_is_gone_when_it_is_bound() {
    let (mut driver, victims, _) = scene(1);
    driver.preempt();
    driver.delete(&victims[0]);
    assert_eq!(driver.placed(), "n");
    driver.fail_binding(FailureKind::Gone);
    let preemptions = &driver.engine.cache().preemptions;
    assert!(preemptions.is_empty(), "{preemptions:?}");
}

#[test]
fn a_victim_that_turns_out_to_be_on_another_node_is_awaited_no_longer() {
    let mut driver = Driver::preempting([node("n", 1), node("m", 0)]);
    let victim = pod("v", 1);
    driver.pod(&victim);
    assert!(driver.schedule().is_some(), "it is on its way to n");
    driver.pod(&pod("preemptor", 10));
    driver.preempt();
    let uid = PodUid::of(&victim.object());
    assert!(driver.engine.cache().preemptions.is_victim(&uid));
    // Somebody else was faster.
    driver.pod(&leaving(&victim.on("m")));
    assert!(!driver.engine.cache().preemptions.is_victim(&uid));
    let decision = driver.schedule().expect("the room is there");
    assert!(
        matches!(&decision.outcome, Outcome::Scheduled { node } if &**node == "n"),
        "{decision:?}"
    );
}

#[test]
fn a_nomination_is_taken_back_that_the_object_does_not_show_yet() {
    let (mut driver, victims, _) = scene(1);
    driver.preempt();
    driver.delete(&victims[0]);
    driver.pod(&pod("taker", 50).on("n"));
    driver.wait(Duration::from_secs(10));
    driver.effects.clear();
    let decision = driver.schedule().expect("the preemptor must be ready");
    assert_eq!(decision.nominated_node, None);
    // The patch that nominated it may be on its way, and would keep the room from others.
    assert_eq!(
        driver.patches("preemptor")[0].nominated_node.as_deref(),
        Some("")
    );
}
