//! Who goes first, and who may go at all.

use super::*;

#[test]
fn higher_priority_goes_first_then_the_older_then_the_one_that_came_first() {
    let mut script = Script::new();
    script.add("first");
    script.add("second");
    script.wait(Duration::from_secs(1));
    script.add("later");
    script.add_with_priority("high", 10);
    script.add_with_priority("low", -10);
    let order = script.pop_all();
    assert_eq!(order, ["high", "first", "second", "later", "low"]);
}

#[test]
fn a_pod_whose_priority_changes_moves_in_the_order() {
    let mut script = Script::new();
    script.add("a");
    script.add("b");
    let event = ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE);
    script.update("b", 5, event);
    assert_eq!(script.pop_all(), ["b", "a"]);
}

#[test]
fn a_gated_pod_wakes_for_its_gating_plugin_alone() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.hint(GATE, GATES_GONE, true);
    script.add_requeued("pod", by(&[FIT]));
    script.gate("pod");
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Gated));
    script.ungate("pod");
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Gated));
    script.wait(Duration::from_secs(5));
    script.update("pod", 0, GATES_GONE);
    assert_eq!(script.place("pod"), Some(Place::Active));
}

#[test]
fn a_gate_that_opens_does_not_shorten_the_backoff() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.hint(GATE, GATES_GONE, true);
    script.add_requeued("pod", by(&[FIT]));
    script.gate("pod");
    script.happens(NODE_ADDED);
    script.ungate("pod");
    script.update("pod", 0, GATES_GONE);
    assert_eq!(script.place("pod"), Some(Place::Backoff));
}

#[test]
fn a_pod_that_its_gating_plugin_had_rejected_backs_off_as_rejected() {
    let mut script = Script::new();
    script.hint(GATE, GATES_GONE, true);
    script.add_requeued("pod", by(&[GATE]));
    script.gate("pod");
    script.update("pod", 0, GATES_GONE);
    assert_eq!(script.place("pod"), Some(Place::Gated));
    script.ungate("pod");
    script.update("pod", 0, GATES_GONE);
    assert_eq!(script.place("pod"), Some(Place::Backoff));
    assert_eq!(script.pop().as_deref(), Some("pod"));
}

#[test]
fn activation_skips_the_backoff_and_keeps_the_place_in_the_order() {
    let mut script = Script::new();
    script.add_requeued("rejected", by(&[FIT]));
    script.add_requeued("failed", Rejectors::error());
    script.wait(Duration::from_millis(1));
    script.add("new");
    script.activate("failed");
    script.activate("rejected");
    script.activate("unknown");
    assert_eq!(script.pop_all(), ["failed", "rejected", "new"]);
}

#[test]
fn activation_does_not_open_a_gate() {
    let mut script = Script::new();
    script.gate("pod");
    script.add("pod");
    script.activate("pod");
    assert_eq!(script.place("pod"), Some(Place::Gated));
}

#[test]
fn the_first_attempt_counts_from_the_active_queue_and_not_from_the_gate() {
    let mut script = Script::new();
    script.hint(GATE, GATES_GONE, true);
    script.gate("pod");
    script.add("pod");
    assert_eq!(script.pod("pod").initial_attempt, None);
    script.wait(Duration::from_secs(7));
    script.ungate("pod");
    script.update("pod", 0, GATES_GONE);
    let active = script.now;
    script.wait(Duration::from_secs(3));
    script.pop();
    assert_eq!(script.pod("pod").initial_attempt, Some(active));
    assert_eq!(script.pod("pod").attempts, 1);
}

#[test]
fn a_deleted_pod_is_nowhere() {
    let mut script = Script::new();
    script.add_requeued("waits", by(&[FIT]));
    script.add_requeued("fails", Rejectors::error());
    script.add("flies");
    script.pop();
    script.add("ready");
    for name in ["waits", "fails", "flies", "ready"] {
        assert!(script.queue.delete(&uid(name)).is_some());
        script.check();
        assert_eq!(script.place(name), None);
        script.requeue(name, by(&[FIT]));
        assert_eq!(script.place(name), None);
    }
}

#[test]
fn what_enters_a_queue_is_counted_with_its_reason() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add("a");
    script.gate("b");
    script.add("b");
    assert_eq!(
        script.incoming(),
        ["active UnscheduledPodAdd 1", "gated UnscheduledPodAdd 1"]
    );
    script.pop();
    script.requeue("a", by(&[FIT]));
    script.happens(NODE_ADDED);
    script.wait(Duration::from_secs(2));
    assert_eq!(
        script.incoming(),
        [
            "active BackoffComplete 1",
            "backoff NodeAdd 1",
            "unschedulable ScheduleAttemptFailure 1"
        ]
    );
    script.pop();
    script.happens(NODE_ADDED);
    script.requeue("a", by(&[FIT]));
    script.pop();
    assert_eq!(
        script.incoming(),
        [
            "active PopFromBackoffQ 1",
            "backoff ScheduleAttemptFailure 1"
        ]
    );
}

#[test]
fn whoever_hopes_for_an_event_opens_the_gate_if_its_plugin_registered_it() {
    let mut script = Script::new();
    script.hint(FIT, POD_DELETED, true);
    script.hint(GATE, POD_DELETED, false);
    script.add_requeued("pod", by(&[FIT]));
    script.gate("pod");
    script.happens(POD_DELETED);
    assert_eq!(script.place("pod"), Some(Place::Gated));
    script.ungate("pod");
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Gated));
    script.happens(POD_DELETED);
    assert_eq!(script.place("pod"), Some(Place::Backoff));
}

#[test]
fn the_gate_is_asked_on_the_way_into_the_backoff_and_not_again_at_its_end() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("pod", by(&[FIT]));
    script.plugins.asked_gates.set(0);
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Backoff));
    assert_eq!(script.plugins.asked_gates.get(), 1);
    script.wait(Duration::from_secs(2));
    assert_eq!(script.place("pod"), Some(Place::Active));
    assert_eq!(script.plugins.asked_gates.get(), 1);
}
