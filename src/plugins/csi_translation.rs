//! In-tree volumes under the names that their CSI drivers know them by (`csi-translation-lib`).

use std::collections::BTreeSet;

use crate::model::objects::PersistentVolume;
use crate::model::pod_volume::{DEFAULT_AZURE_DISK_KIND, PodVolume};
use crate::model::symbols::Symbols;

/// An in-tree plugin whose volumes a CSI driver serves on every node that has drivers
/// (`isCSIMigrationOn`).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InTreePlugin {
    /// The name, which is that of its provisioner.
    pub(crate) name: &'static str,
    pub(crate) driver: &'static str,
    /// The label by which the driver tells zones; `None` if it keeps those of the volume.
    pub(crate) zone_label: Option<&'static str>,
}

static AWS_EBS: InTreePlugin = InTreePlugin {
    name: "kubernetes.io/aws-ebs",
    driver: "ebs.csi.aws.com",
    zone_label: Some("topology.ebs.csi.aws.com/zone"),
};
static AZURE_DISK: InTreePlugin = InTreePlugin {
    name: "kubernetes.io/azure-disk",
    driver: "disk.csi.azure.com",
    zone_label: None,
};
static CINDER: InTreePlugin = InTreePlugin {
    name: "kubernetes.io/cinder",
    driver: "cinder.csi.openstack.org",
    zone_label: Some("topology.cinder.csi.openstack.org/zone"),
};
static GCE_PD: InTreePlugin = InTreePlugin {
    name: "kubernetes.io/gce-pd",
    driver: "pd.csi.storage.gke.io",
    zone_label: Some("topology.gke.io/zone"),
};
static PORTWORX: InTreePlugin = InTreePlugin {
    name: "kubernetes.io/portworx-volume",
    driver: "pxd.portworx.com",
    zone_label: None,
};

/// The kind of Azure disks that the driver takes over (`v1.AzureManagedDisk`).
const AZURE_MANAGED: &str = "Managed";
/// Stands for a project or zone that is not known (`UnspecifiedValue`).
const UNSPECIFIED: &str = "UNSPECIFIED";
/// Separates the zones of one label (`labelMultiZoneDelimiter`).
const ZONE_DELIMITER: &str = "__";

/// What provides the volumes of a storage class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provisioner {
    /// The CSI driver of this name, or something that is no driver at all.
    Other,
    /// An in-tree plugin that a driver took over.
    InTree(&'static InTreePlugin),
    /// An in-tree plugin whose volumes are not counted.
    Uncounted,
}

impl Provisioner {
    pub(crate) fn of(name: &str) -> Self {
        let plugins = [&AWS_EBS, &AZURE_DISK, &CINDER, &GCE_PD, &PORTWORX];
        match plugins.into_iter().find(|plugin| plugin.name == name) {
            Some(plugin) => Self::InTree(plugin),
            None if UNCOUNTED.contains(&name) => Self::Uncounted,
            None => Self::Other,
        }
    }
}

/// Known to the translation, but never taken over where volumes are counted.
const UNCOUNTED: [&str; 2] = ["kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"];

