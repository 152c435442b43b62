//! Plugins that look at pods: at the one to place, or at the others.

use crate::plugins::support::Level::{Alpha, Beta, Stable, Ungated};
use crate::plugins::support::{Field, PluginSupport, argument, field, node, pod};

pub(super) const SCHEDULING_GATES: PluginSupport = PluginSupport::new(
    "SchedulingGates",
    Stable("1.30"),
    &[pod("spec.schedulingGates[].name", Stable("1.30"))],
);

pub(super) const PRIORITY_SORT: PluginSupport = PluginSupport::new(
    "PrioritySort",
    Ungated,
    &[pod("spec.priority", Stable("1.14"))],
);

/// `MatchLabelKeysInPodTopologySpread` and its siblings; the plugin's own gate was
/// `EvenPodsSpread`, that of its system defaults `DefaultPodTopologySpread`.
pub(super) const POD_TOPOLOGY_SPREAD: PluginSupport = PluginSupport::new(
    "PodTopologySpread",
    Stable("1.19"),
    &[
        pod("spec.topologySpreadConstraints[].maxSkew", Stable("1.19")),
        pod(
            "spec.topologySpreadConstraints[].topologyKey",
            Stable("1.19"),
        ),
        pod(
            "spec.topologySpreadConstraints[].whenUnsatisfiable",
            Stable("1.19"),
        ),
        pod(
            "spec.topologySpreadConstraints[].labelSelector",
            Stable("1.19"),
        ),
        pod(
            "spec.topologySpreadConstraints[].minDomains",
            Stable("1.30"),
        ),
        pod(
            "spec.topologySpreadConstraints[].nodeAffinityPolicy",
            Stable("1.33"),
        ),
        pod(
            "spec.topologySpreadConstraints[].nodeTaintsPolicy",
            Stable("1.33"),
        ),
        pod(
            "spec.topologySpreadConstraints[].matchLabelKeys[]",
            Beta("1.27"),
        ),
        pod("metadata.labels", Stable("1.19")),
        pod("metadata.deletionTimestamp", Stable("1.19")),
        pod("metadata.ownerReferences[].apiVersion", Stable("1.24")),
        pod("metadata.ownerReferences[].kind", Stable("1.24")),
        pod("metadata.ownerReferences[].name", Stable("1.24")),
        pod("metadata.ownerReferences[].controller", Stable("1.24")),
        pod("spec.nodeSelector", Stable("1.33")),
        pod("spec.affinity.nodeAffinity.*", Stable("1.33")),
        pod("spec.tolerations[].key", Stable("1.33")),
        pod("spec.tolerations[].operator", Stable("1.33")),
        pod("spec.tolerations[].value", Stable("1.33")),
        pod("spec.tolerations[].effect", Stable("1.33")),
        node("metadata.labels", Stable("1.19")),
        node("spec.taints[].key", Stable("1.33")),
        node("spec.taints[].value", Stable("1.33")),
        node("spec.taints[].effect", Stable("1.33")),
        field("Service", "spec.selector", Stable("1.24")),
        field("ReplicationController", "spec.selector", Stable("1.24")),
        field("ReplicaSet", "spec.selector", Stable("1.24")),
        field("StatefulSet", "spec.selector", Stable("1.24")),
    ],
)
.with_arguments(&[
    argument("defaultingType", Stable("1.24")),
    argument("defaultConstraints[].maxSkew", Stable("1.24")),
    argument("defaultConstraints[].topologyKey", Stable("1.24")),
    argument("defaultConstraints[].whenUnsatisfiable", Stable("1.24")),
    argument("defaultConstraints[].minDomains", Stable("1.30")),
    argument("defaultConstraints[].nodeAffinityPolicy", Stable("1.33")),
    argument("defaultConstraints[].nodeTaintsPolicy", Stable("1.33")),
    argument("defaultConstraints[].matchLabelKeys[]", Beta("1.27")),
]);

