//! What wakes pods that were rejected.

use super::*;

#[test]
fn only_events_that_help_a_plugin_that_said_no_wake_a_pod() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.hint(FIT, POD_DELETED, false);
    script.hint(WAIT, POD_DELETED, true);
    script.add_requeued("pod", by(&[FIT]));
    script.wait(Duration::from_secs(2));
    script.happens(POD_DELETED);
    assert_eq!(script.place("pod"), Some(Place::Unschedulable));
    assert_eq!(script.pop(), None);
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Active));
}

#[test]
fn one_of_several_plugins_is_enough() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, false);
    script.hint(GATE, NODE_ADDED, true);
    script.add_requeued("pod", by(&[FIT, GATE]));
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Backoff));
}

#[test]
fn a_plugin_that_waits_for_something_outside_skips_the_backoff() {
    let mut script = Script::new();
    script.hint(WAIT, NODE_ADDED, true);
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("pod", pending(WAIT));
    let both = Rejectors {
        unschedulable: BTreeSet::from([FIT]),
        ..pending(WAIT)
    };
    script.add_requeued("both", both);
    script.add_requeued("rejected", by(&[FIT]));
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Active));
    assert_eq!(script.place("both"), Some(Place::Active));
    assert_eq!(script.place("rejected"), Some(Place::Backoff));
}

#[test]
fn a_wildcard_wakes_every_rejected_pod_after_its_backoff() {
    let mut script = Script::new();
    script.add_requeued("a", by(&[FIT]));
    script.add_requeued("b", pending(WAIT));
    script.happens(ClusterEventKind::wildcard("Everything"));
    assert_eq!(script.place("a"), Some(Place::Backoff));
    assert_eq!(script.place("b"), Some(Place::Backoff));
}

#[test]
fn a_wildcard_about_a_pod_wakes_that_pod_alone() {
    let mut script = Script::new();
    script.add_requeued("a", by(&[FIT]));
    script.add_requeued("b", by(&[FIT]));
    script.happens_to("b", ClusterEventKind::wildcard("Single"));
    assert_eq!(script.place("a"), Some(Place::Unschedulable));
    assert_eq!(script.place("b"), Some(Place::Backoff));
}

#[test]
fn a_wildcard_asks_the_gate_again() {
    let mut script = Script::new();
    script.gate("held");
    script.gate("free");
    script.add("held");
    script.add("free");
    script.ungate("free");
    script.happens(ClusterEventKind::wildcard("Everything"));
    assert_eq!(script.place("held"), Some(Place::Gated));
    assert_eq!(script.place("free"), Some(Place::Active));
}

#[test]
fn a_change_of_a_pod_wakes_that_pod_alone_and_only_if_it_helps() {
    let mut script = Script::new();
    script.hint(FIT, LABEL_CHANGED, true);
    script.add_requeued("a", by(&[FIT]));
    script.add_requeued("b", by(&[FIT]));
    script.add_requeued("c", by(&[WAIT]));
    script.update("a", 0, LABEL_CHANGED);
    script.update("c", 0, LABEL_CHANGED);
    assert_eq!(script.place("a"), Some(Place::Backoff));
    assert_eq!(script.place("b"), Some(Place::Unschedulable));
    assert_eq!(script.place("c"), Some(Place::Unschedulable));
}

#[test]
fn an_update_that_changes_nothing_moves_nothing() {
    let mut script = Script::new();
    script.hint(FIT, LABEL_CHANGED, true);
    script.add_requeued("pod", by(&[FIT]));
    let info = script.info("pod", 7);
    let earlier = script.queue.update(script.now, info, None, &script.plugins);
    script.check();
    assert_eq!(earlier.unwrap().priority, 0);
    assert_eq!(script.pod("pod").info.priority, 7);
    assert_eq!(script.place("pod"), Some(Place::Unschedulable));
}

#[test]
fn the_room_a_pod_leaves_wakes_others_but_not_itself() {
    let mut script = Script::new();
    script.hint(FIT, POD_DELETED, true);
    script.add_requeued("own", by(&[FIT]));
    script.add_requeued("other", by(&[FIT]));
    script.happens_to("own", POD_DELETED);
    assert_eq!(script.place("own"), Some(Place::Unschedulable));
    assert_eq!(script.place("other"), Some(Place::Backoff));
}

#[test]
fn one_of_many_alike_is_asked_for_all_and_all_of_them_wake() {
    let mut script = Script::new();
    script.plugins.scope = HintScope::Class;
    script.hint(FIT, NODE_ADDED, false);
    for number in 0..100 {
        script.add_requeued(&format!("pod-{number}"), by(&[FIT]));
    }
    script.plugins.asked.set(0);
    script.happens(NODE_ADDED);
    // The second question is the check that the last of them answers alike.
    let questions = script.plugins.asked.get();
    assert!((1..=2).contains(&questions), "{questions} questions");
    assert_eq!(script.queue.count(Place::Unschedulable), 100);
    script.hint(FIT, NODE_ADDED, true);
    script.happens(NODE_ADDED);
    assert_eq!(script.queue.count(Place::Unschedulable), 0);
}

#[test]
fn nobody_is_asked_about_an_event_that_no_rejecting_plugin_registered() {
    let mut script = Script::new();
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("pod", by(&[FIT]));
    script.plugins.asked.set(0);
    script.happens(POD_DELETED);
    assert_eq!(script.plugins.asked.get(), 0);
}

#[test]
fn a_pod_that_became_another_kind_is_asked_about_as_what_it_is() {
    let mut script = Script::new();
    script.plugins.scope = HintScope::Class;
    script.hint(FIT, LABEL_CHANGED, false);
    script.hint(FIT, NODE_ADDED, true);
    script.add_requeued("pod", by(&[FIT]));
    // The priority is part of the kind; the script checks that the pod is kept under the new one.
    script.update("pod", 7, LABEL_CHANGED);
    assert_eq!(script.place("pod"), Some(Place::Unschedulable));
    script.happens(NODE_ADDED);
    assert_eq!(script.place("pod"), Some(Place::Backoff));
}

#[test]
fn an_update_of_no_particular_kind_concerns_those_who_registered_for_any() {
    let registered = |action| ClusterEventKind::new(EventResource::TargetPod, action);
    let general = registered(ActionType::UPDATE);
    let labels = registered(ActionType::UPDATE_POD_LABEL);
    assert!(general.matches(&general));
    assert!(general.matches(&labels));
    assert!(labels.matches(&labels));
    assert!(!labels.matches(&general));
    let any = registered(ActionType::ADD.or(ActionType::UPDATE));
    assert!(any.matches(&general));
}
