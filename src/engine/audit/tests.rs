//! The checker finds nothing in an engine whose books are right, and every entry that is not.

mod books;

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::apis::effective_profile::EffectiveProfile;
use crate::engine::EngineConfig;
use crate::engine::effect::{EffectAction, EffectOutcome};
use crate::engine::event::ClusterEvent;
use crate::model::pod_class::NonZeroRequests;
use crate::model::timestamp::Timestamp;
use crate::plugins::fixtures::{NodeBuilder, PodBuilder, make_node, make_pod};
use crate::plugins::registry::Registry;

/// An engine, and what it was told.
struct Audited {
    engine: Engine,
    truth: Truth,
}

impl Audited {
    fn new() -> Self {
        let mut engine = Engine::new(EngineConfig::default());
        engine.tick(Timestamp::from_seconds(1_000));
        let truth = Truth {
            profiles: ["bayplan".to_owned()].into(),
            ..Truth::default()
        };
        let mut audited = Self { engine, truth };
        audited.profile(json!({"schedulerName": "bayplan"}));
        audited
    }

    fn profile(&mut self, spec: serde_json::Value) {
        let spec = serde_json::from_value(spec).unwrap();
        let effective = EffectiveProfile::try_new(&spec, &Registry).unwrap();
        let symbols = self.engine.symbols_mut();
        let profile = Registry.build(&effective, 1, symbols).unwrap();
        let event = ClusterEvent::ProfilesChanged(vec![profile]);
        self.engine.handle(event);
    }

    fn node(&mut self, node: &NodeBuilder) {
        let node = Arc::new(node.object());
        let name = node.metadata.name.clone().unwrap();
        self.truth.nodes.insert(name, Arc::clone(&node));
        self.engine.handle(ClusterEvent::NodeApplied(node));
    }

    fn pod(&mut self, pod: &PodBuilder) {
        let pod = Arc::new(pod.object());
        let key = PodKey::of(&pod.metadata);
        self.truth.placed.remove(&PodUid::of(&pod));
        if let Some(node) = &pod.status.nominated_node_name {
            let nominations = &mut self.truth.nominations;
            let node = Some(node.clone());
            let nominated = Nominated {
                node,
                decided: None,
            };
            nominations.insert(PodUid::of(&pod), nominated);
        }
        self.truth.pods.insert(key, Arc::clone(&pod));
        self.engine.handle(ClusterEvent::PodApplied(pod));
    }

    /// Places the pod that is ready.
    fn place(&mut self) -> String {
        let decision = self.engine.schedule_one().unwrap();
        let crate::engine::decision::Outcome::Scheduled { node } = decision.outcome else {
            panic!("the pod must be placed, not {:?}", decision.outcome);
        };
        for effect in self.engine.drain_effects() {
            if !matches!(effect.action, EffectAction::RecordEvent(_)) {
                self.truth.under_way.insert(effect.id);
            }
        }
        let placement = Placement {
            node: Arc::clone(&node),
            pod: Arc::clone(&self.truth.pods[&decision.pod]),
            is_bound: false,
        };
        self.truth.placed.insert(decision.uid, placement);
        node.to_string()
    }

    fn findings(&self) -> Vec<String> {
        let found = Auditor::default().audit(&self.engine, &self.truth);
        found.into_iter().map(|finding| finding.0).collect()
    }

    /// The checker finds this, and found nothing before.
    fn notices(&mut self, tamper: impl FnOnce(&mut Engine, &mut Truth), text: &str) {
        assert_eq!(self.findings(), [""; 0]);
        tamper(&mut self.engine, &mut self.truth);
        let found = self.findings();
        assert!(
            found.iter().any(|finding| finding.contains(text)),
            "{text:?} is not in {found:?}"
        );
    }
}

/// A pod on a node, one on its way, one that waits.
fn busy() -> Audited {
    let mut audited = Audited::new();
    audited.node(&make_node("n").label("zone", "a").image(&["nginx:1"], 9));
    let term = json!({"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"});
    let apart = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let running = make_pod("running").spec(apart).host_port("", "TCP", 80);
    audited.pod(&running.label("app", "db").request("cpu", "1").on("n"));
    audited.pod(
        &make_pod("placed")
            .request("example.com/gpu", "0")
            .label("app", "db"),
    );
    audited.place();
    audited.pod(&make_pod("large").request("cpu", "5000"));
    audited.engine.schedule_one();
    audited.engine.drain_effects().for_each(drop);
    audited
}

#[test]
fn books_that_are_right_pass_from_the_first_event_to_the_last() {
    let mut audited = busy();
    assert_eq!(audited.findings(), [""; 0]);
    let id = *audited.truth.under_way.first().unwrap();
    audited.truth.under_way.clear();
    let outcome = EffectOutcome::Done {
        resource_version: None,
    };
    audited
        .engine
        .handle(ClusterEvent::EffectCompleted { id, outcome });
    for placement in audited.truth.placed.values_mut() {
        placement.is_bound = true;
    }
    assert_eq!(audited.findings(), [""; 0]);
    audited.pod(&make_pod("placed").request("example.com/gpu", "0").on("n"));
    assert_eq!(audited.findings(), [""; 0]);
    audited.engine.handle(ClusterEvent::PodsListed(Vec::new()));
    audited.truth.pods.clear();
    assert_eq!(audited.findings(), [""; 0]);
}

