//! `Node` and what it consists of (k8s.io/api, `core/v1`).

use k8s_openapi::api::core::v1::Taint as ApiTaint;
use prost::Message;

use crate::kubernetes::protobuf::metadata::ObjectMeta;
use crate::kubernetes::protobuf::quantity::{Amount, resource_list};
use crate::kubernetes::protobuf::time::{Time, time};
use crate::kubernetes::protobuf::{DecodeError, each, omit_empty};
use crate::model::objects::node as model;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    spec: Option<NodeSpec>,
    #[prost(message, optional, tag = "3")]
    status: Option<NodeStatus>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeSpec {
    #[prost(bool, tag = "4")]
    unschedulable: bool,
    #[prost(message, repeated, tag = "5")]
    taints: Vec<Taint>,
}

#[derive(Clone, PartialEq, Message)]
struct Taint {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(string, tag = "3")]
    effect: String,
    #[prost(message, optional, tag = "4")]
    time_added: Option<Time>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeStatus {
    #[prost(message, repeated, tag = "2")]
    allocatable: Vec<Amount>,
    #[prost(message, repeated, tag = "8")]
    images: Vec<ContainerImage>,
    #[prost(string, repeated, tag = "14")]
    declared_features: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ContainerImage {
    #[prost(string, repeated, tag = "1")]
    names: Vec<String>,
    #[prost(int64, tag = "2")]
    size_bytes: i64,
}

impl TryFrom<Node> for model::Node {
    type Error = DecodeError;

    fn try_from(node: Node) -> Result<Self, DecodeError> {
        Ok(Self {
            metadata: node.metadata.unwrap_or_default().try_into()?,
            spec: node.spec.unwrap_or_default().try_into()?,
            status: node.status.unwrap_or_default().into(),
        })
    }
}

impl TryFrom<NodeSpec> for model::NodeSpec {
    type Error = DecodeError;

    fn try_from(spec: NodeSpec) -> Result<Self, DecodeError> {
        let taints = spec.taints.into_iter().map(ApiTaint::try_from);
        Ok(Self {
            unschedulable: spec.unschedulable,
            taints: taints.collect::<Result<_, _>>()?,
        })
    }
}

impl TryFrom<Taint> for ApiTaint {
    type Error = DecodeError;

    fn try_from(taint: Taint) -> Result<Self, DecodeError> {
        Ok(Self {
            effect: taint.effect,
            key: taint.key,
            time_added: time(taint.time_added)?,
            value: omit_empty(taint.value),
        })
    }
}

impl From<NodeStatus> for model::NodeStatus {
    fn from(status: NodeStatus) -> Self {
        Self {
            allocatable: resource_list(status.allocatable),
            images: each(status.images),
            declared_features: status.declared_features,
        }
    }
}

impl From<ContainerImage> for model::ContainerImage {
    fn from(image: ContainerImage) -> Self {
        Self {
            names: image.names,
            size_bytes: image.size_bytes,
        }
    }
}
