//! `PodStatus` and what it consists of (k8s.io/api, `core/v1`).

use prost::Message;

use crate::kubernetes::protobuf::containers::ResourceRequirements;
use crate::kubernetes::protobuf::quantity::{Amount, resource_list};
use crate::kubernetes::protobuf::time::{Time, time};
use crate::kubernetes::protobuf::{DecodeError, each, omit_empty};
use crate::model::objects::pod as model;

#[derive(Clone, PartialEq, Message)]
pub(super) struct PodStatus {
    #[prost(string, tag = "1")]
    phase: String,
    #[prost(message, repeated, tag = "2")]
    conditions: Vec<PodCondition>,
    #[prost(message, optional, tag = "7")]
    start_time: Option<Time>,
    #[prost(message, repeated, tag = "8")]
    container_statuses: Vec<ContainerStatus>,
    #[prost(message, repeated, tag = "10")]
    init_container_statuses: Vec<ContainerStatus>,
    #[prost(string, tag = "11")]
    nominated_node_name: String,
    #[prost(message, repeated, tag = "19")]
    allocated_resources: Vec<Amount>,
    #[prost(message, optional, tag = "20")]
    resources: Option<ResourceRequirements>,
}

#[derive(Clone, PartialEq, Message)]
struct PodCondition {
    #[prost(string, tag = "1")]
    type_: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(string, tag = "5")]
    reason: String,
    #[prost(string, tag = "6")]
    message: String,
    #[prost(int64, tag = "7")]
    observed_generation: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ContainerStatus {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "10")]
    allocated_resources: Vec<Amount>,
    #[prost(message, optional, tag = "11")]
    resources: Option<ResourceRequirements>,
}

impl TryFrom<PodStatus> for model::PodStatus {
    type Error = DecodeError;

    fn try_from(status: PodStatus) -> Result<Self, DecodeError> {
        Ok(Self {
            phase: omit_empty(status.phase),
            nominated_node_name: omit_empty(status.nominated_node_name),
            start_time: time(status.start_time)?,
            conditions: each(status.conditions),
            container_statuses: each(status.container_statuses),
            init_container_statuses: each(status.init_container_statuses),
            resources: status.resources.map(Into::into),
            allocated_resources: resource_list(status.allocated_resources),
        })
    }
}

impl From<PodCondition> for model::PodCondition {
    fn from(condition: PodCondition) -> Self {
        Self {
            type_: condition.type_,
            status: condition.status,
            reason: omit_empty(condition.reason),
            message: omit_empty(condition.message),
            observed_generation: omit_empty(condition.observed_generation),
        }
    }
}

impl From<ContainerStatus> for model::ContainerStatus {
    fn from(status: ContainerStatus) -> Self {
        Self {
            name: status.name,
            allocated_resources: resource_list(status.allocated_resources),
            resources: status.resources.map(Into::into),
        }
    }
}
