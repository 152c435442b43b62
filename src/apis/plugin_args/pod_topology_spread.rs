//! Arguments of the plugin PodTopologySpread.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;
use crate::apis::label_syntax;

/// Where the constraints of pods without constraints come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DefaultingType {
    /// The ones of Kubernetes: spread over nodes and zones where possible.
    #[default]
    System,
    /// The ones in `defaultConstraints`.
    List,
}

/// What happens to a pod that would break a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenUnsatisfiable {
    /// It waits.
    DoNotSchedule,
    /// It is placed, on the node that breaks the constraint least.
    ScheduleAnyway,
}

/// Whether a property of a node decides if the node counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NodeInclusionPolicy {
    /// The node counts only if the property suits the pod.
    Honor,
    /// The node counts anyway.
    Ignore,
}

/// A spread constraint for pods that have none. It has no label selector: that one follows from
/// the Service, ReplicaSet, StatefulSet or ReplicationController the pod belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultConstraint {
    /// How many pods more one domain may have than the emptiest one: 1 or more.
    #[schemars(range(min = 1))]
    pub max_skew: i32,

    /// Label of nodes whose values are the domains, for example topology.kubernetes.io/zone.
    #[schemars(length(min = 1, max = 317))]
    pub topology_key: String,

    /// What to do with a pod that would break the constraint: DoNotSchedule lets it wait,
    /// ScheduleAnyway places it where it harms least.
    pub when_unsatisfiable: WhenUnsatisfiable,

    /// Least number of domains that must exist; with fewer, the emptiest counts as empty. 1 or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_domains: Option<i32>,

    /// Whether nodes count that the pod's node affinity excludes: Honor (default, they do not) or
    /// Ignore.
    #[serde(default = "honor")]
    pub node_affinity_policy: NodeInclusionPolicy,

    /// Whether nodes count whose taints the pod does not tolerate: Honor (they do not) or Ignore
    /// (default).
    #[serde(default = "ignore")]
    pub node_taints_policy: NodeInclusionPolicy,

    /// Labels of the pod whose values other pods must share to be counted, for example
    /// pod-template-hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 317)))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Atomic)]
    pub match_label_keys: Vec<String>,
}

const fn honor() -> NodeInclusionPolicy {
    NodeInclusionPolicy::Honor
}

const fn ignore() -> NodeInclusionPolicy {
    NodeInclusionPolicy::Ignore
}

/// How PodTopologySpread treats pods without constraints of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = kube::core::Rule::new(
    "self.defaultingType == 'List' || !has(self.defaultConstraints) || self.defaultConstraints.size() == 0"
).message("set defaultingType to List to use defaultConstraints"))]
pub struct PodTopologySpreadArgs {
    /// Constraints for pods that have none. Needs `defaultingType: List`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(
        merge_strategy = kube::core::ListMerge::Atomic,
        validation = kube::core::Rule::new(
            "self.all(c, self.exists_one(d, d.topologyKey == c.topologyKey && d.whenUnsatisfiable == c.whenUnsatisfiable))"
        ).message("use each pair of topologyKey and whenUnsatisfiable once")
    )]
    pub default_constraints: Vec<DefaultConstraint>,

    /// Where the constraints of pods without constraints come from: System (default) spreads them
    /// over nodes and zones where possible, List uses `defaultConstraints`.
    #[serde(default)]
    pub defaulting_type: DefaultingType,
}

impl PodTopologySpreadArgs {
    /// `ValidatePodTopologySpreadArgs` of upstream.
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        if self.defaulting_type == DefaultingType::System && !self.default_constraints.is_empty() {
            problems.add(
                format!("{path}.defaultingType"),
                "System leaves defaultConstraints unused",
                "set defaultingType to List or remove defaultConstraints",
            );
        }
        for (i, constraint) in self.default_constraints.iter().enumerate() {
            let field = format!("{path}.defaultConstraints[{i}]");
            let skew = i64::from(constraint.max_skew);
            problems.check_range(format!("{field}.maxSkew"), skew, 1, i64::from(i32::MAX));
            if let Err(message) = label_syntax::check_key(&constraint.topology_key) {
                let remedy = "name a label of nodes, for example topology.kubernetes.io/zone";
                problems.add(format!("{field}.topologyKey"), message, remedy);
            }
            let same = |other: &DefaultConstraint| {
                other.topology_key == constraint.topology_key
                    && other.when_unsatisfiable == constraint.when_unsatisfiable
            };
            if self.default_constraints[..i].iter().any(same) {
                problems.add(
                    field,
                    "topologyKey and whenUnsatisfiable repeat those of a constraint before",
                    "use each pair of topologyKey and whenUnsatisfiable once",
                );
            }
        }
    }
}
