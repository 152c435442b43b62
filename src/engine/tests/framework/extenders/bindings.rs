//! An extender binds instead of the plugins.

use super::*;

fn binding(ignorable: bool) -> serde_json::Value {
    json!([{"urlPrefix": "http://outside", "bindVerb": "bind", "ignorable": ignorable,
        "managedResources": [{"name": MANAGED, "ignoredByScheduler": true}]}])
}

/// A driver whose pod `p` is about to be bound by the extender.
fn bound_outside(ignorable: bool) -> (Driver, EffectId) {
    let mut driver = driver(&["a"], &binding(ignorable));
    driver.pod(&asked("p"));
    driver.placed();
    let id = driver.action("extender_binding");
    (driver, id)
}

#[test]
fn the_extender_binds_the_pods_that_it_is_interested_in() {
    let (mut driver, id) = bound_outside(false);
    driver.complete(id, done());
    assert_eq!(driver.events(), ["Scheduled"]);

    let mut driver = super::driver(&["a"], &binding(false));
    driver.pod(&make_pod("other"));
    driver.placed();
    driver.action("pod_binding");
}

#[test]
fn its_error_sends_the_pod_back_with_the_words_as_they_are() {
    let (mut driver, id) = bound_outside(false);
    driver.complete(id, failed("no such thing"));
    let condition = driver
        .effects
        .iter()
        .find_map(|effect| match &effect.action {
            EffectAction::PatchStatus(patch) => patch.condition.clone(),
            _ => None,
        });
    let condition = condition.expect("the pod must be told");
    assert_eq!(
        (condition.reason, &*condition.message),
        ("SchedulerError", "no such thing")
    );
    assert_eq!(driver.place(&asked("p")), Some(Place::Backoff));
    driver.wait(Duration::from_secs(10));
    assert_eq!(driver.placed(), "a", "its room is free again");
}

#[test]
fn the_plugins_bind_if_it_may_be_ignored() {
    let (mut driver, id) = bound_outside(true);
    driver.complete(id, failed("down"));
    let id = driver.action("pod_binding");
    driver.complete(id, done());
    assert_eq!(driver.events(), ["Scheduled"]);
}

#[test]
fn nobody_binds_when_another_replica_leads() {
    let (mut driver, id) = bound_outside(true);
    let failure = EffectFailure {
        kind: FailureKind::NotLeading,
        message: "another one leads".to_owned(),
    };
    driver.complete(id, EffectOutcome::Failed(failure));
    let actions = driver.actions();
    assert!(!actions.iter().any(|(_, name)| *name == "pod_binding"));
}

#[test]
fn it_is_not_asked_to_bind_to_a_node_that_is_gone_meanwhile() {
    let mut driver = Driver::new([small("a")]).with_probes(&[working("work")], &binding(false));
    driver.pod(&asked("p"));
    driver.placed();
    let nominating = driver.action("pod_status_patch");
    driver.effects.clear();
    driver
        .engine
        .handle(ClusterEvent::NodeDeleted(Arc::new(small("a").object())));
    driver.complete(nominating, done());
    let names: Vec<_> = driver.actions().into_iter().map(|(_, name)| name).collect();
    assert!(!names.contains(&"extender_binding"), "{names:?}");
    assert_eq!(driver.place(&asked("p")), Some(Place::Backoff));
}
