//! What Bayplan reports about a profile. Only the leading replica writes it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The observed state of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerProfileStatus {
    /// Generation of the profile that the status was written for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Conditions of the profile. Accepted: the spec is valid. Active: the leader schedules by this
    /// generation. Ready: both, and nothing is degraded. Degraded is the only one that is bad when
    /// True: an older, valid generation is running, or a plugin had to be switched off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// Pods of this profile that wait for a node, by queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_pods: Option<PendingPods>,

    /// Identity of the replica that leads and wrote this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 316))]
    pub leader: Option<String>,
}

/// How many pods of a profile wait, by the queue that they wait in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingPods {
    /// Pods in all queues together.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub total: i64,

    /// Pods that are ready for their next attempt.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub active: i64,

    /// Pods that wait for the end of their backoff after a failed attempt.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub backoff: i64,

    /// Pods that fit nowhere and wait for a change in the cluster.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub unschedulable: i64,

    /// Pods that are held back, for example by scheduling gates.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub gated: i64,
}

impl PendingPods {
    /// The counts of the four queues with their sum.
    pub const fn new(active: i64, backoff: i64, unschedulable: i64, gated: i64) -> Self {
        let total = active + backoff + unschedulable + gated;
        Self {
            total,
            active,
            backoff,
            unschedulable,
            gated,
        }
    }
}
