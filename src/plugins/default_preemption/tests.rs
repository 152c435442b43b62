//! Decisions of the default profile with preemption, ties by name.

mod budgets;
mod choice;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::apis::effective_profile::EffectiveProfile;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::engine::decision::Outcome;
use crate::engine::effect::EffectAction;
use crate::engine::event::ClusterEvent;
use crate::engine::{Engine, EngineConfig};
use crate::model::objects::PodDisruptionBudget;
use crate::plugins::fixtures::{NodeBuilder, PodBuilder, make_node, make_pod};
use crate::plugins::registry::Registry;

/// A cluster in which pods are decided.
#[derive(Debug)]
struct Scene(Engine);

/// What is said about a pod that fits nowhere.
#[derive(Debug, PartialEq)]
struct Said {
    message: String,
    nominated: Option<String>,
    victims: Vec<String>,
}

impl Scene {
    fn new(tie_break: TieBreak, nodes: impl IntoIterator<Item = NodeBuilder>) -> Self {
        let mut engine = Engine::new(EngineConfig {
            tie_break,
            ..EngineConfig::default()
        });
        let spec = serde_json::from_value(json!({"schedulerName": "bayplan"})).unwrap();
        let effective = EffectiveProfile::try_new(&spec, &Registry).unwrap();
        let profile = Registry.build(&effective, 1, engine.symbols_mut()).unwrap();
        engine.handle(ClusterEvent::ProfilesChanged(vec![profile]));
        for node in nodes {
            engine.handle(ClusterEvent::NodeApplied(Arc::new(node.object())));
        }
        Self(engine)
    }

    fn with(mut self, pods: impl IntoIterator<Item = PodBuilder>) -> Self {
        for pod in pods {
            let pod = Arc::new(pod.object());
            self.0.handle(ClusterEvent::PodApplied(pod));
        }
        self
    }

    /// Adds a budget that selects by `selector` and allows `allowed` disruptions.
    fn with_budget(mut self, selector: &Value, allowed: i32, disrupted: &[&str]) -> Self {
        let time = |pod: &&str| ((*pod).to_owned(), json!("2024-01-01T00:00:00Z"));
        let disrupted: serde_json::Map<_, _> = disrupted.iter().map(time).collect();
        let budget: PodDisruptionBudget = serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": format!("{allowed} {selector}")},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed, "disruptedPods": disrupted},
        }))
        .unwrap();
        let event = PodDisruptionBudget::event(ObjectEvent::Applied(Arc::new(budget)));
        self.0.handle(ClusterEvent::Listed(event));
        self
    }

    fn decide(&mut self, pod: &PodBuilder) -> Said {
        let pod = Arc::new(pod.object());
        self.0.handle(ClusterEvent::PodApplied(pod));
        let decision = self.0.schedule_one().expect("the pod must be ready");
        let Outcome::Unschedulable { message } = decision.outcome else {
            panic!("the pod must not fit, but {:?}", decision.outcome)
        };
        assert_eq!(decision.post_filters, [NAME]);
        let name = |uid: &crate::model::pod_info::PodUid| uid.0.trim_start_matches("uid-").into();
        Said {
            message,
            nominated: decision.nominated_node.map(|node| node.to_string()),
            victims: decision.victims.iter().map(name).collect(),
        }
    }
}

/// A node with room for `cpu`.
fn node(name: &str, cpu: &str) -> NodeBuilder {
    make_node(name).allocatable(&[("cpu", cpu), ("pods", "9")])
}

/// A pod with one core on `node` that started at second `start`.
fn running(name: &str, node: &str, priority: i32, start: u32) -> PodBuilder {
    let start = format!("2024-01-01T00:00:{start:02}Z");
    make_pod(name)
        .on(node)
        .priority(priority)
        .request("cpu", "1")
        .status(json!({"startTime": start}))
}

/// A pod of priority 10.
fn preemptor(cpu: &str) -> PodBuilder {
    make_pod("preemptor").priority(10).request("cpu", cpu)
}

fn by_name(nodes: impl IntoIterator<Item = NodeBuilder>) -> Scene {
    Scene::new(TieBreak::Name, nodes)
}

#[test]
fn as_few_pods_as_needed_go_and_the_least_important_first() {
    let mut scene = by_name([node("n", "3")]).with([
        running("high", "n", 2, 9),
        running("low", "n", 1, 1),
        running("young", "n", 2, 10),
    ]);
    let said = scene.decide(&preemptor("2"));
    assert_eq!(
        said.message,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for \
         pod on node n, preempting 2 victims"
    );
    assert_eq!(said.nominated.as_deref(), Some("n"));
    assert_eq!(said.victims, ["young", "low"]);
}

