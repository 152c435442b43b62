//! In-tree volumes under the names that their CSI drivers know them by (`csi-translation-lib`).

use std::collections::BTreeSet;

use crate::model::objects::PersistentVolume;
use crate::model::pod_volume::{DEFAULT_AZURE_DISK_KIND, PodVolume};
use crate::model::symbols::Symbols;

const AWS_EBS: &str = "ebs.csi.aws.com";
const AZURE_DISK: &str = "disk.csi.azure.com";
const CINDER: &str = "cinder.csi.openstack.org";
const GCE_PD: &str = "pd.csi.storage.gke.io";
const PORTWORX: &str = "pxd.portworx.com";

/// The kind of Azure disks that the driver takes over (`v1.AzureManagedDisk`).
const AZURE_MANAGED: &str = "Managed";
/// Stands for a project or zone that is not known (`UnspecifiedValue`).
const UNSPECIFIED: &str = "UNSPECIFIED";
/// Separates the zones of one label (`labelMultiZoneDelimiter`).
const ZONE_DELIMITER: &str = "__";

/// A volume as its driver knows it.
pub(super) type Translated = (&'static str, String);

/// What became of an in-tree provisioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provisioner {
    /// Not in-tree: the name of a CSI driver.
    Csi,
    /// This driver took it over on every node that has drivers (`isCSIMigrationOn`).
    Migrated(&'static str),
    /// It is known to the translation, but its volumes are not counted.
    NotMigrated,
}

impl Provisioner {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "kubernetes.io/aws-ebs" => Self::Migrated(AWS_EBS),
            "kubernetes.io/azure-disk" => Self::Migrated(AZURE_DISK),
            "kubernetes.io/cinder" => Self::Migrated(CINDER),
            "kubernetes.io/gce-pd" => Self::Migrated(GCE_PD),
            "kubernetes.io/portworx-volume" => Self::Migrated(PORTWORX),
            "kubernetes.io/azure-file" | "kubernetes.io/vsphere-volume" => Self::NotMigrated,
            _ => Self::Csi,
        }
    }
}

/// Whether a driver took over volumes like this one (`IsInlineMigratable`, as far as they count).
pub(super) fn is_migratable(volume: &PodVolume) -> bool {
    matches!(
        volume,
        PodVolume::GcePersistentDisk { .. }
            | PodVolume::AwsElasticBlockStore { .. }
            | PodVolume::AzureDisk { .. }
            | PodVolume::Cinder { .. }
            | PodVolume::Portworx { .. }
    )
}

/// A volume of a pod's spec under its driver's name; `None` for volumes that no driver took over.
/// The error is upstream's text (`TranslateInTreeInlineVolumeToCSI`).
pub(super) fn translate_inline(
    volume: &PodVolume,
    symbols: &Symbols,
) -> Result<Option<Translated>, String> {
    let translated = match volume {
        PodVolume::GcePersistentDisk { pd_name, .. } => {
            Ok((GCE_PD, zonal_disk(UNSPECIFIED, symbols.text(*pd_name))))
        }
        PodVolume::AwsElasticBlockStore {
            volume_id,
            volume_name,
        } => ebs_volume(symbols.text(*volume_id))
            .map(|id| (AWS_EBS, id.to_owned()))
            .map_err(|error| (*volume_name, error)),
        PodVolume::AzureDisk {
            volume_name,
            disk_uri,
            kind,
        } => check_managed(symbols.text(*kind))
            .map(|()| (AZURE_DISK, symbols.text(*disk_uri).to_owned()))
            .map_err(|error| (*volume_name, error)),
        PodVolume::Cinder { volume_id } => Ok((CINDER, symbols.text(*volume_id).to_owned())),
        PodVolume::Portworx { volume_id } => Ok((PORTWORX, symbols.text(*volume_id).to_owned())),
        PodVolume::Claim { .. }
        | PodVolume::Ephemeral { .. }
        | PodVolume::Iscsi { .. }
        | PodVolume::Rbd { .. } => return Ok(None),
    };
    translated.map(Some).map_err(|(volume_name, error)| {
        let volume_name = symbols.text(volume_name);
        format!("converting volume({volume_name}) from inline to csi: {error}")
    })
}

/// An in-tree persistent volume under its driver's name; `None` for volumes that no driver took
/// over, and for those that cannot be translated: they do not count (`TranslateInTreePVToCSI`).
pub(super) fn translate(volume: &PersistentVolume) -> Option<Translated> {
    let spec = &volume.spec;
    if let Some(disk) = &spec.gce_persistent_disk {
        gce_volume(volume, &disk.pd_name).map(|handle| (GCE_PD, handle))
    } else if let Some(disk) = &spec.aws_elastic_block_store {
        let id = ebs_volume(&disk.volume_id).ok()?;
        Some((AWS_EBS, id.to_owned()))
    } else if let Some(disk) = &spec.azure_disk {
        check_managed(disk.kind.as_deref().unwrap_or(DEFAULT_AZURE_DISK_KIND)).ok()?;
        Some((AZURE_DISK, disk.disk_uri.clone()))
    } else if let Some(disk) = &spec.cinder {
        Some((CINDER, disk.volume_id.clone()))
    } else {
        let disk = spec.portworx_volume.as_ref()?;
        Some((PORTWORX, disk.volume_id.clone()))
    }
}

