//! Nodes, pods and priority classes in a few words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Container, ContainerPort, EphemeralVolumeSource, Node, NodeAffinity, NodeCondition,
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, NodeSpec, NodeStatus,
    PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource,
    Pod, PodSchedulingGate, PodSpec, ResourceRequirements, Taint, Toleration, Volume,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

fn quantities<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<String, Quantity> {
    entries
        .map(|(name, value)| (name.to_owned(), Quantity(value.to_owned())))
        .into()
}

/// A ready node with 4 CPUs, 16 GiB and room for 110 pods.
#[derive(Debug, Clone)]
pub(crate) struct NodeBuilder(Node);

/// Starts a node; its hostname label is its name.
pub(crate) fn make_node(name: &str) -> NodeBuilder {
    let ready = NodeCondition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        ..NodeCondition::default()
    };
    let status = NodeStatus {
        conditions: Some(vec![ready]),
        ..NodeStatus::default()
    };
    NodeBuilder(Node {
        metadata: metadata(name),
        spec: Some(NodeSpec::default()),
        status: Some(status),
    })
    .label("kubernetes.io/hostname", name)
    .allocatable("cpu", "4")
    .allocatable("memory", "16Gi")
    .allocatable("ephemeral-storage", "100Gi")
    .allocatable("pods", "110")
}

impl NodeBuilder {
    /// Sets a label.
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        let labels = self.0.metadata.labels.get_or_insert_default();
        labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Sets capacity and allocatable of a resource.
    pub(crate) fn allocatable(mut self, resource: &str, amount: &str) -> Self {
        let status = self.0.status.get_or_insert_default();
        for list in [&mut status.capacity, &mut status.allocatable] {
            list.get_or_insert_default()
                .insert(resource.to_owned(), Quantity(amount.to_owned()));
        }
        self
    }

    /// Adds a taint such as `NoSchedule`.
    pub(crate) fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        let taint = Taint {
            key: key.to_owned(),
            value: Some(value.to_owned()),
            effect: effect.to_owned(),
            ..Taint::default()
        };
        self.0
            .spec
            .get_or_insert_default()
            .taints
            .get_or_insert_default()
            .push(taint);
        self
    }

    /// Cordons it.
    pub(crate) fn unschedulable(mut self) -> Self {
        self.0.spec.get_or_insert_default().unschedulable = Some(true);
        self
    }

    /// The node.
    pub(crate) fn build(self) -> Node {
        self.0
    }
}

/// A pod with one container.
#[derive(Debug, Clone)]
pub(crate) struct PodBuilder(Pod);

/// Starts a pod in the namespace `default` for the scheduler `default-scheduler`.
pub(crate) fn make_pod(name: &str) -> PodBuilder {
    let container = Container {
        name: "main".to_owned(),
        image: Some("registry.k8s.io/pause:3.10".to_owned()),
        ..Container::default()
    };
    let spec = PodSpec {
        containers: vec![container],
        ..PodSpec::default()
    };
    PodBuilder(Pod {
        metadata: metadata(name),
        spec: Some(spec),
        ..Pod::default()
    })
    .namespace("default")
}

impl PodBuilder {
    fn spec(&mut self) -> &mut PodSpec {
        self.0.spec.get_or_insert_default()
    }

    fn container(&mut self) -> &mut Container {
        &mut self.spec().containers[0]
    }

