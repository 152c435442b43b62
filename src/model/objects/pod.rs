//! Pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, Toleration, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::objects::{metadata, null_as_default, resource};

/// Quantities by resource name.
pub type ResourceList = BTreeMap<String, String>;

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// Identity, labels, owners and times.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodSpec,
    /// What became of it.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodStatus,
}

/// The part of `spec` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node that the pod is bound to; empty means none.
    pub node_name: Option<String>,
    /// The profile that decides for the pod; the API server defaults it to `default-scheduler`.
    pub scheduler_name: Option<String>,
    /// Resolved from the `PriorityClass` by the API server.
    pub priority: Option<i32>,
    /// `PreemptLowerPriority` (default) or `Never`.
    pub preemption_policy: Option<String>,
    /// Label values that the node must have.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector: BTreeMap<String, String>,
    /// Node affinity, pod affinity and pod anti-affinity.
    pub affinity: Option<Affinity>,
    /// Taints that are tolerated.
    #[serde(deserialize_with = "null_as_default")]
    pub tolerations: Vec<Toleration>,
    /// How pods of a kind spread over domains.
    #[serde(deserialize_with = "null_as_default")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// Containers, at least one in a valid pod.
    #[serde(deserialize_with = "null_as_default")]
    pub containers: Vec<Container>,
    /// Init containers and sidecars in their order.
    #[serde(deserialize_with = "null_as_default")]
    pub init_containers: Vec<Container>,
    /// Containers that were added to debug the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub ephemeral_containers: Vec<Container>,
    /// Uses the network of the node.
    #[serde(deserialize_with = "null_as_default")]
    pub host_network: bool,
    /// `false` asks for a user namespace of the pod's own.
    pub host_users: Option<bool>,
    /// What the runtime itself needs.
    #[serde(deserialize_with = "null_as_default")]
    pub overhead: ResourceList,
    /// Requests of the pod as a whole (KEP-2837).
    pub resources: Option<ResourceRequirements>,
    /// Gates that hold the pod back.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduling_gates: Vec<SchedulingGate>,
    /// Volumes; only what binds a pod to a place is kept.
    #[serde(deserialize_with = "null_as_default")]
    pub volumes: Vec<Volume>,
    /// Claims on devices.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_claims: Vec<PodResourceClaim>,
}

/// A container or init container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Name, unique in the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Image reference.
    pub image: Option<String>,
    /// Ports; only those with a host port matter.
    #[serde(deserialize_with = "null_as_default")]
    pub ports: Vec<ContainerPort>,
    /// Requests.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: ResourceRequirements,
    /// `Always` makes an init container a sidecar.
    pub restart_policy: Option<String>,
    /// What its exit causes.
    #[serde(deserialize_with = "null_as_default")]
    pub restart_policy_rules: Vec<RestartRule>,
    /// Mounts that have bind options; the others are dropped.
    #[serde(deserialize_with = "mounts_with_options")]
    pub volume_mounts: Vec<VolumeMount>,
}

/// A rule about the exit of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RestartRule {
    /// `Restart` or `RestartAllContainers`.
    #[serde(deserialize_with = "null_as_default")]
    pub action: String,
}

/// A volume in a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// `noexec`, `nodev`, `nosuid`.
    #[serde(deserialize_with = "null_as_default")]
    pub bind_mount_options: Vec<String>,
}

fn mounts_with_options<'de, D>(deserializer: D) -> Result<Vec<VolumeMount>, D::Error>
where
    D: Deserializer<'de>,
{
    let mut mounts: Vec<VolumeMount> = null_as_default(deserializer)?;
    mounts.retain(|mount| !mount.bind_mount_options.is_empty());
    mounts.shrink_to_fit();
    Ok(mounts)
}

impl Container {
    /// Whether this init container keeps running beside the containers (KEP-753).
    pub fn is_restartable(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

/// Requests by resource name. The API server has already defaulted them from the limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRequirements {
    /// Quantities by resource name.
    #[serde(deserialize_with = "null_as_default")]
    pub requests: ResourceList,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// The port on the node; 0 and absent mean none.
    pub host_port: Option<i32>,
    /// The address on the node; empty means all.
    #[serde(rename = "hostIP")]
    pub host_ip: Option<String>,
    /// `TCP` if empty.
    pub protocol: Option<String>,
}

/// A gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulingGate {
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// A volume: its name and the sources that tie a pod to a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Name, unique in the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// A claim.
    pub persistent_volume_claim: Option<ClaimVolumeSource>,
    /// A claim made for this pod.
    pub ephemeral: Option<Present>,
    /// GCE disk.
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// AWS disk.
    pub aws_elastic_block_store: Option<VolumeById>,
    /// Ceph block device.
    pub rbd: Option<RbdVolume>,
    /// iSCSI disk.
    pub iscsi: Option<IscsiVolume>,
    /// Azure disk.
    pub azure_disk: Option<AzureDisk>,
    /// `OpenStack` disk.
    pub cinder: Option<VolumeById>,
    /// Portworx volume.
    pub portworx_volume: Option<VolumeById>,
    /// An OCI image as a volume.
    pub image: Option<ImageVolumeSource>,
}

