//! Scheduling classes of pods: everything in a pod that can influence its placement, compiled.
//!
//! Pods of one class get the same verdict from every plugin that does not look at labels, so that
//! verdicts can be kept per class (the successor of the equivalence cache).

use k8s_openapi::api::core::v1::NodeAffinity;
use thiserror::Error;

use crate::model::declared_features::FeatureSet;
use crate::model::host_port::HostPort;
use crate::model::node_selector::{NodeSelectorTerm, PreferredTerm};
use crate::model::objects::pod::{Pod, PodSpec};
use crate::model::pod_affinity::PodAffinity;
use crate::model::pod_volume::PodVolume;
use crate::model::quantity::InvalidQuantity;
use crate::model::requests::pod_requests;
use crate::model::resources::{Resources, summand};
use crate::model::symbols::{Symbol, SymbolScope};
use crate::model::taints::Toleration;
use crate::model::topology_spread::TopologySpreadConstraint;

/// What the pods of a class have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodClass {
    /// `spec.nodeSelector`, sorted by key.
    pub node_selector: Box<[(Symbol, Symbol)]>,
    /// Required node affinity; an empty list matches nothing, `None` everything.
    pub required_terms: Option<Box<[NodeSelectorTerm]>>,
    /// Preferred node affinity, in the order of the object.
    pub preferred_terms: Box<[PreferredTerm]>,
    /// Tolerations, in the order of the object.
    pub tolerations: Box<[Toleration]>,
    /// Ports on the node, of containers and sidecars.
    pub host_ports: Box<[HostPort]>,
    /// What the pod takes on its node (`resource.PodRequests`), as a summand.
    pub requests: Resources,
    /// What the pod asks a node for while it waits; differs if it has a status of a running one, and
    /// in amounts that are no summands.
    pub asked: Resources,
    /// CPU (thousandths) and memory (bytes) for scoring, containers without a request counted
    /// with the defaults (`GetNonzeroRequests`), as summands.
    pub non_zero_requests: NonZeroRequests,
    /// The same as scores see the pod itself; differs with pod-level requests, and in amounts that
    /// are no summands.
    pub scored_requests: NonZeroRequests,
    /// Images of containers, init containers and image volumes, normalised, one entry each.
    pub images: Box<[Symbol]>,
    /// Volumes that tie the pod to a place or count on a node, in the order of the object.
    pub volumes: Box<[PodVolume]>,
    /// The namespace of the pod, if it has claims: they are looked up there. Claims made for one
    /// pod also have its name, which is not part of the class.
    pub claim_namespace: Option<Symbol>,
    /// Affinity and anti-affinity to other pods.
    pub affinity: PodAffinity,
    /// Topology spread constraints in the order of the object.
    pub spread_constraints: Box<[TopologySpreadConstraint]>,
    /// Features that the node must declare.
    pub required_features: FeatureSet,
    /// What the pod needs that only a later release judges.
    pub unimplemented: UnimplementedNeeds,
}

/// CPU and memory with defaults for containers that request none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NonZeroRequests {
    /// Thousandths of a core.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
}

impl NonZeroRequests {
    /// See [`Resources::summand`].
    fn summand(self) -> Self {
        Self {
            milli_cpu: summand(self.milli_cpu),
            memory: summand(self.memory),
        }
    }

    /// Adds `other`.
    pub fn add(&mut self, other: Self) {
        self.milli_cpu = self.milli_cpu.saturating_add(other.milli_cpu);
        self.memory = self.memory.saturating_add(other.memory);
    }

    /// Subtracts `other`.
    pub fn subtract(&mut self, other: Self) {
        self.milli_cpu = self.milli_cpu.saturating_sub(other.milli_cpu);
        self.memory = self.memory.saturating_sub(other.memory);
    }
}

/// Needs that belong to plugins which do not exist yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnimplementedNeeds {
    /// Claims on devices: `DynamicResources`.
    pub resource_claims: bool,
}

/// A pod that cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("pod \"{namespace}/{name}\" cannot be scheduled: {field} is not valid; correct the pod")]
pub struct InvalidPod {
    namespace: String,
    name: String,
    field: &'static str,
    source: InvalidQuantity,
}

// === impl InvalidPod ===

impl InvalidPod {
    /// The error of `pod`, whose `field` cannot be read.
    pub fn new(pod: &Pod, field: &'static str, source: InvalidQuantity) -> Self {
        Self {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            field,
            source,
        }
    }
}

// === impl PodClass ===

