//! Controllers and services: whose selectors say which pods are of one kind.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::model::objects::{metadata, null_as_default, resource};

/// A service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Service {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: LabelsSelectorSpec,
}

/// A replication controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicationController {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: LabelsSelectorSpec,
}

/// A replica set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSet {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: SelectorSpec,
}

/// A stateful set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatefulSet {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: SelectorSpec,
}

/// A `spec` whose selector is a set of labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelsSelectorSpec {
    /// Labels of the pods.
    #[serde(deserialize_with = "null_as_default")]
    pub selector: BTreeMap<String, String>,
}

/// A `spec` whose selector is one of labels and expressions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectorSpec {
    /// Which pods.
    pub selector: Option<LabelSelector>,
}

resource!(Service, NamespaceResourceScope, "", "Service", "services");
resource!(
    ReplicationController,
    NamespaceResourceScope,
    "",
    "ReplicationController",
    "replicationcontrollers"
);
resource!(
    ReplicaSet,
    NamespaceResourceScope,
    "apps",
    "ReplicaSet",
    "replicasets"
);
resource!(
    StatefulSet,
    NamespaceResourceScope,
    "apps",
    "StatefulSet",
    "statefulsets"
);