/// `PodAffinityNamespaceSelector` was stable in 1.24, `MatchLabelKeysInPodAffinity` in 1.33.
pub(super) const INTER_POD_AFFINITY: PluginSupport = PluginSupport::new(
    "InterPodAffinity",
    Ungated,
    &[
        pod(
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].labelSelector",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].namespaces[]",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].namespaceSelector",
            Stable("1.24"),
        ),
        pod(
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].matchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].mismatchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.labelSelector",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.topologyKey",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.namespaces[]",
            Ungated,
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.namespaceSelector",
            Stable("1.24"),
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.matchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.mismatchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].labelSelector",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].namespaces[]",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].namespaceSelector",
            Stable("1.24"),
        ),
        pod(
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].matchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].mismatchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.labelSelector",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.topologyKey",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.namespaces[]",
            Ungated,
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.namespaceSelector",
            Stable("1.24"),
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.matchLabelKeys[]",
            Stable("1.33"),
        ),
        pod(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.mismatchLabelKeys[]",
            Stable("1.33"),
        ),
        pod("metadata.labels", Ungated),
        pod("metadata.namespace", Ungated),
        node("metadata.labels", Ungated),
        field("Namespace", "metadata.labels", Stable("1.24")),
    ],
)
.with_arguments(&[
    argument("hardPodAffinityWeight", Ungated),
    argument("ignorePreferredTermsOfExistingPods", Ungated),
]);

/// The name of a pod's claim is read to refuse the pod.
pub(super) const DYNAMIC_RESOURCES: PluginSupport = PluginSupport::new(
    "DynamicResources",
    Stable("1.34"),
    &[
        pod("spec.resourceClaims[].name", Stable("1.34")).missing(),
        pod("spec.resourceClaims[].resourceClaimName", Stable("1.34")).missing(),
        pod(
            "spec.resourceClaims[].resourceClaimTemplateName",
            Stable("1.34"),
        )
        .missing(),
        pod("status.resourceClaimStatuses[]", Stable("1.34")).missing(),
        pod("status.extendedResourceClaimStatus", Stable("1.37")).missing(),
        field("ResourceClaim", "*", Stable("1.34")).missing(),
        field("ResourceSlice", "*", Stable("1.34")).missing(),
        field("DeviceClass", "*", Stable("1.34")).missing(),
        field("DeviceTaintRule", "*", Stable("1.37")).missing(),
    ],
)
.with_arguments(&[
    argument("filterTimeout", Beta("1.34")).missing(),
    argument("bindingTimeout", Beta("1.36")).missing(),
])
.missing();

pub(super) const DEFAULT_PREEMPTION: PluginSupport = PluginSupport::new(
    "DefaultPreemption",
    Stable("1.14"),
    &[
        pod("spec.priority", Stable("1.14")),
        pod("spec.preemptionPolicy", Stable("1.24")),
        pod("status.nominatedNodeName", Stable("1.14")),
        pod("status.startTime", Stable("1.14")),
        pod("metadata.deletionTimestamp", Stable("1.14")),
        pod("metadata.labels", Stable("1.14")),
        pod("status.conditions[].type", Stable("1.31")),
        pod("status.conditions[].status", Stable("1.31")),
        pod("status.conditions[].reason", Stable("1.31")),
        field("PodDisruptionBudget", "spec.selector", Ungated),
        field("PodDisruptionBudget", "status.disruptionsAllowed", Ungated),
        field("PodDisruptionBudget", "status.desiredHealthy", Ungated),
        field("PodDisruptionBudget", "status.disruptedPods", Ungated),
    ],
)
.with_arguments(&[
    argument("minCandidateNodesPercentage", Ungated),
    argument("minCandidateNodesAbsolute", Ungated),
]);

pub(super) const DEFAULT_BINDER: PluginSupport = PluginSupport::new(
    "DefaultBinder",
    Ungated,
    &[field("*", "metadata.uid", Ungated)],
);

const POD_GROUP: Field = pod("spec.schedulingGroup", Beta("1.37")).missing();

pub(super) const DEFERRED_POD_SCHEDULING: PluginSupport = PluginSupport::new(
    "DeferredPodScheduling",
    Alpha("1.37"),
    &[node(
        "spec.podPreemptionPolicy.disableResizePreemption",
        Alpha("1.37"),
    )
    .missing()],
)
.missing();

pub(super) const GANG_SCHEDULING: PluginSupport =
    PluginSupport::new("GangScheduling", Beta("1.37"), &[POD_GROUP]).missing();

pub(super) const TOPOLOGY_PLACEMENT_GENERATOR: PluginSupport =
    PluginSupport::new("TopologyPlacementGenerator", Alpha("1.36"), &[POD_GROUP]).missing();

pub(super) const POD_GROUP_PODS_COUNT: PluginSupport =
    PluginSupport::new("PodGroupPodsCount", Alpha("1.36"), &[POD_GROUP]).missing();
