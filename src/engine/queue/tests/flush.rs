//! Pods that wait too long are tried again, and each that fits then is a missing hint.

use super::*;

const HALF_MINUTE: Duration = Duration::from_secs(30);

#[test]
fn after_more_than_five_minutes_a_pod_is_tried_again_and_counted_when_it_is_bound() {
    let mut script = Script::new();
    script.add_requeued("pod", by(&[FIT]));
    for _ in 0..10 {
        script.wait(HALF_MINUTE);
        assert_eq!(script.place("pod"), Some(Place::Unschedulable));
    }
    script.wait(HALF_MINUTE);
    assert_eq!(script.place("pod"), Some(Place::Active));
    assert!(script.pod("pod").was_flushed);
    script.pop();
    let pod = script.done("pod");
    script.queue.note_bound(&pod);
    assert_eq!(script.queue.take_scheduled_after_flush(), 1);
    assert_eq!(script.queue.take_scheduled_after_flush(), 0);
}

#[test]
fn a_pod_that_an_event_woke_later_was_not_rescued_by_the_flush() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("pod", by(&[FIT]));
    for _ in 0..11 {
        script.wait(HALF_MINUTE);
    }
    script.pop();
    script.requeue("pod", by(&[FIT]));
    script.happens(NODE_ADDED);
    script.pop();
    let pod = script.done("pod");
    script.queue.note_bound(&pod);
    assert_eq!(script.queue.take_scheduled_after_flush(), 0);
}

#[test]
fn a_gated_pod_is_asked_again_once_in_five_minutes_and_not_marked() {
    let mut script = Script::new();
    script.hint(GATE, GATES_GONE, true);
    script.gate("pod");
    script.add("pod");
    script.incoming();
    // At 330 s and 660 s after it was added.
    for _ in 0..30 {
        script.wait(HALF_MINUTE);
    }
    assert_eq!(script.place("pod"), Some(Place::Gated));
    assert_eq!(script.incoming(), ["gated UnschedulableTimeout 2"]);
    script.ungate("pod");
    script.update("pod", 0, GATES_GONE);
    script.pop();
    assert!(!script.done("pod").was_flushed);
}

#[test]
fn the_deadline_is_the_flush_only_while_somebody_waits() {
    let mut script = Script::new();
    assert_eq!(script.queue.next_deadline(), None);
    script.add("pod");
    assert_eq!(script.queue.next_deadline(), None);
    script.pop();
    script.requeue("pod", by(&[FIT]));
    let flush = script.now + HALF_MINUTE;
    assert_eq!(script.queue.next_deadline(), Some(flush));
}