/// A volume as its driver knows it: what served it before, and its handle.
pub(crate) type Translated = (&'static InTreePlugin, String);

/// Whether a driver took over volumes like this one (`IsInlineMigratable`, as far as they count).
pub(crate) fn is_migratable(volume: &PodVolume) -> bool {
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
pub(crate) fn translate_inline(
    volume: &PodVolume,
    symbols: &Symbols,
) -> Result<Option<Translated>, String> {
    let translated = match volume {
        PodVolume::GcePersistentDisk { pd_name, .. } => {
            Ok((&GCE_PD, zonal_disk(UNSPECIFIED, symbols.text(*pd_name))))
        }
        PodVolume::AwsElasticBlockStore {
            volume_id,
            volume_name,
        } => ebs_volume(symbols.text(*volume_id))
            .map(|id| (&AWS_EBS, id.to_owned()))
            .map_err(|error| (*volume_name, error)),
        PodVolume::AzureDisk {
            volume_name,
            disk_uri,
            kind,
        } => check_managed(symbols.text(*kind))
            .map(|()| (&AZURE_DISK, symbols.text(*disk_uri).to_owned()))
            .map_err(|error| (*volume_name, error)),
        PodVolume::Cinder { volume_id } => Ok((&CINDER, symbols.text(*volume_id).to_owned())),
        PodVolume::Portworx { volume_id } => Ok((&PORTWORX, symbols.text(*volume_id).to_owned())),
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

/// The plugin of an in-tree persistent volume that a driver took over, and what the driver calls
/// the volume; the error is upstream's text (`TranslateInTreePVToCSI`). `None` for other volumes.
pub(crate) fn translate(
    volume: &PersistentVolume,
) -> Option<(&'static InTreePlugin, Result<String, String>)> {
    let spec = &volume.spec;
    if let Some(disk) = &spec.gce_persistent_disk {
        Some((&GCE_PD, gce_volume(volume, &disk.pd_name)))
    } else if let Some(disk) = &spec.aws_elastic_block_store {
        Some((&AWS_EBS, ebs_volume(&disk.volume_id).map(str::to_owned)))
    } else if let Some(disk) = &spec.azure_disk {
        let kind = disk.kind.as_deref().unwrap_or(DEFAULT_AZURE_DISK_KIND);
        let handle = check_managed(kind).map(|()| disk.disk_uri.clone());
        Some((&AZURE_DISK, handle))
    } else if let Some(disk) = &spec.cinder {
        Some((&CINDER, Ok(disk.volume_id.clone())))
    } else {
        let disk = spec.portworx_volume.as_ref()?;
        Some((&PORTWORX, Ok(disk.volume_id.clone())))
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
fn gce_volume(volume: &PersistentVolume, name: &str) -> Result<String, String> {
    let labels = volume.metadata.labels.as_ref();
    let label = |key: &str| labels?.get(key).filter(|zones| !zones.is_empty());
    let zones = label("failure-domain.beta.kubernetes.io/zone")
        .or_else(|| label("topology.kubernetes.io/zone"));
    let Some(zones) = zones else {
        return Ok(zonal_disk(UNSPECIFIED, name));
    };
    let zones: Vec<&str> = zones.split(ZONE_DELIMITER).collect();
    if let [zone] = *zones {
        return Ok(zonal_disk(zone, name));
    }
    let region =
        gce_region(&zones).map_err(|error| format!("failed to get region from zones: {error}"))?;
    Ok(format!(
        "projects/{UNSPECIFIED}/regions/{region}/disks/{name}"
    ))
}

/// The one region of all zones, which are called `LOCALE-REGION-ZONE` (`gceGetRegionFromZones`).
fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let [locale, region, _] = zone.split('-').collect::<Vec<_>>()[..] else {
            return Err(format!(
                "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            ));
        };
        regions.insert(format!("{locale}-{region}"));
    }
    if regions.len() != 1 {
        // Go's `%v` of a set.
        let regions: Vec<_> = regions.iter().map(|one| format!("{one}:{{}}")).collect();
        return Err(format!(
            "multiple or no regions gotten from zones, got: map[{}]",
            regions.join(" ")
        ));
    }
    Ok(regions.pop_first().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The driver and the handle of a volume that can be translated.
    fn translated(labels: &Value, spec: &Value) -> Option<(&'static str, String)> {
        let volume = json!({"metadata": {"name": "v", "labels": labels}, "spec": spec});
        let (plugin, handle) = translate(&serde_json::from_value(volume).unwrap())?;
        Some((plugin.driver, handle.ok()?))
    }

    #[test]
    fn gce_disks_are_named_by_project_zone_or_region() {
        let disk = json!({"gcePersistentDisk": {"pdName": "d"}});
        let beta = "failure-domain.beta.kubernetes.io/zone";
        let zone = "topology.kubernetes.io/zone";
        for (labels, place) in [
            (json!({}), Some("zones/UNSPECIFIED")),
            (json!({zone: "z"}), Some("zones/z")),
            (json!({zone: "z", beta: "b"}), Some("zones/b")),
            (
                json!({zone: "us-west1-a__us-west1-b"}),
                Some("regions/us-west1"),
            ),
            (json!({zone: "us-west1-a__us-east1-b"}), None),
            (json!({zone: "a__b"}), None),
        ] {
            let handle = place.map(|place| format!("projects/UNSPECIFIED/{place}/disks/d"));
            let expected = handle.map(|handle| ("pd.csi.storage.gke.io", handle));
            assert_eq!(translated(&labels, &disk), expected, "{labels}");
        }
    }

    #[test]
    fn zones_that_make_no_region_are_named() {
        assert_eq!(
            gce_region(&["us-west1-a", "us-east1-b"]),
            Err(
                "multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]"
                    .to_owned()
            )
        );
        assert_eq!(
            gce_region(&["a", "b"]),
            Err("zone in unexpected format, expected: {locale}-{region}-{zone}, got: a".to_owned())
        );
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
            let expected = handle.map(|handle| ("ebs.csi.aws.com", handle.to_owned()));
            assert_eq!(translated(&json!({}), &spec), expected, "{id}");
        }
    }

    #[test]
    fn azure_disks_count_only_if_they_are_managed() {
        let disk = |kind| json!({"azureDisk": {"diskName": "d", "diskURI": "u", "kind": kind}});
        for (kind, counts) in [
            (Some("managed"), true),
            (Some("Dedicated"), false),
            (None, false),
        ] {
            let expected = counts.then(|| ("disk.csi.azure.com", "u".to_owned()));
            assert_eq!(translated(&json!({}), &disk(kind)), expected, "{kind:?}");
        }
    }

    #[test]
    fn volumes_that_no_driver_took_over_do_not_count() {
        let nfs = json!({"nfs": {"server": "s", "path": "/"}});
        assert_eq!(translated(&json!({}), &nfs), None);
        let vsphere = json!({"vsphereVolume": {"volumePath": "p"}});
        assert_eq!(translated(&json!({}), &vsphere), None);
    }
}
