//! Arguments of the plugins NodeResourcesFit and NodeResourcesBalancedAllocation.

use std::collections::BTreeSet;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;
use super::function_shape::{self, UtilizationShapePoint};
use crate::apis::label_syntax;

/// A resource and how much it counts in a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSpec {
    /// Name of the resource, for example cpu, memory or example.com/gpu.
    #[schemars(length(min = 1, max = 317))]
    pub name: String,

    /// Weight of the resource: 1 to 100, default 1. 0 counts as 1.
    #[serde(default = "weight_one")]
    #[schemars(range(min = 0, max = 100))]
    pub weight: i64,
}

const fn weight_one() -> i64 {
    1
}

/// What is scored when nothing is said: `defaultResourceSpec` of upstream.
fn default_resources() -> Vec<ResourceSpec> {
    ["cpu", "memory"]
        .map(|name| ResourceSpec {
            name: name.to_owned(),
            weight: 1,
        })
        .into()
}

/// An empty list becomes the default one, a weight of 0 becomes 1, as upstream's defaulting does.
fn complete(resources: &mut Vec<ResourceSpec>) {
    if resources.is_empty() {
        *resources = default_resources();
    }
    for resource in resources.iter_mut().filter(|resource| resource.weight == 0) {
        resource.weight = 1;
    }
}

/// How a node's score follows from the room on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ScoringStrategyType {
    /// Prefer nodes with much room: spreads pods.
    #[default]
    LeastAllocated,
    /// Prefer nodes with little room: packs pods.
    MostAllocated,
    /// Score by a function of utilization that the profile gives.
    RequestedToCapacityRatio,
}

/// The function of utilization that RequestedToCapacityRatio uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedToCapacityRatioParam {
    /// Points of the function, which rise in utilization. Between points the score is
    /// interpolated. Example: `[{utilization: 0, score: 0}, {utilization: 100, score: 10}]` packs
    /// pods.
    #[schemars(length(min = 1, max = 101))]
    #[x_kube(
        merge_strategy = kube::core::ListMerge::Atomic,
        validation = kube::core::Rule::new(
            "self.map(p, p.utilization).isSorted() && self.all(p, self.exists_one(q, q.utilization == p.utilization))"
        ).message("sort the points by utilization and name each utilization once")
    )]
    pub shape: Vec<UtilizationShapePoint>,
}

/// How NodeResourcesFit scores nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = kube::core::Rule::new(
    "(self.type == 'RequestedToCapacityRatio') == has(self.requestedToCapacityRatio)"
).message("set requestedToCapacityRatio exactly when type is RequestedToCapacityRatio"))]
pub struct ScoringStrategy {
    /// Kind of strategy. LeastAllocated (default) spreads pods, MostAllocated packs them,
    /// RequestedToCapacityRatio follows the function in `requestedToCapacityRatio`.
    #[serde(default)]
    pub r#type: ScoringStrategyType,

    /// Resources that count in the score. Default: cpu and memory with weight 1 each.
    #[serde(default = "default_resources")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Atomic)]
    pub resources: Vec<ResourceSpec>,

    /// Function for the strategy RequestedToCapacityRatio; not allowed with the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatioParam>,
}

impl Default for ScoringStrategy {
    fn default() -> Self {
        Self {
            r#type: ScoringStrategyType::default(),
            resources: default_resources(),
            requested_to_capacity_ratio: None,
        }
    }
}

/// What NodeResourcesFit ignores and how it scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeResourcesFitArgs {
    /// Extended resources that are not checked when looking for room, for example example.com/gpu.
    /// Scores are not affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 317)))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Atomic)]
    pub ignored_resources: Vec<String>,

    /// Groups of extended resources that are not checked when looking for room: example.com stands
    /// for all resources whose name begins with example.com/. Scores are not affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[x_kube(
        merge_strategy = kube::core::ListMerge::Atomic,
        validation = kube::core::Rule::new("self.all(g, !g.contains('/'))")
            .message("name the group alone, without '/' and what follows it")
    )]
    pub ignored_resource_groups: Vec<String>,

    /// How nodes are scored. Default: LeastAllocated over cpu and memory.
    #[serde(default)]
    pub scoring_strategy: ScoringStrategy,
}

