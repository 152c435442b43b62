//! Nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::model::objects::{metadata, null_as_default, resource};

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What the operator wants of the node.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: NodeSpec,
    /// What the kubelet says of it.
    #[serde(deserialize_with = "null_as_default")]
    pub status: NodeStatus,
}

/// The part of `spec` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Cordoned.
    #[serde(deserialize_with = "null_as_default")]
    pub unschedulable: bool,
    /// Taints in the order of the object.
    #[serde(deserialize_with = "null_as_default")]
    pub taints: Vec<Taint>,
}

/// The part of `status` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// Room for pods by resource name, as quantities.
    #[serde(deserialize_with = "null_as_default")]
    pub allocatable: BTreeMap<String, String>,
    /// Images on the node.
    #[serde(deserialize_with = "null_as_default")]
    pub images: Vec<ContainerImage>,
    /// Features that the node offers, sorted.
    #[serde(deserialize_with = "null_as_default")]
    pub declared_features: Vec<String>,
}

/// An image on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerImage {
    /// Names by which the image is known.
    #[serde(deserialize_with = "null_as_default")]
    pub names: Vec<String>,
    /// Size in bytes.
    #[serde(deserialize_with = "null_as_default")]
    pub size_bytes: i64,
}

resource!(Node, ClusterResourceScope, "", "Node", "nodes");
