//! Plugins that look at volumes.

use crate::plugins::support::Level::{Beta, Stable, Ungated};
use crate::plugins::support::{Field, PluginSupport, argument, field, node, pod};

const CLAIM_NAME: Field = pod("spec.volumes[].persistentVolumeClaim.claimName", Ungated);
const EPHEMERAL: Field = pod("spec.volumes[].ephemeral", Stable("1.23"));
const EPHEMERAL_NAME: Field = pod("spec.volumes[].name", Stable("1.23"));
const CLAIM_OWNER: Field = claim("metadata.ownerReferences[].uid", Stable("1.23"));
const CLAIM_CONTROLLER: Field = claim("metadata.ownerReferences[].controller", Stable("1.23"));

const fn claim(path: &'static str, level: super::Level) -> Field {
    field("PersistentVolumeClaim", path, level)
}

const fn volume(path: &'static str, level: super::Level) -> Field {
    field("PersistentVolume", path, level)
}

pub(super) const VOLUME_RESTRICTIONS: PluginSupport = PluginSupport::new(
    "VolumeRestrictions",
    Ungated,
    &[
        pod("spec.volumes[].gcePersistentDisk.pdName", Ungated),
        pod("spec.volumes[].gcePersistentDisk.readOnly", Ungated),
        pod("spec.volumes[].awsElasticBlockStore.volumeID", Ungated),
        pod("spec.volumes[].iscsi.iqn", Ungated),
        pod("spec.volumes[].iscsi.readOnly", Ungated),
        pod("spec.volumes[].rbd.monitors[]", Ungated),
        pod("spec.volumes[].rbd.pool", Ungated),
        pod("spec.volumes[].rbd.image", Ungated),
        pod("spec.volumes[].rbd.readOnly", Ungated),
        CLAIM_NAME,
        claim("spec.accessModes[] = ReadWriteOncePod", Stable("1.29")),
    ],
);

pub(super) const NODE_VOLUME_LIMITS: PluginSupport = PluginSupport::new(
    "NodeVolumeLimits",
    Stable("1.17"),
    &[
        CLAIM_NAME,
        EPHEMERAL,
        EPHEMERAL_NAME,
        CLAIM_OWNER,
        CLAIM_CONTROLLER,
        pod("spec.volumes[].gcePersistentDisk.pdName", Stable("1.25")),
        pod(
            "spec.volumes[].awsElasticBlockStore.volumeID",
            Stable("1.25"),
        ),
        pod("spec.volumes[].azureDisk.diskURI", Stable("1.25")),
        pod("spec.volumes[].azureDisk.kind", Stable("1.25")),
        pod("spec.volumes[].cinder.volumeID", Stable("1.25")),
        pod("spec.volumes[].portworxVolume.volumeID", Stable("1.33")),
        claim("spec.volumeName", Ungated),
        claim("spec.storageClassName", Ungated),
        volume("metadata.labels", Stable("1.25")),
        volume("spec.csi.driver", Stable("1.13")),
        volume("spec.csi.volumeHandle", Stable("1.13")),
        volume("spec.gcePersistentDisk.pdName", Stable("1.25")),
        volume("spec.awsElasticBlockStore.volumeID", Stable("1.25")),
        volume("spec.azureDisk.diskURI", Stable("1.25")),
        volume("spec.azureDisk.kind", Stable("1.25")),
        volume("spec.cinder.volumeID", Stable("1.25")),
        volume("spec.portworxVolume.volumeID", Stable("1.33")),
        field("StorageClass", "provisioner", Ungated),
        field("CSINode", "spec.drivers[].name", Stable("1.17")),
        field(
            "CSINode",
            "spec.drivers[].allocatable.count",
            Stable("1.17"),
        ),
        field("CSINode", "metadata.annotations", Stable("1.25")),
        field(
            "CSIDriver",
            "spec.preventPodSchedulingIfMissing",
            Beta("1.37"),
        ),
        field("VolumeAttachment", "spec.attacher", Ungated),
        field("VolumeAttachment", "spec.nodeName", Ungated),
        field(
            "VolumeAttachment",
            "spec.source.persistentVolumeName",
            Ungated,
        ),
    ],
);

pub(super) const VOLUME_BINDING: PluginSupport = PluginSupport::new(
    "VolumeBinding",
    Stable("1.13"),
    &[
        CLAIM_NAME,
        EPHEMERAL,
        EPHEMERAL_NAME,
        CLAIM_OWNER,
        CLAIM_CONTROLLER,
        claim("metadata.annotations", Ungated),
        claim("metadata.deletionTimestamp", Ungated),
        claim("spec.volumeName", Ungated),
        claim("spec.storageClassName", Ungated),
        claim("spec.accessModes[]", Ungated),
        claim("spec.resources.requests", Ungated),
        claim("spec.selector", Ungated),
        claim("spec.volumeMode", Stable("1.18")),
        claim("spec.volumeAttributesClassName", Stable("1.34")),
        claim("status.phase", Ungated),
        volume("metadata.labels", Ungated),
        volume("metadata.annotations", Ungated),
        volume("metadata.deletionTimestamp", Ungated),
        volume("spec.capacity", Ungated),
        volume("spec.accessModes[]", Ungated),
        volume("spec.storageClassName", Ungated),
        volume("spec.claimRef.name", Ungated),
        volume("spec.claimRef.namespace", Ungated),
        volume("spec.claimRef.uid", Ungated),
        volume(
            "spec.nodeAffinity.required.nodeSelectorTerms[].matchExpressions[]",
            Stable("1.14"),
        ),
        volume(
            "spec.nodeAffinity.required.nodeSelectorTerms[].matchFields[]",
            Stable("1.14"),
        ),
        volume("spec.volumeMode", Stable("1.18")),
        volume("spec.volumeAttributesClassName", Stable("1.34")),
        volume("status.phase", Ungated),
        field("StorageClass", "provisioner", Ungated),
        field("StorageClass", "volumeBindingMode", Stable("1.13")),
        field(
            "StorageClass",
            "allowedTopologies[].matchLabelExpressions[]",
            Stable("1.13"),
        ),
        field("CSINode", "metadata.annotations", Stable("1.25")),
        field("CSIDriver", "spec.storageCapacity", Stable("1.24")),
        field("CSIStorageCapacity", "nodeTopology", Stable("1.24")),
        field("CSIStorageCapacity", "storageClassName", Stable("1.24")),
        field("CSIStorageCapacity", "capacity", Stable("1.24")),
        field("CSIStorageCapacity", "maximumVolumeSize", Stable("1.24")),
        node("metadata.labels", Ungated),
    ],
)
.with_arguments(&[
    argument("bindTimeoutSeconds", Ungated),
    argument("shape[].utilization", Beta("1.37")),
    argument("shape[].score", Beta("1.37")),
]);

pub(super) const VOLUME_ZONE: PluginSupport = PluginSupport::new(
    "VolumeZone",
    Ungated,
    &[
        CLAIM_NAME,
        claim("spec.volumeName", Ungated),
        claim("spec.storageClassName", Ungated),
        volume("metadata.labels", Ungated),
        field("StorageClass", "volumeBindingMode", Stable("1.13")),
        node("metadata.labels", Ungated),
    ],
);
