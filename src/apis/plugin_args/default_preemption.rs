//! Arguments of the plugin DefaultPreemption.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;

/// How many nodes DefaultPreemption looks at: all of them by default. With one of the fields it
/// stops at `max(nodes * minCandidateNodesPercentage / 100, minCandidateNodesAbsolute)` candidates,
/// as kube-scheduler does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = kube::core::Rule::new(
    "!has(self.minCandidateNodesPercentage) || !has(self.minCandidateNodesAbsolute) || \
     self.minCandidateNodesPercentage > 0 || self.minCandidateNodesAbsolute > 0"
).message("set minCandidateNodesPercentage or minCandidateNodesAbsolute above 0"))]
pub struct DefaultPreemptionArgs {
    /// Least number of candidate nodes, in percent of all nodes: 0 to 100. Without it 10 if
    /// minCandidateNodesAbsolute is set, else all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub min_candidate_nodes_percentage: Option<i32>,

    /// Least number of candidate nodes: 0 or more. Without it 100 if minCandidateNodesPercentage is
    /// set, else all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_candidate_nodes_absolute: Option<i32>,
}

/// Upstream's `minCandidateNodesPercentage`.
const TEN_PERCENT: i32 = 10;
/// Upstream's `minCandidateNodesAbsolute`.
const HUNDRED_NODES: i32 = 100;

impl DefaultPreemptionArgs {
    /// How many candidates are enough, in percent and at least; `None` asks for all.
    pub fn sample(&self) -> Option<(i32, i32)> {
        let (percentage, absolute) = (
            self.min_candidate_nodes_percentage,
            self.min_candidate_nodes_absolute,
        );
        let asked = percentage.is_some() || absolute.is_some();
        asked.then(|| {
            (
                percentage.unwrap_or(TEN_PERCENT),
                absolute.unwrap_or(HUNDRED_NODES),
            )
        })
    }

    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        let Some((percentage, absolute)) = self.sample() else {
            return;
        };
        let (percentage, absolute) = (i64::from(percentage), i64::from(absolute));
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
