//! Volumes that count against the limit of a driver on a node.

use std::collections::BTreeSet;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::model::object_key::ObjectKey;
use crate::model::objects::{CsiNode, PersistentVolumeClaim, VolumeAttachment};
use crate::model::pod_volume::PodVolume;
use crate::plugins::claims;
use crate::plugins::csi_translation::{Provisioner, translate, translate_inline};

/// A volume that counts once, however many pods on the node use it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AttachableVolume {
    pub(super) driver: String,
    handle: VolumeHandle,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VolumeHandle {
    /// What the driver calls it.
    Known(String),
    /// A claim that has no volume yet. Upstream makes up a handle with a random prefix.
    Unbound(ObjectKey),
}

/// Why the volumes of a pod cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Untold {
    /// A claim does not exist: no node will do.
    MissingClaim(String),
    /// The attempt fails.
    Failed(String),
}

/// Tells the volumes of pods, as they count on one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct VolumesOnNode<'a> {
    pub(super) listers: &'a Listers,
    /// What drivers say of the node. In-tree volumes count only where there is such an object.
    pub(super) csi_node: Option<&'a CsiNode>,
}

// === impl VolumesOnNode ===

impl<'a> VolumesOnNode<'a> {
    pub(super) fn of(node: &NodeView<'a>) -> Self {
        let listers = node.cluster().listers();
        Self {
            listers,
            csi_node: listers.csi_nodes.get("", node.name()).map(|node| &**node),
        }
    }

    /// The volumes of the pod that is to be placed: all its claims must exist.
    pub(super) fn of_new_pod(
        &self,
        pod: &PodView<'_>,
    ) -> Result<BTreeSet<AttachableVolume>, Untold> {
        let mut volumes = BTreeSet::new();
        self.collect(pod, &mut volumes, |name, error| {
            let namespace = &pod.info.key.namespace;
            let text = format!("looking up PVC {namespace}/{name}: {error}");
            Err(Untold::MissingClaim(text))
        })?;
        Ok(volumes)
    }

    /// The volumes of the pods on the node; claims that do not exist do not count.
    pub(super) fn of_pods_on(
        &self,
        node: &NodeView<'_>,
    ) -> Result<BTreeSet<AttachableVolume>, Untold> {
        let mut volumes = BTreeSet::new();
        for pod in node.pods() {
            self.collect(&pod, &mut volumes, |_, _| Ok(()))?;
        }
        Ok(volumes)
    }

    /// `filterAttachableVolumes`.
    fn collect(
        &self,
        pod: &PodView<'_>,
        volumes: &mut BTreeSet<AttachableVolume>,
        claim_is_missing: impl Fn(&str, String) -> Result<(), Untold>,
    ) -> Result<(), Untold> {
        for volume in &pod.class.volumes {
            let (name, is_ephemeral) = match volume {
                PodVolume::Claim { name } => (pod.symbols.text(*name).to_owned(), false),
                PodVolume::Ephemeral { volume_name } => {
                    (claims::ephemeral_name(pod, *volume_name), true)
                }
                _ => {
                    volumes.extend(self.inline_volume(pod, volume)?);
                    continue;
                }
            };
            if name.is_empty() {
                let text = "PersistentVolumeClaim had no name".to_owned();
                return Err(Untold::Failed(text));
            }
            match claims::find(pod, &name, self.listers) {
                Err(error) => claim_is_missing(&name, error)?,
                Ok(claim) if is_ephemeral && !claims::is_controlled_by(claim, pod) => {
                    return Err(Untold::Failed(claims::not_owner(&name, pod)));
                }
                Ok(claim) => volumes.extend(self.claimed_volume(claim)),
            }
        }
        Ok(())
    }

    fn inline_volume(
        &self,
        pod: &PodView<'_>,
        volume: &PodVolume,
    ) -> Result<Option<AttachableVolume>, Untold> {
        if self.csi_node.is_none() {
            return Ok(None);
        }
        let translated = translate_inline(volume, pod.symbols).map_err(Untold::Failed)?;
        Ok(translated.map(|(plugin, handle)| AttachableVolume::known(plugin.driver, handle)))
    }

    /// `getCSIDriverInfo`: the volume of the claim, or the one that its storage class will make.
    fn claimed_volume(&self, claim: &PersistentVolumeClaim) -> Option<AttachableVolume> {
        let volumes = &self.listers.persistent_volumes;
        let name = claims::volume_name(claim);
        let Some(volume) = volumes.get("", name).filter(|_| !name.is_empty()) else {
            return self.future_volume(claim);
        };
        let (driver, handle) = if let Some(source) = &volume.spec.csi {
            (source.driver.as_str(), source.volume_handle.clone())
        } else {
            let (plugin, handle) = self.csi_node.and_then(|_| translate(volume))?;
            // What cannot be translated does not count.
            (plugin.driver, handle.ok()?)
        };
        (!driver.is_empty() && !handle.is_empty()).then(|| AttachableVolume::known(driver, handle))
    }

    /// `getCSIDriverInfoFromSC`.
    fn future_volume(&self, claim: &PersistentVolumeClaim) -> Option<AttachableVolume> {
        let class = claims::storage_class(claim);
        let class = self.listers.storage_classes.get("", class)?;
        let driver = match Provisioner::of(&class.provisioner) {
            Provisioner::Other => class.provisioner.as_str(),
            Provisioner::InTree(plugin) => self.csi_node.map(|_| plugin.driver)?,
            Provisioner::Uncounted => return None,
        };
        (!driver.is_empty()).then(|| AttachableVolume {
            driver: driver.to_owned(),
            handle: VolumeHandle::Unbound(ObjectKey::of(&claim.metadata)),
        })
    }
}

// === impl AttachableVolume ===

impl AttachableVolume {
    fn known(driver: &str, handle: String) -> Self {
        Self {
            driver: driver.to_owned(),
            handle: VolumeHandle::Known(handle),
        }
    }

    /// The volume that is being attached; only those of CSI drivers count
    /// (`getNodeVolumeAttachmentInfo`).
    pub(super) fn of_attachment(attachment: &VolumeAttachment, listers: &Listers) -> Option<Self> {
        let attacher = &attachment.spec.attacher;
        if attacher.is_empty() {
            return None;
        }
        let name = attachment.spec.source.persistent_volume_name.as_ref()?;
        let volume = listers.persistent_volumes.get("", name)?;
        let source = volume.spec.csi.as_ref()?;
        Some(Self::known(attacher, source.volume_handle.clone()))
    }
}
