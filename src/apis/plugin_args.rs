//! The arguments of plugins, one type a plugin, and `spec.pluginConfig` which holds them.
//!
//! Names, meanings, defaults and bounds are those of kube-scheduler's
//! `kubescheduler.config.k8s.io/v1` (`PARITY` 1.3). The doc comments of the fields are what
//! `kubectl explain` prints.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::apis::profile_problem::{ProblemReason, ProfileProblem};

mod default_preemption;
mod dynamic_resources;
mod function_shape;
mod inter_pod_affinity;
mod node_affinity;
mod node_resources;
mod pod_topology_spread;
mod volume_binding;

pub use default_preemption::DefaultPreemptionArgs;
pub use dynamic_resources::DynamicResourcesArgs;
pub use function_shape::UtilizationShapePoint;
pub use inter_pod_affinity::InterPodAffinityArgs;
pub use node_affinity::NodeAffinityArgs;
pub use node_resources::{
    NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, RequestedToCapacityRatioParam,
    ResourceSpec, ScoringStrategy, ScoringStrategyType,
};
pub use pod_topology_spread::{
    DefaultConstraint, DefaultingType, NodeInclusionPolicy, PodTopologySpreadArgs,
    WhenUnsatisfiable,
};
pub use volume_binding::VolumeBindingArgs;

/// The arguments of plugins. A plugin that is left out runs with its defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginConfig {
    /// Arguments of DefaultPreemption, which makes room for a pod by evicting less important ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_preemption: Option<DefaultPreemptionArgs>,

    /// Arguments of DynamicResources, which places pods that use resource claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_resources: Option<DynamicResourcesArgs>,

    /// Arguments of InterPodAffinity, which places pods near to or far from other pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_pod_affinity: Option<InterPodAffinityArgs>,

    /// Arguments of NodeAffinity, which places pods by the labels of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinityArgs>,

    /// Arguments of NodeResourcesBalancedAllocation, which prefers nodes whose resources are used
    /// evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_resources_balanced_allocation: Option<NodeResourcesBalancedAllocationArgs>,

    /// Arguments of NodeResourcesFit, which checks and scores the room on nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_resources_fit: Option<NodeResourcesFitArgs>,

    /// Arguments of PodTopologySpread, which spreads pods over zones, nodes and other domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_topology_spread: Option<PodTopologySpreadArgs>,

    /// Arguments of VolumeBinding, which binds the volumes of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_binding: Option<VolumeBindingArgs>,
}

impl PluginConfig {
    /// Are there no arguments at all?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The plugins that have arguments here, each with the name of its field.
    pub(crate) fn configured(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [
            (
                self.default_preemption.is_some(),
                "DefaultPreemption",
                "defaultPreemption",
            ),
            (
                self.dynamic_resources.is_some(),
                "DynamicResources",
                "dynamicResources",
            ),
            (
                self.inter_pod_affinity.is_some(),
                "InterPodAffinity",
                "interPodAffinity",
            ),
            (self.node_affinity.is_some(), "NodeAffinity", "nodeAffinity"),
            (
                self.node_resources_balanced_allocation.is_some(),
                "NodeResourcesBalancedAllocation",
                "nodeResourcesBalancedAllocation",
            ),
            (
                self.node_resources_fit.is_some(),
                "NodeResourcesFit",
                "nodeResourcesFit",
            ),
            (
                self.pod_topology_spread.is_some(),
                "PodTopologySpread",
                "podTopologySpread",
            ),
            (
                self.volume_binding.is_some(),
                "VolumeBinding",
                "volumeBinding",
            ),
        ]
        .into_iter()
        .filter(|(set, _, _)| *set)
        .map(|(_, plugin, field)| (plugin, field))
    }
}

/// The arguments that plugins run with: what the profile says, completed by the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePluginArgs {
    /// Of DefaultPreemption.
    pub default_preemption: DefaultPreemptionArgs,
    /// Of DynamicResources.
    pub dynamic_resources: DynamicResourcesArgs,
    /// Of InterPodAffinity.
    pub inter_pod_affinity: InterPodAffinityArgs,
    /// Of NodeAffinity.
    pub node_affinity: NodeAffinityArgs,
    /// Of NodeResourcesBalancedAllocation.
    pub node_resources_balanced_allocation: NodeResourcesBalancedAllocationArgs,
    /// Of NodeResourcesFit.
    pub node_resources_fit: NodeResourcesFitArgs,
    /// Of PodTopologySpread.
    pub pod_topology_spread: PodTopologySpreadArgs,
    /// Of VolumeBinding.
    pub volume_binding: VolumeBindingArgs,
}

impl EffectivePluginArgs {
    /// Completes `config` with defaults and checks it; `path` is where `config` stands.
    pub(crate) fn try_new(config: &PluginConfig, path: &str) -> Result<Self, Vec<ProfileProblem>> {
        let mut problems = ArgProblems::default();
        let args = Self {
            default_preemption: config.default_preemption.clone().unwrap_or_default(),
            dynamic_resources: config.dynamic_resources.clone().unwrap_or_default(),
            inter_pod_affinity: config.inter_pod_affinity.clone().unwrap_or_default(),
            node_affinity: config.node_affinity.clone().unwrap_or_default(),
            node_resources_balanced_allocation: config
                .node_resources_balanced_allocation
                .clone()
                .unwrap_or_default()
                .completed(),
            node_resources_fit: config
                .node_resources_fit
                .clone()
                .unwrap_or_default()
                .completed(),
            pod_topology_spread: config.pod_topology_spread.clone().unwrap_or_default(),
            volume_binding: config
                .volume_binding
                .clone()
                .unwrap_or_default()
                .completed(),
        };
        let at = |field: &str| format!("{path}.{field}");
        args.default_preemption
            .check(&at("defaultPreemption"), &mut problems);
        args.dynamic_resources
            .check(&at("dynamicResources"), &mut problems);
        args.inter_pod_affinity
            .check(&at("interPodAffinity"), &mut problems);
        args.node_affinity.check(&at("nodeAffinity"), &mut problems);
        args.node_resources_balanced_allocation
            .check(&at("nodeResourcesBalancedAllocation"), &mut problems);
        args.node_resources_fit
            .check(&at("nodeResourcesFit"), &mut problems);
        args.pod_topology_spread
            .check(&at("podTopologySpread"), &mut problems);
        args.volume_binding
            .check(&at("volumeBinding"), &mut problems);
        if problems.0.is_empty() {
            Ok(args)
        } else {
            Err(problems.0)
        }
    }
}

/// Collects what is wrong with arguments.
#[derive(Debug, Default)]
struct ArgProblems(Vec<ProfileProblem>);

impl ArgProblems {
    fn add(
        &mut self,
        field: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let reason = ProblemReason::InvalidPluginArgs;
        self.0
            .push(ProfileProblem::new(reason, field, message, remedy));
    }

    fn check_range(&mut self, field: String, value: i64, min: i64, max: i64) {
        if !(min..=max).contains(&value) {
            self.add(
                field,
                format!("{value} is out of range"),
                format!("use a number from {min} to {max}"),
            );
        }
    }
}

#[cfg(test)]
mod tests;
