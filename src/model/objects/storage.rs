//! Volumes, claims and what CSI drivers say.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaimSpec, PersistentVolumeSpec, TopologySelectorTerm,
};
use k8s_openapi::api::storage::v1::{CSINodeDriver, VolumeAttachmentSource};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::model::objects::{metadata, null_as_default, resource};

/// A persistent volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolume {
    /// Name, UID, labels and the annotations of volume binding and CSI migration.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PersistentVolumeSpec,
    /// What became of it.
    #[serde(deserialize_with = "null_as_default")]
    pub status: VolumePhase,
}

/// A claim on a persistent volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaim {
    /// Name, UID, labels and the annotations of volume binding and CSI migration.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PersistentVolumeClaimSpec,
    /// What became of it.
    #[serde(deserialize_with = "null_as_default")]
    pub status: VolumePhase,
}

/// The `status` of a volume or a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumePhase {
    /// `Pending`, `Available`, `Bound`, …; a volume without one is pending.
    pub phase: Option<String>,
}

/// A storage class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClass {
    /// Name, UID, labels and the annotations of volume binding and CSI migration.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// Who makes its volumes.
    #[serde(deserialize_with = "null_as_default")]
    pub provisioner: String,
    /// `Immediate` or `WaitForFirstConsumer`; absent in objects that no API server defaulted.
    pub volume_binding_mode: Option<String>,
    /// Where its volumes may be made; everywhere if empty.
    #[serde(deserialize_with = "null_as_default")]
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

/// What CSI drivers say of a node; it has the name of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiNode {
    /// Name, UID, labels and the annotations of volume binding and CSI migration.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: CsiNodeSpec,
}

/// The drivers on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiNodeSpec {
    /// One entry a driver.
    #[serde(deserialize_with = "null_as_default")]
    pub drivers: Vec<CSINodeDriver>,
}

/// A CSI driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiDriver {
    /// Name, UID, labels and the annotations of volume binding and CSI migration.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: CsiDriverSpec,
}

/// The part of `spec` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiDriverSpec {
    /// Whether the driver publishes its free capacity.
    #[serde(deserialize_with = "null_as_default")]
    pub storage_capacity: bool,
    /// Whether a node without the driver takes none of its volumes (`VolumeLimitScaling`).
    #[serde(deserialize_with = "null_as_default")]
    pub prevent_pod_scheduling_if_missing: bool,
}

/// Free capacity of a storage class in a part of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiStorageCapacity {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// Which nodes; none if absent.
    pub node_topology: Option<LabelSelector>,
    /// The storage class.
    #[serde(deserialize_with = "null_as_default")]
    pub storage_class_name: String,
    /// Free capacity in bytes.
    pub capacity: Option<Quantity>,
    /// The largest volume in bytes.
    pub maximum_volume_size: Option<Quantity>,
}

/// A volume that is being attached to a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachment {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: VolumeAttachmentSpec,
}

/// The part of `spec` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSpec {
    /// The CSI driver.
    #[serde(deserialize_with = "null_as_default")]
    pub attacher: String,
    /// The node.
    #[serde(deserialize_with = "null_as_default")]
    pub node_name: String,
    /// The volume.
    #[serde(deserialize_with = "null_as_default")]
    pub source: VolumeAttachmentSource,
}

resource!(
    PersistentVolume,
    ClusterResourceScope,
    "",
    "PersistentVolume",
    "persistentvolumes"
);
resource!(
    PersistentVolumeClaim,
    NamespaceResourceScope,
    "",
    "PersistentVolumeClaim",
    "persistentvolumeclaims"
);
resource!(
    StorageClass,
    ClusterResourceScope,
    "storage.k8s.io",
    "StorageClass",
    "storageclasses"
);
resource!(
    CsiNode,
    ClusterResourceScope,
    "storage.k8s.io",
    "CSINode",
    "csinodes"
);
resource!(
    CsiDriver,
    ClusterResourceScope,
    "storage.k8s.io",
    "CSIDriver",
    "csidrivers"
);
resource!(
    CsiStorageCapacity,
    NamespaceResourceScope,
    "storage.k8s.io",
    "CSIStorageCapacity",
    "csistoragecapacities"
);
resource!(
    VolumeAttachment,
    ClusterResourceScope,
    "storage.k8s.io",
    "VolumeAttachment",
    "volumeattachments"
);
