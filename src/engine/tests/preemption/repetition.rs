//! Nobody is evicted in vain, again and again.

use super::*;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::extension_points::{
    FilterPlugin, FilterVerdict, PreFilterExtensions, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{CycleState, Plugin, PluginName, Rejection};

/// Refuses every node, but believes that it would not if somebody left.
#[derive(Debug)]
struct Mistaken;

/// How many pods are gone in a hypothesis.
#[derive(Clone, Debug)]
struct Gone(i32);

impl Plugin for Mistaken {
    fn name(&self) -> PluginName {
        "Mistaken"
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
}

impl PreFilterPlugin for Mistaken {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        state.write(Gone(0));
        PreFilterVerdict::Proceed
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for Mistaken {
    fn add_pod(&self, state: &mut CycleState, _: &PodView<'_>, _: &PodView<'_>, _: &NodeView<'_>) {
        let gone = state.read::<Gone>().unwrap().0;
        state.write(Gone(gone - 1));
    }

    fn remove_pod(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        _: &PodView<'_>,
        _: &NodeView<'_>,
    ) {
        let gone = state.read::<Gone>().unwrap().0;
        state.write(Gone(gone + 1));
    }
}

impl FilterPlugin for Mistaken {
    fn filter(&self, state: &CycleState, _: &PodView<'_>, _: &NodeView<'_>) -> FilterVerdict {
        match state.read::<Gone>() {
            Some(Gone(1..)) => FilterVerdict::Fits,
            _ => FilterVerdict::Rejected(Rejection::unschedulable("Mistaken", "somebody is here")),
        }
    }
}

impl Driver {
    fn mistaken(nodes: impl IntoIterator<Item = NodeBuilder>) -> Self {
        let mut driver = Self::preempting(nodes);
        let mut profile = driver.build(driver.spec.clone());
        let index = profile.plugins.len();
        profile.plugins.push(Arc::new(Mistaken));
        profile.points.pre_filter.push(index);
        profile.points.filter.push(index);
        driver
            .engine
            .handle(ClusterEvent::ProfilesChanged(vec![profile]));
        driver
    }
}

/// Who is evicted in the next attempt.
fn next_victims(driver: &mut Driver) -> Vec<String> {
    driver.wait(Duration::from_secs(30));
    driver.schedule();
    let evictions = driver.evictions().into_iter();
    evictions.map(|(_, name)| name).collect()
}

#[test]
fn a_node_that_refuses_the_pod_without_its_victims_loses_no_more() {
    let mut driver = Driver::mistaken([node("n", 9)]);
    for name in ["a", "b", "c"] {
        driver.pod(&low(name));
    }
    let preemptor = pod("preemptor", 10);
    driver.pod(&preemptor);
    driver.schedule();
    let (id, victim) = driver.eviction();
    driver.complete(id, done());
    driver.delete(&low(&victim));
    let message = driver.message();
    let in_vain = "1 Preemption is not helpful for scheduling.";
    assert!(message.ends_with(in_vain), "{message}");
    assert!(driver.evictions().is_empty());
    // Another pod on the node may be what is in the way now.
    driver.pod(&low("d"));
    driver.pod(&preemptor.label("changed", "yes"));
    assert_eq!(next_victims(&mut driver).len(), 1);
}

#[test]
fn two_that_take_and_make_room_in_turn_stop() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&low("v0"));
    let preemptor = pod("preemptor", 10);
    driver.pod(&preemptor);
    let mut evicted = 0;
    for round in 0..10 {
        let names = next_victims(&mut driver);
        if names.is_empty() {
            break;
        }
        evicted += 1;
        let uid = PodUid::of(&low(&names[0]).object());
        let id = driver.engine.cache().preemptions.eviction_of(&uid).unwrap();
        driver.complete(id, done());
        driver.delete(&low(&names[0]));
        // Somebody else places another pod there before the preemptor's turn.
        driver.pod(&low(&format!("v{}", round + 1)));
    }
    assert_eq!(evicted, 3);
    // After a while it may try again.
    driver.wait(Duration::from_mins(5));
    assert_eq!(next_victims(&mut driver).len(), 1);
}

#[test]
fn a_node_that_changed_is_tried_again() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&low("v0"));
    driver.pod(&pod("preemptor", 10));
    for round in 0..3 {
        driver.wait(Duration::from_secs(30));
        driver.preempt();
        driver.delete(&low(&format!("v{round}")));
        driver.pod(&low(&format!("v{}", round + 1)));
    }
    assert_eq!(next_victims(&mut driver), [""; 0]);
    driver.node(&node("n", 1).label("changed", "yes"));
    assert_eq!(next_victims(&mut driver), ["v3"]);
}
