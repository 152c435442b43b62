//! What is kept of classes of pods never changes a decision: two engines go through the same
//! history, of which one looks at every node for every pod.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::model::objects::{Namespace, Pod, Service};

const ZONE: &str = "topology.kubernetes.io/zone";

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// Pods of a kind come, with labels of their own or those of the kind, and ask for so many
    /// thousandths of a CPU.
    Pods {
        kind: usize,
        count: usize,
        own_labels: bool,
        priority: i32,
        milli_cpu: u32,
    },
    /// A node comes or changes: its zone, its taint, its CPUs.
    Node(usize, Option<usize>, usize, usize),
    NodeGone(usize),
    /// A pod goes, or gets the labels of another kind.
    PodGone(usize),
    Relabeled(usize, usize),
    Service(usize),
    Namespace(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..KINDS, 1..5_usize, prop::bool::weighted(0.2), prop::bool::weighted(0.2), 0..3_u32)
            .prop_map(|(kind, count, own_labels, is_important, size)| Step::Pods {
                kind,
                count,
                own_labels,
                priority: if is_important { 10 } else { 0 },
                milli_cpu: [200, 200, 900][size as usize],
            }),
        2 => (0..6_usize, prop::option::weighted(0.8, 0..3_usize), 0..4_usize, 1..5_usize)
            .prop_map(|(node, zone, taint, cpu)| Step::Node(node, zone, taint, cpu)),
        1 => (0..6_usize).prop_map(Step::NodeGone),
        2 => (0..40_usize).prop_map(Step::PodGone),
        1 => (0..40_usize, 0..KINDS).prop_map(|(pod, kind)| Step::Relabeled(pod, kind)),
        1 => (0..3_usize).prop_map(Step::Service),
        1 => (0..2_usize).prop_map(Step::Namespace),
    ]
}

fn affinity(kind: &str, when: &str, topology_key: &str, app: &str) -> Value {
    let term = json!({"topologyKey": topology_key, "labelSelector": {"matchLabels": {"app": app}}});
    let terms = match when {
        "required" => json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]}),
        _ => json!({"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 7, "podAffinityTerm": term}]}),
    };
    json!({"affinity": {kind: terms}})
}

fn spread(constraints: &[(&str, &str, i32)]) -> Value {
    let constraint = |(key, when, skew): &(&str, &str, i32)| {
        json!({"topologyKey": key, "whenUnsatisfiable": when, "maxSkew": skew,
            "labelSelector": {"matchLabels": {"tier": "t"}}, "nodeTaintsPolicy": "Honor"})
    };
    json!({"topologySpreadConstraints": constraints.iter().map(constraint).collect::<Vec<_>>()})
}

const HOST: &str = "kubernetes.io/hostname";
const KINDS: usize = 15;

fn spec(kind: usize) -> Value {
    match kind {
        0 => json!({"containers": [{"name": "c", "image": "app:1"}]}),
        1 => json!({"nodeSelector": {ZONE: "z1"}}),
        2 => {
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 5, "preference": {"matchExpressions":
                [{"key": ZONE, "operator": "In", "values": ["z0"]}]}}]}}})
        }
        3 => json!({"tolerations": [{"operator": "Exists"}]}),
        4 => {
            json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]})
        }
        5 => affinity("podAntiAffinity", "required", HOST, "a5"),
        6 => affinity("podAffinity", "required", ZONE, "a6"),
        7 => affinity("podAffinity", "preferred", HOST, "a0"),
        8 => affinity("podAntiAffinity", "preferred", ZONE, "a8"),
        9 => spread(&[(ZONE, "DoNotSchedule", 1)]),
        10 => spread(&[(ZONE, "ScheduleAnyway", 1), (HOST, "ScheduleAnyway", 2)]),
        11 => spread(&[(HOST, "DoNotSchedule", 1), (ZONE, "DoNotSchedule", 2)]),
        12 => affinity("podAntiAffinity", "required", ZONE, "a3"),
        13 => {
            let mut spec = spread(&[(ZONE, "DoNotSchedule", 1), (HOST, "ScheduleAnyway", 1)]);
            spec["topologySpreadConstraints"][0]["matchLabelKeys"] = json!(["own", "app"]);
            spec
        }
        _ => affinity("podAffinity", "required", HOST, "a14"),
    }
}

fn labels(kind: usize) -> Value {
    let tier = if kind.is_multiple_of(2) { "t" } else { "u" };
    json!({"app": format!("a{kind}"), "tier": tier})
}

/// Two engines, the second without anything kept.
struct Twins {
    engines: [Driver; 2],
    pods: Vec<Value>,
    /// How many pods had a name so far.
    names: usize,
}

