//! The `SchedulerProfile` object: one scheduler name and how pods that ask for it are scheduled.
//!
//! The doc comments of the fields are what `kubectl explain schedulerprofile` prints. The fields
//! under `spec.plugins` and their meaning are those of `KubeSchedulerConfiguration` (`PARITY` 5.1).

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::apis::extender::Extender;
use crate::apis::extension_point::ExtensionPoint;
use crate::apis::plugin_args::PluginConfig;

mod status;

pub use status::{PendingPods, SchedulerProfileStatus};

/// How pods with one `spec.schedulerName` are scheduled.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "bayplan.dev",
    version = "v1alpha1",
    kind = "SchedulerProfile",
    plural = "schedulerprofiles",
    shortname = "sprof",
    category = "scheduling",
    status = "SchedulerProfileStatus",
    derive = "PartialEq",
    doc = "SchedulerProfile tells how pods with one schedulerName are scheduled: which plugins \
           run, in which order, with which weights and arguments. Changes take effect between two \
           scheduling cycles; an invalid change leaves the last valid one running.",
    selectable = ".spec.schedulerName",
    printcolumn(
        name = "Scheduler",
        type_ = "string",
        json_path = ".spec.schedulerName"
    ),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Accepted")].status"#
    ),
    printcolumn(
        name = "Active",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Active")].status"#
    ),
    printcolumn(
        name = "Pending",
        type_ = "integer",
        json_path = ".status.pendingPods.total"
    ),
    printcolumn(
        name = "Leader",
        type_ = "string",
        json_path = ".status.leader",
        priority = 1
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = r#".status.conditions[?(@.type=="Accepted")].reason"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct SchedulerProfileSpec {
    /// Name that pods put in `spec.schedulerName` to be scheduled by this profile. It cannot be
    /// changed, and no two profiles may share it. Example: bayplan.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = kube::core::Rule::new("self == oldSelf")
        .message("schedulerName cannot be changed, create another profile"))]
    pub scheduler_name: String,

    /// Percentage of feasible nodes to find before scoring: 0 to 100, default 100. With less than
    /// 100 the search ends early on large clusters; 0 lets the size of the cluster decide (50 down
    /// to 5 percent, as kube-scheduler does).
    #[serde(default = "all_nodes")]
    #[schemars(range(min = 0, max = 100))]
    pub percentage_of_nodes_to_score: i32,

    /// Plugins to enable or disable beside the default ones. Example:
    /// `{score: {disabled: [{name: ImageLocality}], enabled: [{name: NodeAffinity, weight: 5}]}}`.
    #[serde(default, skip_serializing_if = "Plugins::is_empty")]
    pub plugins: Plugins,

    /// Arguments of plugins; what is left out has its default. Example:
    /// `{nodeResourcesFit: {scoringStrategy: {type: MostAllocated}}}`.
    #[serde(default, skip_serializing_if = "PluginConfig::is_empty")]
    pub plugin_config: PluginConfig,

    /// HTTP extenders: programs outside that are asked about the pods of this profile, one after
    /// the other; those that are ignorable come last. Example: `[{urlPrefix:
    /// http://extender.kube-system:8888, filterVerb: filter, nodeCacheCapable: true}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(
        merge_strategy = kube::core::ListMerge::Atomic,
        validation = kube::core::Rule::new(
            "self.filter(e, has(e.bindVerb) && e.bindVerb != '').size() <= 1"
        )
        .message("only one extender can implement bind")
    )]
    pub extenders: Vec<Extender>,
}

const fn all_nodes() -> i32 {
    100
}

