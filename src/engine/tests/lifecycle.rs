//! Pods in the queue: gates, hints, backoff, resync, profiles, objects that cannot be read.

use super::*;

fn node(name: &str) -> NodeBuilder {
    make_node(name).allocatable(&[("cpu", "1"), ("pods", "9")])
}

#[test]
fn a_gated_pod_waits_and_goes_when_its_gates_are_gone() {
    let mut driver = Driver::new([make_node("n")]);
    let pod = make_pod("p").gate("wait");
    driver.pod(&pod);
    assert_eq!(driver.place(&pod), Some(Place::Gated));
    assert!(driver.schedule().is_none());
    driver.node(&make_node("m"));
    assert_eq!(driver.place(&pod), Some(Place::Gated));
    driver.pod(&make_pod("p"));
    driver.placed();
}

#[test]
fn only_changes_that_can_help_wake_a_pod() {
    let mut driver = Driver::new([node("a")]);
    let pod = make_pod("p").request("cpu", "2");
    driver.pod(&pod);
    driver.message();
    driver.node(&node("a").label("x", "y"));
    driver.node(&node("b"));
    assert_eq!(driver.place(&pod), Some(Place::Unschedulable));
    driver.node(&make_node("c"));
    assert_eq!(driver.place(&pod), Some(Place::Backoff));
    assert_eq!(driver.placed(), "c");
}

#[test]
fn a_toleration_added_to_a_waiting_pod_wakes_it() {
    let mut driver = Driver::new([make_node("n").taint("k", "v", "NoSchedule")]);
    let pod = make_pod("p");
    driver.pod(&pod);
    driver.message();
    driver.pod(&pod.toleration("k", "Exists", "", ""));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_taint_that_is_removed_wakes_the_pods_it_kept_away() {
    let mut driver = Driver::new([make_node("n").taint("not-ready", "", "NoSchedule")]);
    driver.pod(&make_pod("p"));
    driver.message();
    driver.node(&make_node("n"));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_pod_that_waited_five_minutes_is_tried_again_and_counted() {
    let mut driver = Driver::new([node("a")]);
    let pod = make_pod("p").request("cpu", "2");
    driver.pod(&pod);
    driver.message();
    driver.wait(Duration::from_secs(299));
    assert_eq!(driver.place(&pod), Some(Place::Unschedulable));
    driver.wait(Duration::from_secs(40));
    assert_eq!(driver.place(&pod), Some(Place::Active));
}

#[test]
fn the_condition_is_written_once_and_again_only_when_it_changes() {
    let patches = |driver: &Driver| {
        let patch = |e: &&Effect| matches!(e.action, EffectAction::PatchStatus(_));
        driver.effects.iter().filter(patch).count()
    };
    let mut driver = Driver::new([node("a")]);
    let pod = make_pod("p")
        .request("cpu", "2")
        .metadata(json!({"generation": 1}));
    driver.pod(&pod);
    let message = driver.message();
    assert_eq!(patches(&driver), 1);
    driver.pod(&pod.status(
        json!({"conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": message, "observedGeneration": 1}]}),
    ));
    driver.wait(Duration::from_secs(400));
    assert_eq!(driver.message(), message);
    assert_eq!(patches(&driver), 1);
    driver.node(&make_node("c").taint("k", "v", "NoSchedule"));
    driver.wait(Duration::from_secs(400));
    driver.message();
    assert_eq!(patches(&driver), 2);
}

#[test]
fn what_a_list_does_not_name_is_gone() {
    let mut driver = Driver::new([node("a"), node("b")]);
    let (stays, goes) = (make_pod("stays").on("a"), make_pod("goes").on("b"));
    driver.pod(&stays);
    driver.pod(&goes);
    driver.pod(&make_pod("pending").gate("g"));
    let new = make_pod("new");
    driver.node(&node("b"));
    driver
        .engine
        .handle(ClusterEvent::NodesListed(vec!["b".into()]));
    driver.pod(&stays);
    driver.pod(&new);
    let uids = [&stays, &new].map(|pod| PodUid::of(&pod.object()));
    driver
        .engine
        .handle(ClusterEvent::PodsListed(uids.to_vec()));
    assert_eq!(driver.engine.cache_size().nodes, 1);
    assert_eq!(driver.engine.cache_size().pods, 1);
    assert_eq!(driver.engine.queue().pods().count(), 1);
    assert_eq!(driver.placed(), "b");
}

#[test]
fn pods_of_a_profile_that_is_gone_leave_the_queue() {
    let mut driver = Driver::new([make_node("n")]);
    driver.pod(&make_pod("p"));
    driver.profile(json!({"schedulerName": "other"}));
    assert!(driver.schedule().is_none());
    driver.assert_empty();
    driver.pod(&make_pod("q").scheduler("other"));
    driver.placed();
}

#[test]
fn a_pod_that_is_being_deleted_is_skipped() {
    let mut driver = Driver::new([make_node("n")]);
    driver.pod(&make_pod("p").metadata(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})));
    assert_eq!(driver.outcome(), Outcome::Skipped);
    assert_eq!(driver.events(), ["FailedScheduling"]);
    driver.assert_empty();
}