#[test]
fn a_counter_of_a_node_that_is_off_is_noticed() {
    let slot = 0;
    busy().notices(
        |engine, _| engine.cache.nodes.requested[slot].milli_cpu -= 1,
        "what pods request of node n",
    );
    busy().notices(
        |engine, _| engine.cache.nodes.non_zero_requested[slot] = NonZeroRequests::default(),
        "what scores count of node n",
    );
    busy().notices(
        |engine, _| {
            engine.cache.nodes.used_ports[slot] = crate::model::host_port::UsedPorts::default();
        },
        "the ports in use of node n",
    );
    busy().notices(
        |engine, _| engine.cache.nodes.pods[slot].clear(),
        "the pods of node n",
    );
    busy().notices(
        |engine, _| {
            let images = engine.cache.nodes.facts[slot]
                .as_ref()
                .unwrap()
                .images
                .clone();
            engine.cache.nodes.images.add(&images);
        },
        "nodes by image",
    );
    busy().notices(
        |engine, _| engine.cache.nodes.allowed_pods[slot] = 3,
        "the room for pods of node n",
    );
}

#[test]
fn a_domain_that_is_counted_wrongly_is_noticed() {
    busy().notices(
        |engine, _| {
            let mut topology = std::mem::take(&mut engine.cache.topology);
            topology.carried =
                crate::engine::cache::topology::carried_terms::CarriedTerms::default();
            engine.cache.topology = topology;
        },
        "the count of carried terms",
    );
}

#[test]
fn a_pod_that_is_lost_or_left_over_is_noticed() {
    let uid = |name: &str| PodUid::of(&make_pod(name).object());
    busy().notices(
        |engine, _| drop(engine.queue.delete(&uid("large"))),
        "pod default/large should be in the queue; it is nowhere",
    );
    busy().notices(
        |engine, _| drop(engine.cache.remove_pod(&uid("running"))),
        "pod default/running should be on node n alone; it is nowhere",
    );
    busy().notices(
        |_, truth| drop(truth.pods.remove(&PodKey::new("default", "large"))),
        "pod default/large (uid-large) is in the queue and is gone",
    );
    busy().notices(
        |engine, _| engine.forget_assumed(&make_info(engine, "placed")),
        "should be on its way to on node n",
    );
    busy().notices(
        |engine, _| drop(engine.known.remove(&PodKey::new("default", "large"))),
        "pod default/large (uid-large) is in the queue and known as None",
    );
}

fn make_info(engine: &Engine, name: &str) -> crate::model::pod_info::PodInfo {
    let uid = PodUid::of(&make_pod(name).object());
    engine.cache.pod(&uid).unwrap().clone()
}

#[test]
fn a_reference_too_many_or_too_few_is_noticed() {
    busy().notices(
        |engine, _| {
            let info = make_info(engine, "running");
            drop(engine.cache.vocabulary.share_pod(&info));
        },
        "the number of references to pod class",
    );
    busy().notices(
        |engine, _| {
            let mut scope = engine.cache.vocabulary.symbols_mut().scope();
            scope.intern("web");
            std::mem::forget(scope.finish());
        },
        "the number of references to \"web\"",
    );
}

#[test]
fn a_wait_that_nothing_ends_is_noticed() {
    busy().notices(
        |_, truth| truth.under_way.clear(),
        "pod uid-placed waits for EffectId(1), which is not under way",
    );
}

#[test]
fn a_nomination_of_a_pod_that_is_gone_is_noticed() {
    let mut audited = busy();
    let nominated = make_pod("nominated").status(json!({"nominatedNodeName": "n"}));
    audited.pod(&nominated.gate("later"));
    audited.notices(
        |engine, truth| {
            let uid = PodUid::of(&make_pod("nominated").object());
            drop(engine.queue.delete(&uid));
            truth.pods.remove(&PodKey::new("default", "nominated"));
        },
        "pod default/nominated (uid-nominated) is nominated and is gone",
    );
}

#[test]
fn a_placement_without_room_is_noticed() {
    let mut audited = Audited::new();
    audited.node(
        &make_node("n")
            .allocatable(&[("cpu", "2"), ("pods", "2")])
            .taint("key", "value", "NoSchedule"),
    );
    audited.pod(
        &make_pod("running")
            .request("cpu", "1")
            .host_port("", "TCP", 80)
            .on("n"),
    );
    let found = |pod: &PodBuilder, others: &[PodBuilder]| {
        let others: Vec<_> = others.iter().map(PodBuilder::object).collect();
        let mut auditor = Auditor::default();
        let found = auditor.audit_placement(&audited.truth, &pod.object(), "n", &others);
        let found = found.into_iter().map(|finding| finding.0);
        found
            .map(|text| text.replace("pod p was placed on node n: ", ""))
            .collect::<Vec<_>>()
    };
    let pod = make_pod("p").toleration("key", "Exists", "", "");
    assert_eq!(found(&pod.clone().request("cpu", "1"), &[]), [""; 0]);
    assert_eq!(
        found(&pod.clone().request("cpu", "1500m"), &[]),
        ["of 2000 cpu it has given 1000, and 1500 are wanted"]
    );
    assert_eq!(
        found(&pod.clone(), &[make_pod("unseen")]),
        ["it takes 2 pods and has 2"]
    );
    assert_eq!(found(&pod.clone(), &[make_pod("running")]), [""; 0]);
    assert_eq!(
        found(&make_pod("p"), &[]),
        ["its taint key is not tolerated"]
    );
    assert_eq!(
        found(&pod.host_port("10.0.0.1", "TCP", 80), &[]),
        ["port (\"TCP\", 80, \"0.0.0.0\") is in use"]
    );
}
