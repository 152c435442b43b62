//! `Volume` and the sources that tie a pod to a place (k8s.io/api, `core/v1`).

use prost::Message;

use crate::kubernetes::protobuf::omit_empty;
use crate::model::objects::pod as model;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Volume {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    source: Option<VolumeSource>,
}

#[derive(Clone, PartialEq, Message)]
struct VolumeSource {
    #[prost(message, optional, tag = "3")]
    gce_persistent_disk: Option<GcePersistentDisk>,
    #[prost(message, optional, tag = "4")]
    aws_elastic_block_store: Option<VolumeById>,
    #[prost(message, optional, tag = "8")]
    iscsi: Option<IscsiVolume>,
    #[prost(message, optional, tag = "10")]
    persistent_volume_claim: Option<ClaimVolumeSource>,
    #[prost(message, optional, tag = "11")]
    rbd: Option<RbdVolume>,
    #[prost(message, optional, tag = "13")]
    cinder: Option<VolumeById>,
    #[prost(message, optional, tag = "22")]
    azure_disk: Option<AzureDisk>,
    #[prost(message, optional, tag = "24")]
    portworx_volume: Option<VolumeById>,
    #[prost(message, optional, tag = "29")]
    ephemeral: Option<Present>,
    #[prost(message, optional, tag = "30")]
    image: Option<ImageVolumeSource>,
}

#[derive(Clone, PartialEq, Message)]
struct GcePersistentDisk {
    #[prost(string, tag = "1")]
    pd_name: String,
    #[prost(bool, tag = "4")]
    read_only: bool,
}

/// The sources of AWS, Cinder and Portworx, which begin alike.
#[derive(Clone, PartialEq, Message)]
struct VolumeById {
    #[prost(string, tag = "1")]
    volume_id: String,
}

#[derive(Clone, PartialEq, Message)]
struct IscsiVolume {
    #[prost(string, tag = "2")]
    iqn: String,
    #[prost(bool, tag = "6")]
    read_only: bool,
}

#[derive(Clone, PartialEq, Message)]
struct ClaimVolumeSource {
    #[prost(string, tag = "1")]
    claim_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct RbdVolume {
    #[prost(string, repeated, tag = "1")]
    monitors: Vec<String>,
    #[prost(string, tag = "2")]
    image: String,
    #[prost(string, tag = "4")]
    pool: String,
    #[prost(bool, tag = "8")]
    read_only: bool,
}

#[derive(Clone, PartialEq, Message)]
struct AzureDisk {
    #[prost(string, tag = "2")]
    disk_uri: String,
    #[prost(string, optional, tag = "6")]
    kind: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ImageVolumeSource {
    #[prost(string, tag = "1")]
    reference: String,
}

/// A source of which only the presence matters.
#[derive(Clone, PartialEq, Message)]
struct Present {}

impl From<Volume> for model::Volume {
    fn from(volume: Volume) -> Self {
        let source = volume.source.unwrap_or_default();
        Self {
            name: volume.name,
            persistent_volume_claim: source.persistent_volume_claim.map(Into::into),
            ephemeral: source.ephemeral.map(|_| model::Present {}),
            gce_persistent_disk: source.gce_persistent_disk.map(Into::into),
            aws_elastic_block_store: source.aws_elastic_block_store.map(Into::into),
            rbd: source.rbd.map(Into::into),
            iscsi: source.iscsi.map(Into::into),
            azure_disk: source.azure_disk.map(Into::into),
            cinder: source.cinder.map(Into::into),
            portworx_volume: source.portworx_volume.map(Into::into),
            image: source.image.map(Into::into),
        }
    }
}

impl From<GcePersistentDisk> for model::GcePersistentDisk {
    fn from(disk: GcePersistentDisk) -> Self {
        Self {
            pd_name: disk.pd_name,
            read_only: disk.read_only,
        }
    }
}

impl From<VolumeById> for model::VolumeById {
    fn from(volume: VolumeById) -> Self {
        Self {
            volume_id: volume.volume_id,
        }
    }
}

impl From<IscsiVolume> for model::IscsiVolume {
    fn from(volume: IscsiVolume) -> Self {
        Self {
            iqn: volume.iqn,
            read_only: volume.read_only,
        }
    }
}

impl From<ClaimVolumeSource> for model::ClaimVolumeSource {
    fn from(source: ClaimVolumeSource) -> Self {
        Self {
            claim_name: source.claim_name,
        }
    }
}

impl From<RbdVolume> for model::RbdVolume {
    fn from(volume: RbdVolume) -> Self {
        Self {
            monitors: volume.monitors,
            pool: omit_empty(volume.pool),
            image: volume.image,
            read_only: volume.read_only,
        }
    }
}

impl From<AzureDisk> for model::AzureDisk {
    fn from(disk: AzureDisk) -> Self {
        Self {
            disk_uri: disk.disk_uri,
            kind: disk.kind,
        }
    }
}

impl From<ImageVolumeSource> for model::ImageVolumeSource {
    fn from(source: ImageVolumeSource) -> Self {
        Self {
            reference: source.reference,
        }
    }
}
