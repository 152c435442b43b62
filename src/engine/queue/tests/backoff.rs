//! How long pods wait after an attempt.

use super::*;

/// Waits until the next deadline, and holds that nothing moves before it. Gives whole seconds.
fn wait_for_deadline(script: &mut Script, name: &str) -> u64 {
    let waited = script.queue.next_deadline().unwrap().since(script.now);
    script.wait(waited.checked_sub(Duration::from_micros(1)).unwrap());
    assert_eq!(script.place(name), Some(Place::Backoff));
    script.wait(Duration::from_micros(1));
    assert_eq!(script.place(name), Some(Place::Active));
    waited.as_secs()
}

#[test]
fn rejected_pods_wait_longer_each_time_up_to_ten_seconds_and_the_rest_of_the_window() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add("pod");
    let mut waits = Vec::new();
    for _ in 0..7 {
        script.pop();
        script.requeue("pod", by(&[FIT]));
        script.happens(NODE_ADDED);
        waits.push(wait_for_deadline(&mut script, "pod"));
    }
    // Backoffs of 1, 2, 4, 8, 10 s; a pod goes when the window in which its backoff ends is over.
    assert_eq!(waits, [2, 3, 5, 9, 11, 11, 11]);
}

#[test]
fn errors_in_a_row_have_a_backoff_of_their_own_that_a_rejection_ends() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add("pod");
    let mut waits = Vec::new();
    for is_error in [true, true, true, false, true] {
        script.pop();
        let rejectors = if is_error {
            Rejectors::error()
        } else {
            by(&[FIT])
        };
        script.requeue("pod", rejectors);
        script.happens(NODE_ADDED);
        waits.push(wait_for_deadline(&mut script, "pod"));
    }
    assert_eq!(waits, [2, 3, 5, 2, 2]);
    assert_eq!(script.pod("pod").unschedulable_count, 1);
    assert_eq!(script.pod("pod").consecutive_errors, 1);
}

#[test]
fn a_rejected_pod_in_backoff_goes_early_when_nothing_else_is_ready() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("rejected", by(&[FIT]));
    script.happens(NODE_ADDED);
    script.add("new");
    assert_eq!(script.place("rejected"), Some(Place::Backoff));
    assert_eq!(script.pop_all(), ["new", "rejected"]);
}

#[test]
fn a_pod_that_failed_with_an_error_never_goes_early() {
    let mut script = Script::new();
    script.add_requeued("failed", Rejectors::error());
    assert_eq!(script.place("failed"), Some(Place::Backoff));
    assert_eq!(script.pop(), None);
    script.wait(Duration::from_secs(2));
    assert_eq!(script.pop().as_deref(), Some("failed"));
}

#[test]
fn pods_whose_backoff_ends_in_one_window_go_by_priority() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("low", by(&[FIT]));
    script.now = script.now + Duration::from_millis(900);
    script.add_with_priority("high", 10);
    script.pop();
    script.requeue("high", by(&[FIT]));
    script.happens(NODE_ADDED);
    assert_eq!(script.queue.count(Place::Backoff), 2);
    assert_eq!(script.pop_all(), ["high", "low"]);
}

#[test]
fn an_earlier_window_goes_before_a_higher_priority() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("low", by(&[FIT]));
    script.now = script.now + Duration::from_secs(1);
    script.add_with_priority("high", 10);
    script.pop();
    script.requeue("high", by(&[FIT]));
    script.happens(NODE_ADDED);
    assert_eq!(script.queue.count(Place::Backoff), 2);
    assert_eq!(script.pop_all(), ["low", "high"]);
}

#[test]
fn a_limit_of_zero_switches_backoff_off() {
    let mut script = Script::new();
    script.queue.config.backoff.max = Duration::ZERO;
    script.add_requeued("pod", Rejectors::error());
    assert_eq!(script.place("pod"), Some(Place::Active));
}

#[test]
fn a_pod_that_comes_back_from_its_binding_backs_off() {
    let mut script = Script::new();
    script.add("pod");
    script.pop();
    let pod = script.done("pod");
    assert_eq!(script.place("pod"), None);
    script
        .queue
        .put_back(script.now, pod, by(&[FIT]), &script.plugins);
    script.check();
    assert_eq!(script.place("pod"), Some(Place::Backoff));
    assert_eq!(script.pod("pod").unschedulable_count, 1);
}