/// The plugins of each extension point. Order matters: filters run in it and stop at the first
/// one that rejects a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plugins {
    /// Plugins for every extension point that they implement. What an extension point's own field
    /// says goes before what is said here, and that goes before the defaults.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    pub multi_point: PluginSet,

    /// Plugins that decide whether a pod may enter the queue.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub pre_enqueue: PluginSet,

    /// The plugin that orders the queue: exactly one, the same in all profiles.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub queue_sort: PluginSet,

    /// Plugins that look at a pod once, before its nodes are filtered.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub pre_filter: PluginSet,

    /// Plugins that rule out nodes on which a pod cannot run.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub filter: PluginSet,

    /// Plugins that act when no node is left for a pod.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub post_filter: PluginSet,

    /// Plugins that look at a pod once, before its nodes are scored.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub pre_score: PluginSet,

    /// Plugins that rank the nodes on which a pod can run. The only field beside `multiPoint` where
    /// a weight has a meaning.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    pub score: PluginSet,

    /// Plugins that take note of the node chosen for a pod.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub reserve: PluginSet,

    /// Plugins that may hold back a pod that has a node.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub permit: PluginSet,

    /// Plugins that prepare a node or volumes before a pod is bound.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub pre_bind: PluginSet,

    /// Plugins that bind a pod to its node: at least one.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub bind: PluginSet,

    /// Plugins that take note of a pod that was bound.
    #[serde(default, skip_serializing_if = "PluginSet::is_empty")]
    #[x_kube(validation = no_weights())]
    pub post_bind: PluginSet,
}

/// Only scores are weighted.
fn no_weights() -> kube::core::Rule {
    kube::core::Rule::new("!has(self.enabled) || self.enabled.all(p, !has(p.weight))")
        .message("weights have a meaning under score and multiPoint only, remove it")
}

/// The plugins to enable and to disable at one extension point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSet {
    /// Plugins to enable, in this order, after the default ones. A default plugin that is named
    /// here keeps its place and takes the weight given here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Atomic)]
    pub enabled: Vec<PluginToEnable>,

    /// Default plugins to disable; the name `*` disables all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Atomic)]
    pub disabled: Vec<PluginToDisable>,
}

/// A plugin to enable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginToEnable {
    /// Name of the plugin, for example NodeResourcesFit.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,

    /// Weight of the plugin's score: 1 or more. Left out or 0 it counts as 1, also for a plugin
    /// whose default weight is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub weight: Option<i32>,
}

/// A plugin to disable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginToDisable {
    /// Name of the plugin, or `*` for all default plugins of the extension point.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
}

// === impl SchedulerProfileSpec ===

impl SchedulerProfileSpec {
    /// A profile that answers to `scheduler_name` and runs the default plugins.
    pub fn with_defaults(scheduler_name: impl Into<String>) -> Self {
        Self {
            scheduler_name: scheduler_name.into(),
            percentage_of_nodes_to_score: all_nodes(),
            plugins: Plugins::default(),
            plugin_config: PluginConfig::default(),
            extenders: Vec::new(),
        }
    }
}

// === impl Plugins ===

impl Plugins {
    /// Does the profile leave everything at the defaults?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What the profile says about one extension point.
    pub const fn at(&self, point: ExtensionPoint) -> &PluginSet {
        match point {
            ExtensionPoint::PreEnqueue => &self.pre_enqueue,
            ExtensionPoint::QueueSort => &self.queue_sort,
            ExtensionPoint::PreFilter => &self.pre_filter,
            ExtensionPoint::Filter => &self.filter,
            ExtensionPoint::PostFilter => &self.post_filter,
            ExtensionPoint::PreScore => &self.pre_score,
            ExtensionPoint::Score => &self.score,
            ExtensionPoint::Reserve => &self.reserve,
            ExtensionPoint::Permit => &self.permit,
            ExtensionPoint::PreBind => &self.pre_bind,
            ExtensionPoint::Bind => &self.bind,
            ExtensionPoint::PostBind => &self.post_bind,
        }
    }
}

// === impl PluginSet ===

impl PluginSet {
    /// Is nothing enabled and nothing disabled?
    pub const fn is_empty(&self) -> bool {
        self.enabled.is_empty() && self.disabled.is_empty()
    }

    /// Is `name` disabled, by name or with `*`?
    pub(crate) fn disables(&self, name: &str) -> bool {
        self.disabled
            .iter()
            .any(|plugin| plugin.name == name || plugin.name == "*")
    }
}

#[cfg(test)]
mod tests;