    /// Moves it to another namespace.
    pub(crate) fn namespace(mut self, namespace: &str) -> Self {
        self.0.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// Sets a label.
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        let labels = self.0.metadata.labels.get_or_insert_default();
        labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Chooses the scheduler.
    pub(crate) fn scheduler(mut self, name: &str) -> Self {
        self.spec().scheduler_name = Some(name.to_owned());
        self
    }

    /// Sets what its container requests.
    pub(crate) fn requests(self, cpu: &str, memory: &str) -> Self {
        self.request("cpu", cpu).request("memory", memory)
    }

    /// Sets one request of its container; an extended resource is limited to the same amount.
    pub(crate) fn request(mut self, resource: &str, amount: &str) -> Self {
        let resources = self.container().resources.get_or_insert_default();
        let amounts = quantities([(resource, amount)]);
        if resource.contains('/') {
            resources
                .limits
                .get_or_insert_default()
                .extend(amounts.clone());
        }
        resources.requests.get_or_insert_default().extend(amounts);
        self
    }

    /// Adds an init container; one that restarts always is a sidecar.
    pub(crate) fn init_container(mut self, cpu: &str, memory: &str, sidecar: bool) -> Self {
        let containers = self.spec().init_containers.get_or_insert_default();
        containers.push(Container {
            name: format!("init-{}", containers.len()),
            image: Some("registry.k8s.io/pause:3.10".to_owned()),
            restart_policy: sidecar.then(|| "Always".to_owned()),
            resources: Some(ResourceRequirements {
                requests: Some(quantities([("cpu", cpu), ("memory", memory)])),
                ..ResourceRequirements::default()
            }),
            ..Container::default()
        });
        self
    }

    /// Takes a TCP port of the node.
    pub(crate) fn host_port(mut self, port: i32) -> Self {
        let ports = self.container().ports.get_or_insert_default();
        ports.push(ContainerPort {
            container_port: port,
            host_port: Some(port),
            ..ContainerPort::default()
        });
        self
    }

    /// Wants nodes with this label.
    pub(crate) fn node_selector(mut self, key: &str, value: &str) -> Self {
        let selector = self.spec().node_selector.get_or_insert_default();
        selector.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Requires nodes whose label has one of these values.
    pub(crate) fn node_affinity_in(mut self, key: &str, values: &[&str]) -> Self {
        let requirement = NodeSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
        };
        let term = NodeSelectorTerm {
            match_expressions: Some(vec![requirement]),
            ..NodeSelectorTerm::default()
        };
        let affinity = NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![term],
            }),
            ..NodeAffinity::default()
        };
        self.spec().affinity = Some(Affinity {
            node_affinity: Some(affinity),
            ..Affinity::default()
        });
        self
    }

    /// Tolerates a taint of any effect.
    pub(crate) fn toleration(mut self, key: &str, value: &str) -> Self {
        self.spec()
            .tolerations
            .get_or_insert_default()
            .push(Toleration {
                key: Some(key.to_owned()),
                operator: Some("Equal".to_owned()),
                value: Some(value.to_owned()),
                ..Toleration::default()
            });
        self
    }

    /// Names its priority class, which must exist.
    pub(crate) fn priority_class(mut self, name: &str) -> Self {
        self.spec().priority_class_name = Some(name.to_owned());
        self
    }

    /// Holds it back until the gate is lifted.
    pub(crate) fn gate(mut self, name: &str) -> Self {
        let gates = self.spec().scheduling_gates.get_or_insert_default();
        gates.push(PodSchedulingGate {
            name: name.to_owned(),
        });
        self
    }

    /// Mounts the volume of a claim of this name.
    pub(crate) fn claim(self, name: &str) -> Self {
        let source = PersistentVolumeClaimVolumeSource {
            claim_name: name.to_owned(),
            read_only: None,
        };
        self.volume(Volume {
            name: name.to_owned(),
            persistent_volume_claim: Some(source),
            ..Volume::default()
        })
    }

    /// Mounts a volume that lives and dies with the pod.
    pub(crate) fn ephemeral_claim(self, name: &str, claim: PersistentVolumeClaimSpec) -> Self {
        let template = PersistentVolumeClaimTemplate {
            metadata: None,
            spec: claim,
        };
        self.volume(Volume {
            name: name.to_owned(),
            ephemeral: Some(EphemeralVolumeSource {
                volume_claim_template: Some(template),
            }),
            ..Volume::default()
        })
    }

    fn volume(mut self, volume: Volume) -> Self {
        self.spec().volumes.get_or_insert_default().push(volume);
        self
    }

    /// Puts it on a node from the beginning.
    pub(crate) fn on(mut self, node: &str) -> Self {
        self.spec().node_name = Some(node.to_owned());
        self
    }

    /// The pod.
    pub(crate) fn build(self) -> Pod {
        self.0
    }
}

/// A priority class.
pub(crate) fn make_priority_class(name: &str, value: i32) -> PriorityClass {
    PriorityClass {
        metadata: metadata(name),
        value: Some(value),
        ..PriorityClass::default()
    }
}