/// `aws://ZONE/vol-1` names `vol-1`; what has no scheme is the identifier itself
/// (`KubernetesVolumeIDToEBSVolumeID`).
fn ebs_volume(id: &str) -> Result<&str, String> {
    let Some(rest) = id.strip_prefix("aws://") else {
        return Ok(id);
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = rest.find('/').map_or("", |slash| &rest[slash..]);
    let volume = path.trim_matches('/');
    if volume.starts_with("vol-") && !volume.contains('/') {
        Ok(volume)
    } else {
        Err(format!(
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({id})"
        ))
    }
}

fn check_managed(kind: &str) -> Result<(), String> {
    if kind.eq_ignore_ascii_case(AZURE_MANAGED) {
        Ok(())
    } else {
        Err(format!("kind({kind}) is not supported in csi migration"))
    }
}

fn zonal_disk(zone: &str, name: &str) -> String {
    format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{name}")
}

/// The zone labels of the volume say whether it is a zonal or a regional disk.
fn gce_volume(volume: &PersistentVolume, name: &str) -> Option<String> {
    let labels = volume.metadata.labels.as_ref();
    let label = |key: &str| labels?.get(key).filter(|zones| !zones.is_empty());
    let zones = label("failure-domain.beta.kubernetes.io/zone")
        .or_else(|| label("topology.kubernetes.io/zone"));
    let Some(zones) = zones else {
        return Some(zonal_disk(UNSPECIFIED, name));
    };
    let zones: Vec<&str> = zones.split(ZONE_DELIMITER).collect();
    if let [zone] = *zones {
        return Some(zonal_disk(zone, name));
    }
    let region = gce_region(&zones)?;
    Some(format!(
        "projects/{UNSPECIFIED}/regions/{region}/disks/{name}"
    ))
}

/// The one region of all zones, which are called `LOCATION-REGION-ZONE` (`gceGetRegionFromZones`).
fn gce_region(zones: &[&str]) -> Option<String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let parts: Vec<&str> = zone.split('-').collect();
        let [location, region, _] = *parts else {
            return None;
        };
        regions.insert(format!("{location}-{region}"));
    }
    let region = regions.pop_first();
    region.filter(|_| regions.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn translated(labels: serde_json::Value, spec: serde_json::Value) -> Option<Translated> {
        let volume = json!({"metadata": {"name": "v", "labels": labels}, "spec": spec});
        translate(&serde_json::from_value(volume).unwrap())
    }

    #[test]
    fn gce_disks_are_named_by_project_zone_or_region() {
        let disk = || json!({"gcePersistentDisk": {"pdName": "d"}});
        let beta = "failure-domain.beta.kubernetes.io/zone";
        let zone = "topology.kubernetes.io/zone";
        for (labels, handle) in [
            (
                json!({}),
                Some("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
            ),
            (
                json!({zone: "z"}),
                Some("projects/UNSPECIFIED/zones/z/disks/d"),
            ),
            (
                json!({zone: "z", beta: "b"}),
                Some("projects/UNSPECIFIED/zones/b/disks/d"),
            ),
            (
                json!({zone: "us-west1-a__us-west1-b"}),
                Some("projects/UNSPECIFIED/regions/us-west1/disks/d"),
            ),
            (json!({zone: "us-west1-a__us-east1-b"}), None),
            (json!({zone: "a__b"}), None),
        ] {
            let expected = handle.map(|handle| (GCE_PD, handle.to_owned()));
            assert_eq!(translated(labels.clone(), disk()), expected, "{labels}");
        }
    }

    #[test]
    fn ebs_volumes_are_named_without_their_zone() {
        for (id, handle) in [
            ("vol-1", Some("vol-1")),
            ("anything", Some("anything")),
            ("aws://us-east-1a/vol-1", Some("vol-1")),
            ("aws:///vol-1", Some("vol-1")),
            ("aws://vol-1", None),
            ("aws:///us-east-1a/vol-1", None),
        ] {
            let spec = json!({"awsElasticBlockStore": {"volumeID": id}});
            let expected = handle.map(|handle| (AWS_EBS, handle.to_owned()));
            assert_eq!(translated(json!({}), spec), expected, "{id}");
        }
    }

    #[test]
    fn azure_disks_count_only_if_they_are_managed() {
        let disk = |kind| json!({"azureDisk": {"diskName": "d", "diskURI": "u", "kind": kind}});
        let managed = Some((AZURE_DISK, "u".to_owned()));
        assert_eq!(translated(json!({}), disk(Some("managed"))), managed);
        assert_eq!(translated(json!({}), disk(Some("Dedicated"))), None);
        assert_eq!(translated(json!({}), disk(None)), None);
    }

    #[test]
    fn volumes_that_no_driver_took_over_do_not_count() {
        let spec = json!({"nfs": {"server": "s", "path": "/"}});
        assert_eq!(translated(json!({}), spec), None);
        let spec = json!({"vsphereVolume": {"volumePath": "p"}});
        assert_eq!(translated(json!({}), spec), None);
    }
}