#[test]
fn objects_that_cannot_be_read_are_set_aside_alone() {
    let mut driver = Driver::new([
        make_node("bad").allocatable(&[("cpu", "lots")]),
        node("good"),
    ]);
    assert_eq!(driver.engine.cache_size().nodes, 1);
    let bad = make_pod("bad").request("cpu", "abc");
    driver.pod(&bad);
    driver.pod(&make_pod("p"));
    assert_eq!(driver.placed(), "good");
    assert!(driver.schedule().is_none());
    let quarantine = driver.engine.quarantine().iter();
    let names: Vec<_> = quarantine.map(|(name, _)| name).collect();
    assert_eq!(names, ["node bad", "pod default/bad"]);
    assert_eq!(driver.events(), ["FailedScheduling"]);
    driver.node(&node("bad"));
    driver.pod(&make_pod("bad").request("cpu", "1"));
    driver.placed();
    assert!(driver.engine.quarantine().is_empty());
}

#[test]
fn a_node_that_cannot_be_read_any_more_wakes_the_pods_that_its_pods_kept_away() {
    let zonal = |name: &str| node(name).label("zone", "z");
    let mut driver = Driver::new([zonal("first"), zonal("second")]);
    driver.pod(&make_pod("loner").label("app", "a").on("first"));
    let term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}});
    let pod = make_pod("p").spec(json!({"affinity": {"podAntiAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}));
    driver.pod(&pod);
    driver.message();
    assert_eq!(driver.place(&pod), Some(Place::Unschedulable));
    driver.node(&zonal("first").allocatable(&[("cpu", "lots")]));
    assert_eq!(driver.place(&pod), Some(Place::Backoff));
    driver.wait(Duration::from_secs(2));
    assert_eq!(driver.placed(), "second");
}

#[test]
fn objects_that_cannot_be_read_are_forgotten_when_they_are_deleted() {
    let unreadable = || {
        let mut driver = Driver::new([make_node("bad").allocatable(&[("cpu", "lots")])]);
        driver.pod(&make_pod("bad").request("cpu", "abc"));
        driver.pod(&make_pod("bound").request("cpu", "abc").on("bad"));
        let found = driver.engine.take_observations().quarantined;
        let names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
        let expected = ["node bad", "pod default/bad", "pod default/bound"];
        assert_eq!(names, expected);
        assert_eq!(driver.engine.quarantine().len(), 3);
        driver.pod(&make_pod("bad").request("cpu", "abc"));
        assert!(driver.engine.take_observations().quarantined.is_empty());
        driver
    };
    let mut driver = unreadable();
    driver.delete(&make_pod("bad"));
    driver.pod(
        &make_pod("bound")
            .on("bad")
            .status(json!({"phase": "Failed"})),
    );
    let node = make_node("bad").object();
    driver
        .engine
        .handle(ClusterEvent::NodeDeleted(Arc::new(node)));
    assert!(driver.engine.quarantine().is_empty());
    let mut driver = unreadable();
    driver.engine.handle(ClusterEvent::NodesListed(Vec::new()));
    driver.engine.handle(ClusterEvent::PodsListed(Vec::new()));
    assert!(driver.engine.quarantine().is_empty());
}

#[test]
fn churn_leaves_nothing_behind() {
    let mut driver = Driver::new([make_node("n")]);
    let symbols = driver.engine.symbols_mut().len();
    for i in 0..200 {
        let pod = make_pod(&format!("p{i}"))
            .label("unique", &i.to_string())
            .node_selector("kubernetes.io/hostname", "n")
            .image(&format!("image-{i}"));
        driver.pod(&pod);
        driver.placed();
        driver.complete(
            driver.binding(),
            EffectOutcome::Done {
                resource_version: None,
            },
        );
        driver.pod(&pod.clone().on("n"));
        driver.delete(&pod.on("n"));
    }
    driver.assert_empty();
    assert_eq!(driver.engine.symbols_mut().len(), symbols);
}

#[test]
fn an_engine_after_a_panic_knows_the_labels_of_namespaces() {
    use crate::engine::cache::listers::{Listed, ObjectEvent};
    use crate::model::objects::Namespace;

    let labels = json!({"metadata": {"name": "default", "labels": {"team": "a"}}});
    let namespace: Namespace = serde_json::from_value(labels).unwrap();
    let mut driver = Driver::new([]);
    let event = Namespace::event(ObjectEvent::Applied(Arc::new(namespace)));
    driver.engine.handle(ClusterEvent::Listed(event));
    driver.engine = driver.engine.successor();
    driver.profile(json!({"schedulerName": "bayplan"}));
    driver.node(&make_node("n"));
    driver.pod(&make_pod("running").label("app", "web").on("n"));
    let term = json!({"topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "labelSelector": {"matchLabels": {"app": "web"}}});
    let terms = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    driver.pod(&make_pod("p").spec(json!({"affinity": {"podAntiAffinity": terms}})));
    assert_eq!(
        driver.message(),
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules. preemption: 0/1 \
         nodes are available: 1 No preemption victims found for incoming pod."
    );
}
