//! Volumes of a pod, compiled: those that tie it to a place or that count on a node.

use crate::model::objects::pod::Volume;
use crate::model::symbols::{Symbol, SymbolScope};

/// A volume of a pod. Sources that no plugin reads (secrets, config maps, empty directories, …)
/// are left out of the class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PodVolume {
    /// A claim in the namespace of the pod.
    Claim {
        /// `persistentVolumeClaim.claimName`; empty in objects that no API server checked.
        name: Symbol,
    },
    /// A claim made for the pod, called `<pod>-<volume>`.
    Ephemeral {
        /// The name of the volume.
        volume_name: Symbol,
    },
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        pd_name: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// The name of the volume, for messages.
        volume_name: Symbol,
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`.
        iqn: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`, in the order of the object.
        monitors: Box<[Symbol]>,
        /// `pool`.
        pool: Symbol,
        /// `image`.
        image: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `azureDisk`.
    AzureDisk {
        /// The name of the volume, for messages.
        volume_name: Symbol,
        /// `diskURI`.
        disk_uri: Symbol,
        /// `kind`.
        kind: Symbol,
    },
    /// `cinder`.
    Cinder {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `portworxVolume`.
    Portworx {
        /// `volumeID`.
        volume_id: Symbol,
    },
}

/// What the API server writes into an RBD volume without a pool.
const DEFAULT_RBD_POOL: &str = "rbd";
/// What the API server writes into an Azure disk without a kind (`v1.AzureSharedBlobDisk`).
pub(crate) const DEFAULT_AZURE_DISK_KIND: &str = "Shared";

impl PodVolume {
    /// Compiles `volume`; `None` if scheduling does not read its source.
    pub fn compile(volume: &Volume, scope: &mut SymbolScope<'_>) -> Option<Self> {
        if let Some(claim) = &volume.persistent_volume_claim {
            let name = scope.intern(&claim.claim_name);
            return Some(Self::Claim { name });
        }
        if volume.ephemeral.is_some() {
            let volume_name = scope.intern(&volume.name);
            return Some(Self::Ephemeral { volume_name });
        }
        Self::compile_inline(volume, scope)
    }

    fn compile_inline(volume: &Volume, scope: &mut SymbolScope<'_>) -> Option<Self> {
        if let Some(disk) = &volume.gce_persistent_disk {
            Some(Self::GcePersistentDisk {
                pd_name: scope.intern(&disk.pd_name),
                read_only: disk.read_only,
            })
        } else if let Some(disk) = &volume.aws_elastic_block_store {
            Some(Self::AwsElasticBlockStore {
                volume_name: scope.intern(&volume.name),
                volume_id: scope.intern(&disk.volume_id),
            })
        } else if let Some(disk) = &volume.iscsi {
            Some(Self::Iscsi {
                iqn: scope.intern(&disk.iqn),
                read_only: disk.read_only,
            })
        } else if let Some(disk) = &volume.rbd {
            let monitors = disk.monitors.iter();
            Some(Self::Rbd {
                monitors: monitors.map(|monitor| scope.intern(monitor)).collect(),
                pool: scope.intern(given(disk.pool.as_deref()).unwrap_or(DEFAULT_RBD_POOL)),
                image: scope.intern(&disk.image),
                read_only: disk.read_only,
            })
        } else if let Some(disk) = &volume.azure_disk {
            Some(Self::AzureDisk {
                volume_name: scope.intern(&volume.name),
                disk_uri: scope.intern(&disk.disk_uri),
                kind: scope.intern(disk.kind.as_deref().unwrap_or(DEFAULT_AZURE_DISK_KIND)),
            })
        } else if let Some(disk) = &volume.cinder {
            let volume_id = scope.intern(&disk.volume_id);
            Some(Self::Cinder { volume_id })
        } else {
            let disk = volume.portworx_volume.as_ref()?;
            let volume_id = scope.intern(&disk.volume_id);
            Some(Self::Portworx { volume_id })
        }
    }

    /// Whether the volume is a claim, by name or made for the pod.
    pub fn is_claim(&self) -> bool {
        matches!(self, Self::Claim { .. } | Self::Ephemeral { .. })
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::objects::Pod;
    use crate::model::vocabulary::Vocabulary;

    fn compile(
        namespace: &str,
        volumes: &serde_json::Value,
    ) -> (Vocabulary, crate::model::pod_info::PodInfo) {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": namespace}, "spec": {"volumes": volumes}}))
        .unwrap();
        let mut vocabulary = Vocabulary::new(1);
        let info = vocabulary.compile_pod(&pod).unwrap();
        (vocabulary, info)
    }

    #[test]
    fn volumes_that_no_plugin_reads_leave_no_trace() {
        let (vocabulary, info) = compile(
            "a",
            &json!([{"name": "c", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}}]),
        );
        let class = vocabulary.pod_class(info.class);
        assert!(class.volumes.is_empty());
        assert_eq!(class.claim_namespace, None);
    }

    #[test]
    fn pods_with_claims_are_of_a_class_of_their_namespace() {
        let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
        let (vocabulary, info) = compile("a", &volumes);
        let class = vocabulary.pod_class(info.class);
        assert_eq!(class.claim_namespace, vocabulary.symbols().get("a"));
        let name = vocabulary.symbols().get("c").unwrap();
        assert_eq!(*class.volumes, [PodVolume::Claim { name }]);
    }

    #[test]
    fn sources_have_the_defaults_of_the_api_server() {
        let (vocabulary, info) = compile(
            "a",
            &json!([
                {"name": "r", "rbd": {"monitors": ["m"], "image": "i"}},
                {"name": "d", "azureDisk": {"diskName": "d", "diskURI": "u"}}]),
        );
        let symbol = |text| vocabulary.symbols().get(text).unwrap();
        assert_eq!(
            *vocabulary.pod_class(info.class).volumes,
            [
                PodVolume::Rbd {
                    monitors: [symbol("m")].into(),
                    pool: symbol("rbd"),
                    image: symbol("i"),
                    read_only: false,
                },
                PodVolume::AzureDisk {
                    volume_name: symbol("d"),
                    disk_uri: symbol("u"),
                    kind: symbol("Shared"),
                },
            ]
        );
    }
}