impl PodClass {
    /// Compiles the class of a pod.
    pub fn compile(pod: &Pod, scope: &mut SymbolScope<'_>) -> Result<Self, InvalidPod> {
        let spec = &pod.spec;
        let requests = pod_requests(pod)
            .map_err(|source| InvalidPod::new(pod, "a resource request", source))?;
        let affinity = spec
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.node_affinity.as_ref());
        let volumes = compile_volumes(spec, scope);
        Ok(Self {
            claim_namespace: volumes
                .iter()
                .any(PodVolume::is_claim)
                .then(|| scope.intern(pod.metadata.namespace.as_deref().unwrap_or_default())),
            volumes,
            node_selector: compile_selector(spec, scope),
            required_terms: affinity
                .and_then(|a| {
                    a.required_during_scheduling_ignored_during_execution
                        .as_ref()
                })
                .map(|s| NodeSelectorTerm::compile_all(&s.node_selector_terms, scope)),
            preferred_terms: affinity
                .map(|a| compile_preferred(a, scope))
                .unwrap_or_default(),
            tolerations: spec
                .tolerations
                .iter()
                .map(|t| Toleration::compile(t, scope))
                .collect(),
            host_ports: compile_ports(spec, scope),
            requests: Resources::compile(&requests.amounts, scope).summand(),
            asked: Resources::compile(&requests.asked, scope),
            non_zero_requests: requests.non_zero.summand(),
            scored_requests: requests.scored,
            images: compile_images(spec, scope),
            affinity: compile_affinity(pod, scope),
            spread_constraints: spec
                .topology_spread_constraints
                .iter()
                .map(|constraint| TopologySpreadConstraint::compile(constraint, scope))
                .collect(),
            required_features: FeatureSet::required(spec),
            unimplemented: UnimplementedNeeds::of(spec),
        })
    }
}

fn compile_selector(spec: &PodSpec, scope: &mut SymbolScope<'_>) -> Box<[(Symbol, Symbol)]> {
    let mut pairs: Vec<_> = spec
        .node_selector
        .iter()
        .map(|(key, value)| (scope.intern(key), scope.intern(value)))
        .collect();
    pairs.sort_unstable();
    pairs.into_boxed_slice()
}

/// Terms without namespaces mean that of the pod.
fn compile_affinity(pod: &Pod, scope: &mut SymbolScope<'_>) -> PodAffinity {
    let Some(affinity) = &pod.spec.affinity else {
        return PodAffinity::default();
    };
    if affinity.pod_affinity.is_none() && affinity.pod_anti_affinity.is_none() {
        return PodAffinity::default();
    }
    let namespace = scope.intern(pod.metadata.namespace.as_deref().unwrap_or_default());
    PodAffinity::compile(affinity, namespace, scope)
}

fn compile_preferred(affinity: &NodeAffinity, scope: &mut SymbolScope<'_>) -> Box<[PreferredTerm]> {
    affinity
        .preferred_during_scheduling_ignored_during_execution
        .iter()
        .flatten()
        .enumerate()
        .map(|(index, preferred)| PreferredTerm {
            weight: preferred.weight,
            term: NodeSelectorTerm::compile(&preferred.preference, index, scope),
        })
        .collect()
}

/// Ports of containers and sidecars; those of other init containers do not count
/// (`schedutil.GetHostPorts`).
fn compile_ports(spec: &PodSpec, scope: &mut SymbolScope<'_>) -> Box<[HostPort]> {
    let sidecars = spec
        .init_containers
        .iter()
        .filter(|container| container.is_restartable());
    let mut ports: Vec<_> = sidecars
        .chain(&spec.containers)
        .flat_map(|container| &container.ports)
        .filter_map(|port| HostPort::compile(port, scope))
        .collect();
    ports.sort_unstable();
    ports.into_boxed_slice()
}

fn compile_images(spec: &PodSpec, scope: &mut SymbolScope<'_>) -> Box<[Symbol]> {
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let volumes = spec
        .volumes
        .iter()
        .filter_map(|volume| volume.image.as_ref());
    containers
        .map(|container| container.image.as_deref().unwrap_or(""))
        .chain(volumes.map(|image| image.reference.as_str()))
        .map(|image| scope.intern(&normalized_image_name(image)))
        .collect()
}

fn compile_volumes(spec: &PodSpec, scope: &mut SymbolScope<'_>) -> Box<[PodVolume]> {
    let volumes = spec.volumes.iter();
    volumes
        .filter_map(|volume| PodVolume::compile(volume, scope))
        .collect()
}

/// `:latest` is appended to a name without tag or digest (`normalizedImageName`).
fn normalized_image_name(name: &str) -> String {
    let last_path_part = name.rfind('/').map_or(0, |slash| slash + 1);
    if name[last_path_part..].contains(':') {
        name.to_owned()
    } else {
        format!("{name}:latest")
    }
}

// === impl UnimplementedNeeds ===

impl UnimplementedNeeds {
    fn of(spec: &PodSpec) -> Self {
        Self {
            resource_claims: !spec.resource_claims.is_empty(),
        }
    }
}
