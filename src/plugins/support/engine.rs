//! What the scheduler itself reads, and what comes along unread.

use crate::plugins::support::Level::{Beta, Stable, Ungated};
use crate::plugins::support::{Field, Unread, field, pod};

/// Fields that the queue, the cache and the writer of status read.
pub const ENGINE: [Field; 19] = [
    field("*", "metadata.name", Ungated),
    field("*", "metadata.namespace", Ungated),
    field("*", "metadata.uid", Ungated),
    field("*", "metadata.resourceVersion", Ungated),
    pod("metadata.creationTimestamp", Ungated),
    pod("metadata.deletionTimestamp", Ungated),
    pod("metadata.generation", Stable("1.35")),
    pod("spec.schedulerName", Ungated),
    pod("spec.nodeName", Ungated),
    pod("spec.priority", Stable("1.14")),
    pod("status.phase", Ungated),
    pod("status.startTime", Ungated),
    pod("status.nominatedNodeName", Beta("1.35")),
    pod("status.conditions[].type", Ungated),
    pod("status.conditions[].status", Ungated),
    pod("status.conditions[].reason", Ungated),
    pod("status.conditions[].message", Ungated),
    pod("status.conditions[].observedGeneration", Stable("1.35")),
    pod("spec.schedulingGroup", Beta("1.37")).missing(),
];

/// Fields that nobody reads: most come with types of the API that are used whole.
pub const UNREAD: &[Unread] = &[
    unread("*", "metadata.annotations"),
    unread("*", "metadata.creationTimestamp"),
    unread("*", "metadata.deletionTimestamp"),
    unread("*", "metadata.generateName"),
    unread("*", "metadata.generation"),
    unread("*", "metadata.labels"),
    unread("*", "metadata.ownerReferences[].*"),
    unread("Node", "spec.taints[].timeAdded"),
    unread("Pod", "spec.containers[].restartPolicy"),
    unread("Pod", "spec.tolerations[].tolerationSeconds"),
    unread("Pod", "spec.ephemeralContainers[].*"),
    unread("PersistentVolume", "spec.awsElasticBlockStore.*"),
    unread("PersistentVolume", "spec.azureDisk.*"),
    unread("PersistentVolume", "spec.azureFile.*"),
    unread("PersistentVolume", "spec.cephfs.*"),
    unread("PersistentVolume", "spec.cinder.*"),
    unread("PersistentVolume", "spec.claimRef.*"),
    unread("PersistentVolume", "spec.csi.*"),
    unread("PersistentVolume", "spec.fc.*"),
    unread("PersistentVolume", "spec.flexVolume.*"),
    unread("PersistentVolume", "spec.flocker.*"),
    unread("PersistentVolume", "spec.gcePersistentDisk.*"),
    unread("PersistentVolume", "spec.glusterfs.*"),
    unread("PersistentVolume", "spec.hostPath.*"),
    unread("PersistentVolume", "spec.iscsi.*"),
    unread("PersistentVolume", "spec.local.*"),
    unread("PersistentVolume", "spec.mountOptions[]"),
    unread("PersistentVolume", "spec.nfs.*"),
    unread("PersistentVolume", "spec.persistentVolumeReclaimPolicy"),
    unread("PersistentVolume", "spec.photonPersistentDisk.*"),
    unread("PersistentVolume", "spec.portworxVolume.*"),
    unread("PersistentVolume", "spec.quobyte.*"),
    unread("PersistentVolume", "spec.rbd.*"),
    unread("PersistentVolume", "spec.scaleIO.*"),
    unread("PersistentVolume", "spec.storageos.*"),
    unread("PersistentVolume", "spec.vsphereVolume.*"),
    unread("PersistentVolumeClaim", "spec.dataSource.*"),
    unread("PersistentVolumeClaim", "spec.dataSourceRef.*"),
    unread("PersistentVolumeClaim", "spec.resources.limits"),
    unread("CSINode", "spec.drivers[].nodeID"),
    unread("CSINode", "spec.drivers[].topologyKeys[]"),
    unread("VolumeAttachment", "spec.source.inlineVolumeSpec.*"),
];

const fn unread(kind: &'static str, path: &'static str) -> Unread {
    Unread { kind, path }
}
