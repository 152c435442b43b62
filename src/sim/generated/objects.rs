//! The generated objects.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinity,
    PodAffinityTerm, PodAntiAffinity, Taint, TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::model::objects::pod::{Container, ResourceList};
use crate::model::objects::{Node, Pod};
use crate::sim::generated::options::{GenerateOptions, Shape};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// The namespace of all pods.
const NAMESPACE: &str = "default";

/// Pods of a deployment.
const REPLICAS: u32 = 100;

/// One node of so many is reserved by a taint.
const NODES_PER_TAINT: u64 = 50;

/// CPU and memory of nodes: a quarter of a common machine, half of one, a whole one.
const NODE_SIZES: [(&str, &str); 3] = [("4", "16Gi"), ("8", "32Gi"), ("16", "64Gi")];

/// CPU and memory of pods.
const POD_SIZES: [(&str, &str); 4] = [
    ("100m", "128Mi"),
    ("250m", "256Mi"),
    ("500m", "1Gi"),
    ("1", "2Gi"),
];

/// What pods that run already request.
const RUNNING_SIZE: (&str, &str) = ("100m", "128Mi");

/// Makes the objects.
#[derive(Debug)]
pub(super) struct Objects {
    options: GenerateOptions,
    seed: u64,
    scheduler_name: String,
}

impl Objects {
    pub(super) fn new(options: GenerateOptions, seed: u64, scheduler_name: String) -> Self {
        Self {
            options,
            seed,
            scheduler_name,
        }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> {
        (0..self.options.nodes).map(|number| self.node(number))
    }

    /// The pods that run already, node by node.
    pub(super) fn running_pods(&self) -> impl Iterator<Item = Pod> {
        (0..self.options.nodes).flat_map(move |node| {
            (0..self.options.running).map(move |number| {
                let mut pod = self.pod(format!("running-{node}-{number}"), RUNNING_SIZE);
                pod.spec.node_name = Some(node_name(node));
                pod.status.phase = Some("Running".to_owned());
                pod
            })
        })
    }

    /// The waiting pod of this number with what it asks for.
    pub(super) fn pending_pod(&self, number: u32) -> (Shape, Pod) {
        let deployment = number / REPLICAS;
        let in_turn = Shape::ALL[deployment as usize % Shape::ALL.len()];
        let shape = self.options.workload.unwrap_or(in_turn);
        let size = pick(&POD_SIZES, mix(self.seed, 2, deployment));
        let mut pod = self.pod(format!("app-{deployment}-{}", number % REPLICAS), size);
        let labels = BTreeMap::from([("app".to_owned(), format!("app-{deployment}"))]);
        ask(&mut pod, shape, &labels);
        pod.metadata.labels = Some(labels);
        (shape, pod)
    }

    fn node(&self, number: u32) -> Node {
        let mut node = Node::default();
        let name = node_name(number);
        node.metadata.labels = Some(BTreeMap::from([
            (HOSTNAME.to_owned(), name.clone()),
            (ZONE.to_owned(), zone_name(number % self.options.zones)),
        ]));
        node.metadata.uid = Some(name.clone());
        node.metadata.name = Some(name);
        let drawn = mix(self.seed, 1, number);
        node.status.allocatable = amounts(pick(&NODE_SIZES, drawn));
        let pods = ("pods".to_owned(), "110".to_owned());
        node.status.allocatable.extend([pods]);
        if (drawn >> 32).is_multiple_of(NODES_PER_TAINT) {
            node.spec.taints.push(Taint {
                key: "dedicated".to_owned(),
                value: Some("infrastructure".to_owned()),
                effect: "NoSchedule".to_owned(),
                time_added: None,
            });
        }
        node
    }

    fn pod(&self, name: String, size: (&str, &str)) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some(NAMESPACE.to_owned());
        pod.metadata.uid = Some(name.clone());
        pod.metadata.name = Some(name);
        pod.spec.scheduler_name = Some(self.scheduler_name.clone());
        let mut container = Container {
            name: "main".to_owned(),
            ..Container::default()
        };
        container.resources.requests = amounts(size);
        pod.spec.containers.push(container);
        pod
    }
}

/// The zone of a generated node; `None` for another name.
pub(super) fn zone_of(node: &str, options: &GenerateOptions) -> Option<(u32, u32)> {
    let number: u32 = node.strip_prefix("node-")?.parse().ok()?;
    Some((number, number % options.zones))
}

/// Makes the pod ask for what its shape is about.
fn ask(pod: &mut Pod, shape: Shape, labels: &BTreeMap<String, String>) {
    let selector = Some(LabelSelector {
        match_labels: Some(labels.clone()),
        match_expressions: None,
    });
    let term = |topology_key: &str| PodAffinityTerm {
        topology_key: topology_key.to_owned(),
        label_selector: selector.clone(),
        ..PodAffinityTerm::default()
    };
    let mut affinity = Affinity::default();
    match shape {
        Shape::Plain => return,
        Shape::SpreadZone => {
            let constraint = TopologySpreadConstraint {
                max_skew: 1,
                topology_key: ZONE.to_owned(),
                when_unsatisfiable: "DoNotSchedule".to_owned(),
                label_selector: selector,
                ..TopologySpreadConstraint::default()
            };
            pod.spec.topology_spread_constraints.push(constraint);
            return;
        }
        Shape::AntiAffinityHost => {
            affinity.pod_anti_affinity = Some(PodAntiAffinity {
                required_during_scheduling_ignored_during_execution: Some(vec![term(HOSTNAME)]),
                ..PodAntiAffinity::default()
            });
        }
        Shape::AffinityZone => {
            affinity.pod_affinity = Some(PodAffinity {
                required_during_scheduling_ignored_during_execution: Some(vec![term(ZONE)]),
                ..PodAffinity::default()
            });
        }
        Shape::NodeAffinityZone => affinity.node_affinity = Some(in_zone(zone_name(0))),
    }
    pod.spec.affinity = Some(affinity);
}

fn in_zone(zone: String) -> NodeAffinity {
    let requirement = NodeSelectorRequirement {
        key: ZONE.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![zone]),
    };
    let term = NodeSelectorTerm {
        match_expressions: Some(vec![requirement]),
        match_fields: None,
    };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector {
            node_selector_terms: vec![term],
        }),
        ..NodeAffinity::default()
    }
}

fn node_name(number: u32) -> String {
    format!("node-{number}")
}

fn zone_name(number: u32) -> String {
    format!("zone-{number}")
}

fn amounts((cpu, memory): (&str, &str)) -> ResourceList {
    let amounts = [("cpu", cpu), ("memory", memory)];
    amounts
        .map(|(name, amount)| (name.to_owned(), amount.to_owned()))
        .into()
}

fn pick<T: Copy>(choices: &[T], drawn: u64) -> T {
    let count = choices.len() as u64;
    choices[usize::try_from(drawn % count).unwrap_or(0)]
}

/// A number that follows from the seed, spread evenly (the finaliser of `splitmix64`).
fn mix(seed: u64, kind: u64, number: u32) -> u64 {
    let mut mixed = seed ^ (kind << 32 | u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