impl Twins {
    /// `spread_first`: the spread is judged before what a node is itself.
    fn new(tie_break: TieBreak, spread_first: bool) -> Self {
        let mut profile = json!({"schedulerName": "bayplan"});
        if spread_first {
            profile["plugins"] = json!({"filter": {"enabled": [{"name": "PodTopologySpread"}]}});
        }

        let twin = || {
            let mut driver = Driver::new([]);
            driver.engine = Engine::new(EngineConfig {
                seed: 1,
                tie_break,
                ..EngineConfig::default()
            });
            driver.wait(Duration::ZERO);
            driver.profile(profile.clone());
            driver
        };
        Self {
            engines: [twin(), twin()],
            pods: Vec::new(),
            names: 0,
        }
    }

    fn handle(&mut self, event: impl Fn() -> ClusterEvent) {
        for twin in &mut self.engines {
            twin.engine.handle(event());
        }
    }

    fn apply_pod(&mut self, pod: &Value) {
        let object: Arc<Pod> = Arc::new(serde_json::from_value(pod.clone()).unwrap());
        self.handle(|| ClusterEvent::PodApplied(Arc::clone(&object)));
    }

    fn apply<K: Listed + serde::de::DeserializeOwned>(&mut self, object: &Value) {
        let object: Arc<K> = Arc::new(serde_json::from_value(object.clone()).unwrap());
        let event = || ClusterEvent::Listed(K::event(ObjectEvent::Applied(Arc::clone(&object))));
        self.handle(event);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Pods {
                kind,
                count,
                own_labels,
                priority,
                milli_cpu,
            } => {
                for _ in 0..count {
                    self.new_pod(kind, own_labels, priority, milli_cpu);
                }
            }
            Step::Node(node, zone, taint, cpu) => self.new_node(node, zone, taint, cpu),
            Step::NodeGone(node) => {
                let node = Arc::new(make_node(&format!("n{node}")).object());
                self.handle(|| ClusterEvent::NodeDeleted(Arc::clone(&node)));
            }
            Step::PodGone(index) if index < self.pods.len() => self.pod_gone(index),
            Step::Relabeled(index, kind) if index < self.pods.len() => {
                self.pods[index]["metadata"]["labels"] = labels(kind);
                let pod = self.pods[index].clone();
                self.apply_pod(&pod);
            }
            Step::PodGone(_) | Step::Relabeled(..) => {}
            Step::Service(kind) => self.apply::<Service>(&json!({
                "metadata": {"name": format!("s{kind}"), "namespace": "default"},
                "spec": {"selector": {"app": format!("a{kind}")}}})),
            Step::Namespace(value) => self.apply::<Namespace>(&json!({
                "metadata": {"name": "default", "labels": {"team": format!("{value}")}}})),
        }
    }

    fn new_pod(&mut self, kind: usize, own_labels: bool, priority: i32, milli_cpu: u32) {
        self.names += 1;
        let name = format!("p{}", self.names);
        let mut spec = spec(kind);
        spec["priority"] = priority.into();
        spec["schedulerName"] = "bayplan".into();
        if !spec["containers"].is_array() {
            spec["containers"] = json!([{"name": "c"}]);
        }
        spec["containers"][0]["resources"] = json!({"requests": {"cpu": format!("{milli_cpu}m")}});
        let mut labels = labels(kind);
        if own_labels {
            labels["own"] = name.as_str().into();
        }
        let pod = json!({"metadata":
            {"name": name, "namespace": "default", "uid": name, "labels": labels}, "spec": spec});
        self.apply_pod(&pod);
        self.pods.push(pod);
    }

    fn pod_gone(&mut self, index: usize) {
        let pod = self.pods.swap_remove(index);
        let pod: Arc<Pod> = Arc::new(serde_json::from_value(pod).unwrap());
        self.handle(|| ClusterEvent::PodDeleted(Arc::clone(&pod)));
    }

    fn new_node(&mut self, node: usize, zone: Option<usize>, taint: usize, cpu: usize) {
        let name = format!("n{node}");
        let mut built = make_node(&name).allocatable(&[
            ("cpu", &cpu.to_string()),
            ("memory", "8Gi"),
            ("pods", "12"),
        ]);
        if let Some(zone) = zone {
            built = built.label(ZONE, &format!("z{zone}"));
        }
        // Now and then two nodes claim to be one host.
        let host = if cpu == 4 && node == 5 { "n0" } else { &name };
        built = built.label(HOST, host);
        let effects = ["PreferNoSchedule", "NoSchedule"];
        if let Some(effect) = effects.get(taint) {
            built = built.taint("k", "v", effect);
        }
        if cpu == 3 {
            built = built.image(&["app:1"], 700 * 1024 * 1024);
        }
        let node = Arc::new(built.object());
        self.handle(|| ClusterEvent::NodeApplied(Arc::clone(&node)));
    }

    /// Carries out what is to be done: bindings and evictions.
    fn carry_out(&mut self) {
        let mut evicted = std::collections::BTreeSet::new();
        for twin in &mut self.engines {
            let effects: Vec<_> = twin.engine.drain_effects().collect();
            for effect in effects {
                twin.effects.push(effect.clone());
                if let EffectAction::Evict(_) = &effect.action {
                    evicted.insert(effect.pod.name.to_string());
                } else if !matches!(effect.action, EffectAction::Bind { .. }) {
                    continue;
                }
                let outcome = EffectOutcome::Done {
                    resource_version: None,
                };
                let id = effect.id;
                twin.engine
                    .handle(ClusterEvent::EffectCompleted { id, outcome });
            }
        }
        for name in evicted {
            let mut pods = self.pods.iter();
            let index = pods.position(|pod| pod["metadata"]["name"] == *name);
            if let Some(index) = index {
                self.pod_gone(index);
            }
        }
    }

    /// Decides all pods that are ready, by each in its way, and binds those that were placed.
    fn decide(&mut self) -> Result<(), TestCaseError> {
        for twin in &mut self.engines {
            twin.wait(Duration::from_secs(10));
        }
        for _ in 0..64 {
            let kept = self.engines[0].engine.schedule_one();
            let searched = self.engines[1].engine.schedule_one_with(|_| ());
            prop_assert_eq!(told(kept.as_ref()), told(searched.as_ref()));
            let Some(decision) = kept else {
                return Ok(());
            };
            self.carry_out();
            if let Outcome::Scheduled { node } = decision.outcome {
                let name = decision.pod.name.to_string();
                let mut pods = self.pods.iter_mut();
                let pod = pods.find(|pod| pod["metadata"]["name"] == *name);
                if let Some(pod) = pod {
                    pod["spec"]["nodeName"] = node.to_string().into();
                    let pod = pod.clone();
                    self.apply_pod(&pod);
                }
            }
        }
        Ok(())
    }
}