#[test]
fn where_no_eviction_helps_the_message_says_why_node_by_node() {
    let mut scene = by_name([
        node("equals", "1"),
        node("small", "4"),
        node("tainted", "9").taint("a", "b", "NoSchedule"),
        node("tiny", "1"),
    ])
    .with([
        running("equal", "equals", 10, 1),
        running("lower", "small", 1, 1),
        running("a", "small", 10, 1),
        running("b", "small", 10, 1),
        running("lowest", "tiny", 1, 1),
    ]);
    let said = scene.decide(&preemptor("3"));
    assert_eq!(
        said.message,
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu. \
         preemption: 0/4 nodes are available: 1 Insufficient cpu, 3 Preemption is not helpful for \
         scheduling."
    );
    let said = by_name([node("equals", "1")])
        .with([running("equal", "equals", 10, 1)])
        .decide(&preemptor("1"));
    assert_eq!(
        said.message,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No \
         preemption victims found for incoming pod."
    );
    assert_eq!((said.nominated, said.victims), (None, vec![]));
}

#[test]
fn a_pod_that_never_preempts_says_so() {
    let mut scene = by_name([node("n", "1")]).with([running("low", "n", 1, 1)]);
    let pod = preemptor("1").spec(json!({"preemptionPolicy": "Never"}));
    let said = scene.decide(&pod);
    assert_eq!(
        said.message,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to \
         preemptionPolicy=Never."
    );
    assert_eq!(said.nominated, None);
}

#[test]
fn a_pod_whose_victims_are_on_their_way_out_waits_for_them() {
    let nominated = preemptor("1").status(json!({"nominatedNodeName": "n"}));
    let going = |reason: &str| {
        running("low", "n", 1, 1)
            .metadata(json!({"deletionTimestamp": "2024-01-01T00:01:00Z"}))
            .status(json!({"conditions": [
                {"type": "DisruptionTarget", "status": "True", "reason": reason}]}))
    };
    let said = by_name([node("n", "1")])
        .with([going("PreemptionByScheduler")])
        .decide(&nominated);
    let waits = "preemption: not eligible due to a terminating pod on the nominated node.";
    assert!(said.message.ends_with(waits), "{said:?}");
    assert_eq!(said.nominated.as_deref(), Some("n"));

    let said = by_name([node("n", "1")])
        .with([going("EvictionByEvictionAPI")])
        .decide(&nominated);
    assert_eq!(said.victims, ["low"]);

    let cordoned = [node("n", "1").unschedulable(), node("other", "1")];
    let said = by_name(cordoned)
        .with([going("PreemptionByScheduler"), running("x", "other", 1, 1)])
        .decide(&nominated);
    assert_eq!(said.nominated.as_deref(), Some("other"));
}

#[test]
fn a_nomination_that_does_not_help_any_more_is_cleared() {
    let mut scene = by_name([node("n", "1")]).with([running("equal", "n", 10, 1)]);
    let said = scene.decide(&preemptor("1").status(json!({"nominatedNodeName": "n"})));
    assert_eq!(said.nominated, None);
}

#[test]
fn pods_of_a_lower_priority_lose_their_nomination_for_the_node() {
    let waiting = |name: &str, priority: i32| {
        let pod = make_pod(name).priority(priority).request("cpu", "1");
        pod.status(json!({"nominatedNodeName": "n"})).gate("later")
    };
    let mut scene = by_name([node("n", "1")]).with([
        running("low", "n", 1, 1),
        waiting("lower", 9),
        waiting("higher", 11),
    ]);
    let said = scene.decide(&preemptor("1"));
    assert_eq!(
        said.nominated, None,
        "the room is promised to a more important pod"
    );

    let mut scene =
        by_name([node("n", "1")]).with([running("low", "n", 1, 1), waiting("lower", 9)]);
    assert_eq!(
        scene.decide(&preemptor("1")).nominated.as_deref(),
        Some("n")
    );
    let withdrawn: Vec<_> = scene
        .0
        .drain_effects()
        .filter(|effect| match &effect.action {
            EffectAction::PatchStatus(patch) => patch.nominated_node.as_deref() == Some(""),
            _ => false,
        })
        .map(|effect| effect.pod.name.to_string())
        .collect();
    assert_eq!(withdrawn, ["lower"]);
}
