//! `Pod` and `PodSpec` (k8s.io/api, `core/v1`).

use std::collections::BTreeMap;

use prost::Message;

use crate::kubernetes::protobuf::affinity::Affinity;
use crate::kubernetes::protobuf::containers::{
    Container, EphemeralContainer, ResourceRequirements,
};
use crate::kubernetes::protobuf::metadata::ObjectMeta;
use crate::kubernetes::protobuf::placement::{Toleration, TopologySpreadConstraint};
use crate::kubernetes::protobuf::pod_status::PodStatus;
use crate::kubernetes::protobuf::quantity::{Amount, resource_list};
use crate::kubernetes::protobuf::volumes::Volume;
use crate::kubernetes::protobuf::{DecodeError, each, omit_empty};
use crate::model::objects::pod as model;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Pod {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    spec: Option<PodSpec>,
    #[prost(message, optional, tag = "3")]
    status: Option<PodStatus>,
}

#[derive(Clone, PartialEq, Message)]
struct PodSpec {
    #[prost(message, repeated, tag = "1")]
    volumes: Vec<Volume>,
    #[prost(message, repeated, tag = "2")]
    containers: Vec<Container>,
    #[prost(btree_map = "string, string", tag = "7")]
    node_selector: BTreeMap<String, String>,
    #[prost(string, tag = "10")]
    node_name: String,
    #[prost(bool, tag = "11")]
    host_network: bool,
    #[prost(message, optional, tag = "18")]
    affinity: Option<Affinity>,
    #[prost(string, tag = "19")]
    scheduler_name: String,
    #[prost(message, repeated, tag = "20")]
    init_containers: Vec<Container>,
    #[prost(message, repeated, tag = "22")]
    tolerations: Vec<Toleration>,
    #[prost(int32, optional, tag = "25")]
    priority: Option<i32>,
    #[prost(string, optional, tag = "31")]
    preemption_policy: Option<String>,
    #[prost(message, repeated, tag = "32")]
    overhead: Vec<Amount>,
    #[prost(message, repeated, tag = "33")]
    topology_spread_constraints: Vec<TopologySpreadConstraint>,
    #[prost(message, repeated, tag = "34")]
    ephemeral_containers: Vec<EphemeralContainer>,
    #[prost(bool, optional, tag = "37")]
    host_users: Option<bool>,
    #[prost(message, repeated, tag = "38")]
    scheduling_gates: Vec<Named>,
    #[prost(message, repeated, tag = "39")]
    resource_claims: Vec<Named>,
    #[prost(message, optional, tag = "40")]
    resources: Option<ResourceRequirements>,
}

/// `PodSchedulingGate` and `PodResourceClaim`, which begin alike.
#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(string, tag = "1")]
    name: String,
}

impl TryFrom<Pod> for model::Pod {
    type Error = DecodeError;

    fn try_from(pod: Pod) -> Result<Self, DecodeError> {
        Ok(Self {
            metadata: pod.metadata.unwrap_or_default().try_into()?,
            spec: pod.spec.unwrap_or_default().into(),
            status: pod.status.unwrap_or_default().try_into()?,
        })
    }
}

impl From<PodSpec> for model::PodSpec {
    fn from(spec: PodSpec) -> Self {
        Self {
            node_name: omit_empty(spec.node_name),
            scheduler_name: omit_empty(spec.scheduler_name),
            priority: spec.priority,
            preemption_policy: spec.preemption_policy,
            node_selector: spec.node_selector,
            affinity: spec.affinity.map(Into::into),
            tolerations: each(spec.tolerations),
            topology_spread_constraints: each(spec.topology_spread_constraints),
            containers: each(spec.containers),
            init_containers: each(spec.init_containers),
            ephemeral_containers: each(spec.ephemeral_containers),
            host_network: spec.host_network,
            host_users: spec.host_users,
            overhead: resource_list(spec.overhead),
            resources: spec.resources.map(Into::into),
            scheduling_gates: each(spec.scheduling_gates),
            volumes: each(spec.volumes),
            resource_claims: each(spec.resource_claims),
        }
    }
}

impl From<Named> for model::SchedulingGate {
    fn from(gate: Named) -> Self {
        Self { name: gate.name }
    }
}

impl From<Named> for model::PodResourceClaim {
    fn from(claim: Named) -> Self {
        Self { name: claim.name }
    }
}