/// What NodeResourcesBalancedAllocation balances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeResourcesBalancedAllocationArgs {
    /// Resources whose use should be even. Default: cpu and memory. Every weight must be 1.
    #[serde(default = "default_resources")]
    #[schemars(length(max = 64))]
    #[x_kube(
        merge_strategy = kube::core::ListMerge::Map(vec!["name".into()]),
        validation = kube::core::Rule::new("self.all(r, r.weight <= 1)")
            .message("weights have no meaning here, leave them at 1")
    )]
    pub resources: Vec<ResourceSpec>,
}

impl Default for NodeResourcesBalancedAllocationArgs {
    fn default() -> Self {
        Self {
            resources: default_resources(),
        }
    }
}

// === impl NodeResourcesFitArgs ===

impl NodeResourcesFitArgs {
    pub(super) fn completed(mut self) -> Self {
        complete(&mut self.scoring_strategy.resources);
        self
    }

    /// `ValidateNodeResourcesFitArgs` of upstream.
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        const EXAMPLE: &str = "write it like example.com/gpu";
        for (i, name) in self.ignored_resources.iter().enumerate() {
            if let Err(message) = label_syntax::check_key(name) {
                problems.add(format!("{path}.ignoredResources[{i}]"), message, EXAMPLE);
            }
        }
        for (i, group) in self.ignored_resource_groups.iter().enumerate() {
            let field = format!("{path}.ignoredResourceGroups[{i}]");
            if group.contains('/') {
                let remedy = "name the group alone, without '/' and what follows it";
                problems.add(field, format!("{group:?} contains a '/'"), remedy);
            } else if let Err(message) = label_syntax::check_key(group) {
                problems.add(field, message, "write it like example.com");
            }
        }
        self.scoring_strategy
            .check(&format!("{path}.scoringStrategy"), problems);
    }
}

// === impl ScoringStrategy ===

impl ScoringStrategy {
    fn check(&self, path: &str, problems: &mut ArgProblems) {
        for (i, resource) in self.resources.iter().enumerate() {
            problems.check_range(
                format!("{path}.resources[{i}].weight"),
                resource.weight,
                1,
                100,
            );
        }
        let field = format!("{path}.requestedToCapacityRatio");
        match (self.r#type, &self.requested_to_capacity_ratio) {
            (ScoringStrategyType::RequestedToCapacityRatio, Some(ratio)) => {
                function_shape::check(&ratio.shape, &format!("{field}.shape"), problems);
            }
            (ScoringStrategyType::RequestedToCapacityRatio, None) => problems.add(
                field,
                "the strategy RequestedToCapacityRatio needs a shape",
                "give requestedToCapacityRatio.shape or choose another type",
            ),
            (ScoringStrategyType::LeastAllocated | ScoringStrategyType::MostAllocated, Some(_)) => {
                problems.add(
                    field,
                    "only the strategy RequestedToCapacityRatio takes a shape",
                    "remove the field or set type to RequestedToCapacityRatio",
                );
            }
            (ScoringStrategyType::LeastAllocated | ScoringStrategyType::MostAllocated, None) => {}
        }
    }
}

// === impl NodeResourcesBalancedAllocationArgs ===

impl NodeResourcesBalancedAllocationArgs {
    pub(super) fn completed(mut self) -> Self {
        complete(&mut self.resources);
        self
    }

    /// `ValidateNodeResourcesBalancedAllocationArgs` of upstream.
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        let mut seen = BTreeSet::new();
        for (i, resource) in self.resources.iter().enumerate() {
            if !seen.insert(&resource.name) {
                problems.add(
                    format!("{path}.resources[{i}].name"),
                    format!("{:?} is listed twice", resource.name),
                    "list every resource once",
                );
            }
            if resource.weight != 1 {
                problems.add(
                    format!("{path}.resources[{i}].weight"),
                    format!("{} is not 1", resource.weight),
                    "weights have no meaning here, leave them at 1",
                );
            }
        }
    }
}
