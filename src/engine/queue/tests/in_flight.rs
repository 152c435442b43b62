//! Nothing that happens during an attempt is lost.

use super::*;
use crate::engine::queue::in_flight::RECORDED_CHANGES_MAX;

#[test]
fn an_event_during_the_attempt_is_judged_when_it_fails() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.hint(FIT, POD_DELETED, false);
    for (event, place) in [
        (NODE_ADDED, Place::Backoff),
        (POD_DELETED, Place::Unschedulable),
    ] {
        script.add("pod");
        script.pop();
        script.happens(event);
        script.requeue("pod", by(&[FIT]));
        assert_eq!(script.place("pod"), Some(place));
        drop(script.queue.delete(&uid("pod")));
    }
}

#[test]
fn the_strongest_of_several_events_counts() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.hint(WAIT, POD_DELETED, true);
    script.add("pod");
    script.pop();
    script.happens(NODE_ADDED);
    script.happens(POD_DELETED);
    let rejectors = Rejectors {
        unschedulable: BTreeSet::from([FIT]),
        ..pending(WAIT)
    };
    script.requeue("pod", rejectors);
    assert_eq!(script.place("pod"), Some(Place::Active));
}

#[test]
fn events_before_the_attempt_do_not_count() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add("early");
    script.add("late");
    script.pop();
    script.happens(NODE_ADDED);
    script.pop();
    script.requeue("late", by(&[FIT]));
    script.requeue("early", by(&[FIT]));
    assert_eq!(script.place("late"), Some(Place::Unschedulable));
    assert_eq!(script.place("early"), Some(Place::Backoff));
}

#[test]
fn an_update_during_the_attempt_is_kept_and_wakes_the_pod() {
    let mut script = Script::new();
    script.hint(FIT, LABEL_CHANGED, true);
    script.add("pod");
    script.add("other");
    script.pop();
    script.pop();
    script.update("pod", 9, LABEL_CHANGED);
    assert_eq!(script.place("pod"), Some(Place::InFlight));
    script.requeue("other", by(&[FIT]));
    script.requeue("pod", by(&[FIT]));
    assert_eq!(script.place("other"), Some(Place::Unschedulable));
    assert_eq!(script.place("pod"), Some(Place::Backoff));
    assert_eq!(script.pod("pod").info.priority, 9);
}

#[test]
fn activation_during_the_attempt_wakes_that_pod_alone() {
    let mut script = Script::new();
    script.add("pod");
    script.add("other");
    script.pop();
    script.pop();
    script.activate("pod");
    script.requeue("pod", by(&[FIT]));
    script.requeue("other", by(&[FIT]));
    assert_eq!(script.place("pod"), Some(Place::Backoff));
    assert_eq!(script.place("other"), Some(Place::Unschedulable));
}

#[test]
fn a_pod_does_not_wake_itself_with_the_room_that_its_attempt_gives_back() {
    let mut script = Script::new();
    script.hint(FIT, POD_DELETED, true);
    script.add("pod");
    script.pop();
    script.happens_to("pod", POD_DELETED);
    script.requeue("pod", by(&[FIT]));
    assert_eq!(script.place("pod"), Some(Place::Unschedulable));
}

#[test]
fn a_late_failure_does_not_touch_a_pod_that_is_waiting_again() {
    let mut script = Script::new();
    script.add("pod");
    script.requeue("pod", by(&[FIT]));
    assert_eq!(script.place("pod"), Some(Place::Active));
    assert!(script.queue.done(&uid("pod")).is_none());
    assert_eq!(script.pod("pod").unschedulable_count, 0);
}

#[test]
fn changes_are_recorded_only_while_a_pod_is_in_flight_and_dropped_with_the_last() {
    let mut script = Script::new();
    script.happens(NODE_ADDED);
    assert_eq!(script.queue.recorded_changes(), 0);
    script.add("a");
    script.add("b");
    script.pop();
    script.happens(NODE_ADDED);
    script.happens(NODE_ADDED);
    assert_eq!(script.queue.recorded_changes(), 1);
    script.pop();
    script.happens(NODE_ADDED);
    script.happens(POD_DELETED);
    assert_eq!(script.queue.recorded_changes(), 3);
    script.done("a");
    assert_eq!(script.queue.recorded_changes(), 2);
    drop(script.queue.delete(&uid("b")));
    assert_eq!(script.queue.recorded_changes(), 0);
}

#[test]
fn a_pod_that_missed_changes_of_a_full_log_is_tried_again() {
    let mut script = Script::new();
    script.add("pod");
    script.add("later");
    script.pop();
    for i in 0..=RECORDED_CHANGES_MAX {
        let node: Option<Arc<str>> = Some(format!("node-{i}").into());
        script.move_all(&RecordedChange {
            node,
            ..RecordedChange::of(NODE_ADDED)
        });
    }
    assert_eq!(script.queue.recorded_changes(), RECORDED_CHANGES_MAX);
    script.pop();
    script.requeue("pod", by(&[FIT]));
    script.requeue("later", by(&[FIT]));
    assert_eq!(script.place("pod"), Some(Place::Backoff));
    assert_eq!(script.place("later"), Some(Place::Unschedulable));
    assert_eq!(script.queue.recorded_changes(), 0);
}
