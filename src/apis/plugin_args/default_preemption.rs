//! Arguments of the plugin DefaultPreemption.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;

/// How many nodes DefaultPreemption looks at. The number of candidates is
/// `max(nodes * minCandidateNodesPercentage / 100, minCandidateNodesAbsolute)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = kube::core::Rule::new(
    "self.minCandidateNodesPercentage > 0 || self.minCandidateNodesAbsolute > 0"
).message("set minCandidateNodesPercentage or minCandidateNodesAbsolute above 0"))]
pub struct DefaultPreemptionArgs {
    /// Least number of candidate nodes, in percent of all nodes: 0 to 100, default 10.
    #[serde(default = "ten_percent")]
    #[schemars(range(min = 0, max = 100))]
    pub min_candidate_nodes_percentage: i32,

    /// Least number of candidate nodes: 0 or more, default 100.
    #[serde(default = "hundred_nodes")]
    #[schemars(range(min = 0))]
    pub min_candidate_nodes_absolute: i32,
}

const fn ten_percent() -> i32 {
    10
}

const fn hundred_nodes() -> i32 {
    100
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self {
            min_candidate_nodes_percentage: ten_percent(),
            min_candidate_nodes_absolute: hundred_nodes(),
        }
    }
}

impl DefaultPreemptionArgs {
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        let percentage = i64::from(self.min_candidate_nodes_percentage);
        let absolute = i64::from(self.min_candidate_nodes_absolute);
        problems.check_range(
            format!("{path}.minCandidateNodesPercentage"),
            percentage,
            0,
            100,
        );
        problems.check_range(
            format!("{path}.minCandidateNodesAbsolute"),
            absolute,
            0,
            i64::from(i32::MAX),
        );
        if percentage == 0 && absolute == 0 {
            problems.add(
                path,
                "no node would be looked at",
                "set minCandidateNodesPercentage or minCandidateNodesAbsolute above 0",
            );
        }
    }
}
