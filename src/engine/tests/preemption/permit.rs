//! Victims that are on their way to the node.

use super::*;
use crate::engine::tests::framework::{Probe, holding, working};

/// A pod of a lower priority on its way to `n`, and a preemptor that wants its room.
fn on_its_way(probe: Probe) -> (Driver, PodBuilder) {
    let mut driver = Driver::preempting([node("n", 1)]).with_probes(&[probe], &json!([]));
    let victim = pod("victim", 1);
    driver.pod(&victim);
    assert_eq!(driver.placed(), "n");
    driver.effects.clear();
    driver.pod(&pod("preemptor", 10));
    (driver, victim)
}

fn note(driver: &Driver) -> String {
    let events = driver.preempted_events();
    assert_eq!(events.len(), 1);
    events[0].1.note.clone()
}

#[test]
fn a_victim_that_waits_at_permit_goes_back_to_the_queue() {
    let (mut driver, victim) = on_its_way(holding("gang"));
    driver.schedule();
    assert!(driver.evictions().is_empty());
    assert_eq!(driver.place(&victim), Some(Place::Backoff));
    assert!(note(&driver).ends_with(" on node n (in kube-scheduler memory)."));
    let patches = driver.patches("victim");
    let message = &patches[0].condition.as_ref().unwrap().message;
    assert_eq!(message, "waiting on permit for pod: preempted");
    assert_eq!(driver.placed(), "n");
    let pods: Vec<_> = driver.engine.cache().pods().collect();
    assert_eq!(&*pods[0].key.name, "preemptor");
}

#[test]
fn a_victim_whose_volumes_are_being_bound_is_called_back() {
    let (mut driver, victim) = on_its_way(working("w"));
    driver.schedule();
    assert!(driver.evictions().is_empty());
    assert_eq!(driver.place(&victim), Some(Place::Backoff));
    assert!(note(&driver).ends_with(" (in kube-scheduler memory)."));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_victim_whose_binding_is_under_way_is_evicted() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&pod("victim", 1));
    driver.placed();
    driver.pod(&pod("preemptor", 10));
    driver.schedule();
    let (_, name) = driver.eviction();
    assert_eq!(name, "victim");
    // The binding fails, so that there is nobody to wait for.
    driver.fail_binding(FailureKind::Gone);
    assert_eq!(driver.placed(), "n");
}