impl Volume {
    /// Whether it has a source that ties the pod to a place or counts on a node.
    pub fn has_source(&self) -> bool {
        let Self {
            name: _,
            persistent_volume_claim,
            ephemeral,
            gce_persistent_disk,
            aws_elastic_block_store,
            rbd,
            iscsi,
            azure_disk,
            cinder,
            portworx_volume,
            image,
        } = self;
        persistent_volume_claim.is_some()
            || ephemeral.is_some()
            || gce_persistent_disk.is_some()
            || aws_elastic_block_store.is_some()
            || rbd.is_some()
            || iscsi.is_some()
            || azure_disk.is_some()
            || cinder.is_some()
            || portworx_volume.is_some()
            || image.is_some()
    }
}

/// A reference to a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimVolumeSource {
    /// Name of the claim in the pod's namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub claim_name: String,
}

/// A disk of Google's cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GcePersistentDisk {
    /// Name of the disk.
    #[serde(deserialize_with = "null_as_default")]
    pub pd_name: String,
    /// Whether it is only read.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}

/// A disk known by an identifier alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeById {
    /// The identifier.
    #[serde(rename = "volumeID", deserialize_with = "null_as_default")]
    pub volume_id: String,
}

/// A Ceph block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RbdVolume {
    /// Addresses of the monitors.
    #[serde(deserialize_with = "null_as_default")]
    pub monitors: Vec<String>,
    /// The pool; the API server defaults it to `rbd`.
    pub pool: Option<String>,
    /// The image.
    #[serde(deserialize_with = "null_as_default")]
    pub image: String,
    /// Whether it is only read.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}

/// An iSCSI disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IscsiVolume {
    /// The qualified name of the target.
    #[serde(deserialize_with = "null_as_default")]
    pub iqn: String,
    /// Whether it is only read.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}

/// A disk of Microsoft's cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AzureDisk {
    /// Address of the disk.
    #[serde(rename = "diskURI", deserialize_with = "null_as_default")]
    pub disk_uri: String,
    /// `Managed`, `Dedicated` or `Shared`; the API server defaults it to `Shared`.
    pub kind: Option<String>,
}

/// An image mounted as a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageVolumeSource {
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub reference: String,
}

/// A source of which only the presence matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Present {}

/// A claim on devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodResourceClaim {
    /// Name, unique in the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// The part of `status` that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Succeeded` and `Failed` pods hold no room.
    pub phase: Option<String>,
    /// The node that preemption or a plugin promised.
    pub nominated_node_name: Option<String>,
    /// When the kubelet accepted the pod.
    pub start_time: Option<Time>,
    /// Conditions; only `PodScheduled` is read.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<PodCondition>,
    /// What the kubelet granted the containers.
    #[serde(deserialize_with = "null_as_default")]
    pub container_statuses: Vec<ContainerStatus>,
    /// What the kubelet granted the init containers.
    #[serde(deserialize_with = "null_as_default")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// What the kubelet granted the pod as a whole.
    pub resources: Option<ResourceRequirements>,
    /// What the kubelet set aside for the pod as a whole.
    #[serde(deserialize_with = "null_as_default")]
    pub allocated_resources: ResourceList,
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// Such as `PodScheduled`, `DisruptionTarget`, `PodResizePending`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// A word for programs.
    pub reason: Option<String>,
    /// A sentence for people.
    pub message: Option<String>,
    /// The generation of the pod that was judged.
    pub observed_generation: Option<i64>,
}

/// Granted resources of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Name of the container.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// What the kubelet set aside.
    #[serde(deserialize_with = "null_as_default")]
    pub allocated_resources: ResourceList,
    /// What the runtime enforces.
    pub resources: Option<ResourceRequirements>,
}

resource!(Pod, NamespaceResourceScope, "", "Pod", "pods");
