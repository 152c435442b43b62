//! Plugins that look at nodes.

use crate::plugins::support::Level::{Alpha, Beta, Stable, Ungated};
use crate::plugins::support::{Argument, Field, PluginSupport, argument, field, node, pod};

pub(super) const NODE_NAME: PluginSupport = PluginSupport::new(
    "NodeName",
    Ungated,
    &[
        pod("spec.nodeName", Ungated),
        field("*", "metadata.name", Ungated),
    ],
);

pub(super) const NODE_UNSCHEDULABLE: PluginSupport = PluginSupport::new(
    "NodeUnschedulable",
    Ungated,
    &[
        node("spec.unschedulable", Ungated),
        pod("spec.tolerations[].key", Ungated),
        pod("spec.tolerations[].operator", Ungated),
        pod("spec.tolerations[].value", Ungated),
        pod("spec.tolerations[].effect", Ungated),
    ],
);

pub(super) const TAINT_TOLERATION: PluginSupport = PluginSupport::new(
    "TaintToleration",
    Ungated,
    &[
        node("spec.taints[].key", Ungated),
        node("spec.taints[].value", Ungated),
        node("spec.taints[].effect", Ungated),
        pod("spec.tolerations[].key", Ungated),
        pod("spec.tolerations[].operator", Ungated),
        pod("spec.tolerations[].operator = Gt, Lt", Alpha("1.35")).missing(),
        pod("spec.tolerations[].value", Ungated),
        pod("spec.tolerations[].effect", Ungated),
    ],
);

pub(super) const NODE_AFFINITY: PluginSupport = PluginSupport::new(
    "NodeAffinity",
    Ungated,
    &[
        pod("spec.nodeSelector", Ungated),
        pod(
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchExpressions[]",
            Ungated,
        ),
        pod(
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchFields[]",
            Ungated,
        ),
        pod(
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.matchExpressions[]",
            Ungated,
        ),
        pod(
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.matchFields[]",
            Ungated,
        ),
        pod(
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight",
            Ungated,
        ),
        node("metadata.name", Ungated),
        node("metadata.labels", Ungated),
    ],
)
.with_arguments(&[
    argument(
        "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchExpressions[]",
        Ungated,
    ),
    argument(
        "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchFields[]",
        Ungated,
    ),
    argument(
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.matchExpressions[]",
        Ungated,
    ),
    argument(
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.matchFields[]",
        Ungated,
    ),
    argument(
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight",
        Ungated,
    ),
]);

pub(super) const NODE_PORTS: PluginSupport = PluginSupport::new(
    "NodePorts",
    Ungated,
    &[
        pod("spec.containers[].ports[].hostPort", Ungated),
        pod("spec.containers[].ports[].hostIP", Ungated),
        pod("spec.containers[].ports[].protocol", Ungated),
        pod("spec.initContainers[].ports[].hostPort", Stable("1.33")),
        pod("spec.initContainers[].ports[].hostIP", Stable("1.33")),
        pod("spec.initContainers[].ports[].protocol", Stable("1.33")),
        pod("spec.initContainers[].restartPolicy", Stable("1.33")),
    ],
);

/// What pods ask for and what is theirs already.
const REQUESTS: [Field; 19] = [
    pod("spec.containers[].name", Ungated),
    pod("spec.containers[].resources.requests", Ungated),
    pod("spec.initContainers[].name", Ungated),
    pod("spec.initContainers[].resources.requests", Ungated),
    pod("spec.initContainers[].restartPolicy", Stable("1.33")),
    pod("spec.overhead", Stable("1.24")),
    pod("spec.resources.requests", Beta("1.34")),
    pod("status.containerStatuses[].name", Stable("1.35")),
    pod(
        "status.containerStatuses[].allocatedResources",
        Stable("1.35"),
    ),
    pod(
        "status.containerStatuses[].resources.requests",
        Stable("1.35"),
    ),
    pod("status.initContainerStatuses[].name", Stable("1.35")),
    pod(
        "status.initContainerStatuses[].allocatedResources",
        Stable("1.35"),
    ),
    pod(
        "status.initContainerStatuses[].resources.requests",
        Stable("1.35"),
    ),
    pod("status.allocatedResources", Beta("1.36")),
    pod("status.resources.requests", Beta("1.36")),
    pod("status.conditions[].type", Stable("1.35")),
    pod("status.conditions[].reason", Stable("1.35")),
    pod("status.nodeAllocatableResourceClaimStatuses", Alpha("1.36")).missing(),
    node("status.allocatable", Ungated),
];

const RESOURCE_NAME: Argument = argument("resources[].name", Ungated);
const RESOURCE_WEIGHT: Argument = argument("resources[].weight", Ungated);

pub(super) const NODE_RESOURCES_FIT: PluginSupport =
    PluginSupport::new("NodeResourcesFit", Ungated, &REQUESTS).with_arguments(&[
        argument("ignoredResources[]", Ungated),
        argument("ignoredResourceGroups[]", Ungated),
        argument("scoringStrategy.type", Ungated),
        argument("scoringStrategy.resources[].name", Ungated),
        argument("scoringStrategy.resources[].weight", Ungated),
        argument(
            "scoringStrategy.requestedToCapacityRatio.shape[].utilization",
            Ungated,
        ),
        argument(
            "scoringStrategy.requestedToCapacityRatio.shape[].score",
            Ungated,
        ),
    ]);

pub(super) const NODE_RESOURCES_BALANCED_ALLOCATION: PluginSupport =
    PluginSupport::new("NodeResourcesBalancedAllocation", Ungated, &REQUESTS)
        .with_arguments(&[RESOURCE_NAME, RESOURCE_WEIGHT]);

pub(super) const IMAGE_LOCALITY: PluginSupport = PluginSupport::new(
    "ImageLocality",
    Ungated,
    &[
        pod("spec.containers[].image", Ungated),
        pod("spec.initContainers[].image", Ungated),
        pod("spec.volumes[].image.reference", Stable("1.36")),
        node("status.images[].names[]", Ungated),
        node("status.images[].sizeBytes", Ungated),
    ],
);

/// The levels are those of the features that need the fields.
pub(super) const NODE_DECLARED_FEATURES: PluginSupport = PluginSupport::new(
    "NodeDeclaredFeatures",
    Stable("1.37"),
    &[
        node("status.declaredFeatures[]", Stable("1.37")),
        pod("spec.hostNetwork", Alpha("1.35")),
        pod("spec.hostUsers", Alpha("1.35")),
        pod(
            "spec.containers[].restartPolicyRules[].action",
            Beta("1.36"),
        ),
        pod(
            "spec.initContainers[].restartPolicyRules[].action",
            Beta("1.36"),
        ),
        pod(
            "spec.containers[].volumeMounts[].bindMountOptions[]",
            Alpha("1.37"),
        ),
        pod(
            "spec.initContainers[].volumeMounts[].bindMountOptions[]",
            Alpha("1.37"),
        ),
        pod(
            "spec.ephemeralContainers[].volumeMounts[].bindMountOptions[]",
            Alpha("1.37"),
        ),
    ],
);
