//! `Permit`.

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

/// `leader` lets everybody go, `traitor` refuses itself and everybody, the others wait.
fn gang(pod: &str, waiting: &[PodUid]) -> PermitVerdict {
    let rejection = Rejection::unschedulable("gang", "the gang broke up");
    match pod {
        "leader" => PermitVerdict {
            allow: waiting.to_vec(),
            ..PermitVerdict::from(PermitDecision::Allow)
        },
        "traitor" => PermitVerdict {
            reject: waiting
                .iter()
                .map(|uid| (uid.clone(), rejection.clone()))
                .collect(),
            ..PermitVerdict::from(PermitDecision::Refuse(Refusal::Rejected(rejection)))
        },
        _ => PermitVerdict::from(PermitDecision::Wait(LIMIT)),
    }
}

fn driver(names: &[PluginName]) -> Driver {
    let probe = |name: &PluginName| Probe {
        permit: Some(gang),
        ..Probe::new(name)
    };
    let probes: Vec<_> = names.iter().map(probe).collect();
    Driver::new([small("n")]).with_probes(&probes, &json!([]))
}

#[test]
fn a_pod_waits_with_its_room_until_another_lets_it_go() {
    for plugins in [&["gang"][..], &["gang", "other"]] {
        let mut driver = driver(plugins);
        driver.pod(&make_pod("member").request("cpu", "1"));
        assert_eq!(driver.placed(), "n");
        driver.action("pod_status_patch");
        assert_eq!(driver.engine.next_deadline(), Some(driver.now + LIMIT));
        driver.pod(&make_pod("big").request("cpu", "1"));
        driver.message();
        driver.effects.clear();
        driver.pod(&make_pod("leader"));
        assert_eq!(driver.placed(), "n");
        let names: Vec<_> = driver.actions().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["pod_binding", "pod_binding"], "no second PATCH");
    }
}

#[test]
fn a_pod_that_refuses_itself_takes_those_that_wait_with_it() {
    let mut driver = driver(&["gang"]);
    let (member, traitor) = (make_pod("member").request("cpu", "1"), make_pod("traitor"));
    driver.pod(&member);
    driver.placed();
    driver.pod(&traitor);
    let message = "0/1 nodes are available: 1 the gang broke up.";
    assert_eq!(driver.message(), message);
    assert_eq!(driver.engine.cache_size().pods, 0);
    assert_eq!(driver.events(), ["FailedScheduling", "FailedScheduling"]);
    driver.delete(&member);
    driver.delete(&traitor);
    driver.assert_empty();
}

#[test]
fn a_pod_that_waited_too_long_goes_back_with_the_reason_and_frees_the_room() {
    let mut driver = driver(&["gang"]);
    let member = make_pod("member").request("cpu", "1");
    driver.pod(&member);
    driver.placed();
    driver.effects.clear();
    driver.wait(LIMIT.checked_sub(Duration::from_secs(1)).unwrap());
    assert_eq!(driver.engine.cache_size().pods, 1);
    driver.wait(Duration::from_secs(1));
    assert_eq!(driver.engine.cache_size().pods, 0);
    assert_eq!(driver.place(&member), Some(Place::Unschedulable));
    driver.schedule();
    let patch = driver
        .effects
        .iter()
        .find_map(|effect| match &effect.action {
            EffectAction::PatchStatus(patch) => Some(patch.clone()),
            _ => None,
        })
        .unwrap();
    assert_eq!(
        patch.condition.unwrap().message,
        "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin gang."
    );
    // The node that was written into its status is taken back, although it does not show it yet.
    assert_eq!(patch.nominated_node.as_deref(), Some(""));
    driver.delete(&member);
    driver.assert_empty();
}

#[test]
fn a_pod_that_changed_while_it_waited_is_tried_again() {
    let mut driver = driver(&["gang"]);
    let member = make_pod("member").request("cpu", "1");
    driver.pod(&member);
    driver.placed();
    driver.pod(&member.clone().label("changed", "yes"));
    assert_eq!(driver.engine.cache_size().pods, 1);
    driver.wait(LIMIT);
    assert_eq!(driver.place(&member), Some(Place::Backoff));
    driver.delete(&member);
    driver.assert_empty();
}

/// A pod that waits, and the calls of the plugin that holds it.
fn waiting() -> (Driver, PodBuilder, Arc<Mutex<Vec<String>>>) {
    let probe = Probe {
        permit: Some(gang),
        ..Probe::new("gang")
    };
    let log = Arc::clone(&probe.log);
    let mut driver = Driver::new([small("n"), small("full")]).with_probes(&[probe], &json!([]));
    driver.pod(&make_pod("filler").request("cpu", "1").on("full"));
    let member = make_pod("member").request("cpu", "1");
    driver.pod(&member);
    assert_eq!(driver.placed(), "n");
    driver.effects.clear();
    (driver, member, log)
}

#[test]
fn a_pod_that_somebody_else_binds_while_it_waits_is_let_go_at_once() {
    for (node, expected) in [("full", "pod_binding"), ("n", "pod_status_patch")] {
        let (mut driver, member, log) = waiting();
        driver.pod(&member.clone().on(node));
        assert_eq!(*log.lock().unwrap(), ["reserve gang", "unreserve gang"]);
        assert_eq!(driver.engine.next_deadline(), None);
        assert_eq!(driver.engine.cache_size().assumed_pods, 0);
        assert_eq!(driver.engine.cache_size().pods, 2);
        driver.wait(LIMIT);
        assert!(driver.engine.drain_effects().next().is_none());
        // Its room is free, unless it is there; and there is nobody that the leader could let go.
        let leader = make_pod("leader").request("cpu", "1");
        driver.pod(&leader.node_selector("kubernetes.io/hostname", "n"));
        driver.schedule();
        driver.action(expected);
        driver.engine.handle(ClusterEvent::PodsListed(Vec::new()));
        driver.assert_empty();
    }
}

#[test]
fn a_pod_that_is_deleted_while_it_waits_is_let_go_at_once() {
    let (mut driver, member, log) = waiting();
    driver.delete(&member);
    assert_eq!(*log.lock().unwrap(), ["reserve gang", "unreserve gang"]);
    assert_eq!(driver.engine.next_deadline(), None);
    assert_eq!(driver.engine.cache_size().pods, 1);
    driver.wait(LIMIT);
    assert!(driver.engine.drain_effects().next().is_none());
    driver.engine.handle(ClusterEvent::PodsListed(Vec::new()));
    driver.assert_empty();
    assert_eq!(log.lock().unwrap().len(), 2, "nothing is undone twice");
}

#[test]
fn a_pod_whose_profile_goes_while_it_waits_is_let_alone_when_it_comes_back() {
    let (mut driver, member, _) = waiting();
    driver
        .engine
        .handle(ClusterEvent::ProfilesChanged(Vec::new()));
    // The profile that placed it goes on holding it.
    assert_eq!(driver.place(&member), Some(Place::InFlight));
    assert_eq!(driver.engine.cache_size().assumed_pods, 1);
    driver.wait(LIMIT);
    assert_eq!(driver.place(&member), None);
    assert_eq!(driver.engine.cache_size().assumed_pods, 0);
    driver.engine.handle(ClusterEvent::PodsListed(Vec::new()));
    driver.assert_empty();
}
