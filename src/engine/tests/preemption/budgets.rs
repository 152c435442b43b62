//! Disruption budgets while pods are being evicted.

use super::*;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::model::objects::PodDisruptionBudget;

/// The more important ones began earlier.
fn guarded(name: &str, minute: u32) -> PodBuilder {
    low(name)
        .label("app", "guarded")
        .status(json!({"startTime": format!("2024-01-01T00:{minute}:00Z")}))
}

/// Two guarded pods, of which one may go, and two others that are worth a little more.
fn scene_with_budget() -> Driver {
    let mut driver = Driver::preempting([node("n", 4)]);
    let budget = json!({"metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
        "status": {"disruptionsAllowed": 1, "desiredHealthy": 1}});
    let budget: PodDisruptionBudget = serde_json::from_value(budget).unwrap();
    let event = PodDisruptionBudget::event(ObjectEvent::Applied(Arc::new(budget)));
    driver.engine.handle(ClusterEvent::Listed(event));
    for pod in [guarded("a", 30), guarded("b", 31)] {
        driver.pod(&pod);
    }
    for name in ["c", "d"] {
        driver.pod(&low(name).status(json!({"startTime": "2024-01-01T00:10:00Z"})));
    }
    driver
}

#[test]
fn a_budget_is_not_used_up_twice_while_its_status_is_behind() {
    let mut driver = scene_with_budget();
    driver.pod(&pod("first", 10));
    driver.schedule().expect("a pod must be ready");
    let (id, first) = driver.eviction();
    driver.complete(id, done());
    driver.delete(&guarded(&first, 30));
    driver.pod(&pod("second", 10));
    let mut others = Vec::new();
    while driver.schedule().is_some() {
        while let [(id, name), ..] = &driver.evictions()[..] {
            others.push(name.clone());
            driver.complete(*id, done());
        }
    }
    assert_eq!(first, "a", "the budget must have allowed it");
    assert!(
        !others.is_empty() && !others.contains(&"b".to_owned()),
        "{others:?}"
    );
}