/// Everything that a decision says. Of a pod that found a node only the outcome and the number of
/// nodes that fit are kept.
fn told(decision: Option<&Decision>) -> Option<String> {
    let decision = decision?;
    let (pod, count) = (&decision.pod, decision.feasible_count);
    Some(match &decision.outcome {
        Outcome::Scheduled { node } => format!("{pod} fits {count} nodes, goes to {node}"),
        _ => format!("{decision:?}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_of_classes_changes_no_decision(
        steps in proptest::collection::vec(step(), 1..40),
        by_name in any::<bool>(),
        spread_first in prop::bool::weighted(0.2),
    ) {
        let tie_break = if by_name { TieBreak::Name } else { TieBreak::Seeded };
        let mut twins = Twins::new(tie_break, spread_first);
        for node in 0..5 {
            twins.step(&Step::Node(node, Some(node % 3), 2, 1 + node % 3));
        }
        for step in &steps {
            twins.step(step);
            twins.decide()?;
        }
    }
}

#[test]
fn pods_that_fit_nowhere_are_refused_by_what_the_first_ones_left() {
    let mut twins = Twins::new(TieBreak::Seeded, false);
    for node in 0..5 {
        twins.step(&Step::Node(node, Some(node % 3), node % 2, 1));
    }
    for kind in 0..KINDS {
        twins.step(&Step::Pods {
            kind,
            count: 12,
            own_labels: false,
            priority: i32::try_from(kind % 3).unwrap(),
            milli_cpu: 1_900,
        });
        twins.decide().unwrap();
    }
    let decided = twins.engines[0].engine.classes.decided;
    assert!(decided > 100, "only {decided} decisions were by class");
}

#[test]
fn the_second_pod_of_a_class_is_decided_by_what_the_first_left() {
    let mut twins = Twins::new(TieBreak::Seeded, false);
    for node in 0..5 {
        twins.step(&Step::Node(node, Some(node % 3), 2, 2));
    }
    for kind in 0..KINDS {
        twins.step(&Step::Pods {
            kind,
            count: 4,
            own_labels: false,
            priority: 0,
            milli_cpu: 200,
        });
        twins.decide().unwrap();
    }
    let decided = twins.engines[0].engine.classes.decided;
    assert!(decided > 20, "only {decided} decisions were by class");
}
