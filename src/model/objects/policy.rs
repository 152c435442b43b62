//! Budgets of disruption, which preemption respects where it can.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::model::objects::{metadata, null_as_default, resource};

/// A budget of disruptions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudget {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodDisruptionBudgetSpec,
    /// What its controller counted.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodDisruptionBudgetStatus,
}

/// The part of `spec` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetSpec {
    /// Which pods.
    pub selector: Option<LabelSelector>,
}

/// The part of `status` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetStatus {
    /// How many pods may be disrupted now.
    #[serde(deserialize_with = "null_as_default")]
    pub disruptions_allowed: i32,
    /// How many pods have to stay healthy.
    #[serde(deserialize_with = "null_as_default")]
    pub desired_healthy: i32,
    /// Names of pods whose eviction was let through and is not seen yet.
    #[serde(deserialize_with = "null_as_default")]
    pub disrupted_pods: BTreeMap<String, Time>,
}

resource!(
    PodDisruptionBudget,
    NamespaceResourceScope,
    "policy",
    "PodDisruptionBudget",
    "poddisruptionbudgets"
);
