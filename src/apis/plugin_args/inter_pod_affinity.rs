//! Arguments of the plugin InterPodAffinity.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;

/// How InterPodAffinity scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterPodAffinityArgs {
    /// Score weight of existing pods whose required affinity matches the incoming pod: 0 to 100,
    /// default 1.
    #[serde(default = "weight_one")]
    #[schemars(range(min = 0, max = 100))]
    pub hard_pod_affinity_weight: i32,

    /// Leave the preferred affinity of existing pods out of the score, unless the incoming pod has
    /// pod affinity itself. Faster on large clusters. Default false.
    #[serde(default)]
    pub ignore_preferred_terms_of_existing_pods: bool,
}

const fn weight_one() -> i32 {
    1
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self {
            hard_pod_affinity_weight: weight_one(),
            ignore_preferred_terms_of_existing_pods: false,
        }
    }
}

impl InterPodAffinityArgs {
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        let weight = i64::from(self.hard_pod_affinity_weight);
        problems.check_range(format!("{path}.hardPodAffinityWeight"), weight, 0, 100);
    }
}
