//! The plugins that kube-scheduler 1.37 has: names, default order, default weights and extension
//! points. It tells a plugin that is not implemented yet from one that does not exist.

use crate::apis::extension_point::ExtensionPoint::{
    Bind, Filter, Permit, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve,
    Score,
};
use crate::apis::extension_point::ExtensionPoints;

/// A plugin of kube-scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamPlugin {
    /// The name in configuration, metrics and messages.
    pub name: &'static str,
    /// The weight in the default set. `None` counts as 1 where the plugin scores.
    pub weight: Option<i32>,
    /// The extension points that the upstream implementation has, as far as Bayplan knows them.
    pub points: ExtensionPoints,
}

const fn plugin(
    name: &'static str,
    weight: Option<i32>,
    points: &[crate::apis::extension_point::ExtensionPoint],
) -> UpstreamPlugin {
    UpstreamPlugin {
        name,
        weight,
        points: ExtensionPoints::new(points),
    }
}

/// The default multiPoint set in its order: `getDefaultPlugins` and `applyFeatureGates` of
/// v1.37.2 with the gates in their default state (`PARITY` 1.1).
pub const DEFAULT_PLUGINS: [UpstreamPlugin; 20] = [
    plugin("SchedulingGates", None, &[PreEnqueue]),
    plugin("PrioritySort", None, &[QueueSort]),
    plugin("NodeName", None, &[PreFilter, Filter]),
    plugin("NodeUnschedulable", None, &[PreFilter, Filter]),
    plugin(
        "TaintToleration",
        Some(3),
        &[PreFilter, Filter, PreScore, Score],
    ),
    plugin(
        "NodeAffinity",
        Some(2),
        &[PreFilter, Filter, PreScore, Score],
    ),
    plugin("NodePorts", None, &[PreFilter, Filter]),
    plugin(
        "NodeResourcesFit",
        Some(1),
        &[PreFilter, Filter, PreScore, Score],
    ),
    plugin("VolumeRestrictions", None, &[PreFilter, Filter]),
    plugin("NodeVolumeLimits", None, &[PreFilter, Filter]),
    plugin(
        "VolumeBinding",
        None,
        &[PreFilter, Filter, PreScore, Score, Reserve, PreBind],
    ),
    plugin("VolumeZone", None, &[PreFilter, Filter]),
    plugin(
        "PodTopologySpread",
        Some(2),
        &[PreFilter, Filter, PreScore, Score],
    ),
    plugin(
        "InterPodAffinity",
        Some(2),
        &[PreFilter, Filter, PreScore, Score],
    ),
    plugin(
        "DynamicResources",
        Some(2),
        &[
            PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind,
        ],
    ),
    plugin("DefaultPreemption", None, &[PreEnqueue, PostFilter]),
    plugin(
        "NodeResourcesBalancedAllocation",
        Some(1),
        &[PreScore, Score],
    ),
    plugin("ImageLocality", Some(1), &[Score]),
    plugin("DefaultBinder", None, &[Bind]),
    plugin("NodeDeclaredFeatures", None, &[PreFilter, Filter]),
];

/// Plugins that upstream has but does not enable by default: their feature gates are off.
pub const OPTIONAL_PLUGINS: [UpstreamPlugin; 4] = [
    plugin("DeferredPodScheduling", None, &[PreFilter, Filter, Permit]),
    plugin("GangScheduling", None, &[PreEnqueue, Permit]),
    plugin("TopologyPlacementGenerator", None, &[]),
    plugin("PodGroupPodsCount", Some(1), &[]),
];

/// Plugins that upstream had once, with what took their place (`invalidPluginsByVersion`).
pub const REMOVED_PLUGINS: [&str; 4] = [
    "AzureDiskLimits",
    "CinderLimits",
    "EBSLimits",
    "GCEPDLimits",
];

/// The upstream plugin called `name`, whether it is in the default set or not.
pub fn find(name: &str) -> Option<&'static UpstreamPlugin> {
    DEFAULT_PLUGINS
        .iter()
        .chain(&OPTIONAL_PLUGINS)
        .find(|plugin| plugin.name == name)
}
