//! Binding the volumes of a pod: what is assumed, what is written, and whether the controllers
//! have done their part.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::{NodeView, Snapshot};
use crate::engine::effect::volumes::{ClaimWrite, VolumeWrite, VolumeWrites, WrittenObject};
use crate::engine::framework::reservations::Reserved;
use crate::model::object_key::ObjectKey;
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim};
use crate::plugins::volume_binding::assumed::{AssumedVolumes, reserved_claim, reserved_volume};
use crate::plugins::volume_binding::claims::{
    SELECTED_NODE, is_fully_bound, selected_node, volume_name,
};
use crate::plugins::volume_binding::find_matching::{is_bound_to, is_reserved_for};
use crate::plugins::volume_binding::migration::VolumePlace;
use crate::plugins::volume_binding::pod_volumes::{DynamicProvision, NodeVolumes, StaticBinding};

/// The binding was installed by a controller and not by a user (`AnnBoundByController`).
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The volumes of a pod that has a node, on their way to be bound.
#[derive(Clone, Debug)]
pub(super) struct BindingVolumes {
    /// Volumes as they will be.
    bindings: Vec<StaticBinding>,
    /// Claims as they will be.
    claims: Vec<Arc<PersistentVolumeClaim>>,
    /// The resourceVersions after the write, first of the volumes, then of the claims; `None`
    /// before it.
    written: Option<Vec<Option<u64>>>,
}

impl BindingVolumes {
    /// Assumes that all is written (`AssumePodVolumes`).
    pub(super) fn assume(volumes: NodeVolumes, node: &str, book: &mut AssumedVolumes) -> Self {
        let bindings = volumes.bindings.into_iter().map(|binding| {
            let volume = reserve(&binding.volume, &binding.claim);
            if let Some(volume) = &volume {
                book.assume_volume(Arc::clone(volume));
            }
            StaticBinding {
                volume: volume.unwrap_or(binding.volume),
                claim: binding.claim,
            }
        });
        let bindings = bindings.collect();
        let claims = volumes.provisions.into_iter().map(|provision| {
            let claim = select_node(&provision, node);
            book.assume_claim(Arc::clone(&claim));
            claim
        });
        Self {
            bindings,
            claims: claims.collect(),
            written: None,
        }
    }

    /// Nothing will be written. What is already written stays assumed until the watch brings it.
    pub(super) fn restore(&self, book: &mut AssumedVolumes) {
        if self.written.is_some() {
            return;
        }
        for binding in &self.bindings {
            book.restore_volume(&binding.volume);
        }
        for claim in &self.claims {
            book.restore_claim(claim);
        }
    }

    /// What is assumed and not written yet.
    pub(super) fn reserved(&self, listers: &Listers) -> Vec<Reserved> {
        if self.written.is_some() {
            return Vec::new();
        }
        let volumes = self.bindings.iter();
        let volumes = volumes.filter_map(|binding| reserved_volume(&binding.volume, listers));
        let claims = self.claims.iter();
        let claims = claims.filter_map(|claim| reserved_claim(claim, listers));
        volumes.chain(claims).collect()
    }

    /// What is to be written.
    pub(super) fn writes(&self, node: &Arc<str>) -> VolumeWrites {
        let volumes = self.bindings.iter().map(|binding| {
            let annotations = binding.volume.metadata.annotations.as_ref();
            VolumeWrite {
                volume: written_object(&binding.volume.metadata),
                claim: written_object(&binding.claim.metadata),
                is_bound_by_controller: annotations
                    .is_some_and(|annotations| annotations.contains_key(BOUND_BY_CONTROLLER)),
            }
        });
        let claims = self.claims.iter().map(|claim| ClaimWrite {
            claim: written_object(&claim.metadata),
            node: Arc::clone(node),
        });
        VolumeWrites {
            volumes: volumes.collect(),
            claims: claims.collect(),
        }
    }

    /// All is written, and this is what the server made of it.
    pub(super) fn note_written(&mut self, versions: Vec<Option<u64>>) {
        self.written = Some(versions);
    }

    /// Whether all claims are bound; an error if they will not be (`checkBindings`). Judges what
    /// the watch brought, never what is assumed.
    pub(super) fn are_bound(&self, node: &str, cluster: Snapshot<'_>) -> Result<bool, String> {
        let Some(node) = cluster.node(node) else {
            return Err(format!(
                "failed to get node {node:?}: node {node:?} not found"
            ));
        };
        let mut versions = self.written.iter().flatten().copied();
        for binding in &self.bindings {
            let written = versions.next().flatten();
            if !is_binding_done(binding, written, &node)? {
                return Ok(false);
            }
        }
        for claim in &self.claims {
            let written = versions.next().flatten();
            if !is_provisioning_done(claim, written, &node)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The volume with the claim in it, if it is not there already (`GetBindVolumeToClaim`).
fn reserve(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Option<Arc<PersistentVolume>> {
    let is_reserved = is_reserved_for(volume, claim);
    let by_user = is_bound_to(volume, claim);
    let annotations = volume.metadata.annotations.as_ref();
    let is_annotated = annotations.is_some_and(|kept| kept.contains_key(BOUND_BY_CONTROLLER));
    if is_reserved && (by_user || is_annotated) {
        return None;
    }
    let mut volume = volume.clone();
    if !is_reserved {
        volume.spec.claim_ref = Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("PersistentVolumeClaim".to_owned()),
            name: claim.metadata.name.clone(),
            namespace: claim.metadata.namespace.clone(),
            resource_version: claim.metadata.resource_version.clone(),
            uid: claim.metadata.uid.clone(),
            field_path: None,
        });
    }
    if !by_user {
        let annotations = volume.metadata.annotations.get_or_insert_default();
        annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    }
    Some(Arc::new(volume))
}

/// The claim with the node for which a volume is to be made.
fn select_node(provision: &DynamicProvision, node: &str) -> Arc<PersistentVolumeClaim> {
    let mut claim = (*provision.claim).clone();
    let annotations = claim.metadata.annotations.get_or_insert_default();
    annotations.insert(SELECTED_NODE.to_owned(), node.to_owned());
    Arc::new(claim)
}

fn written_object(metadata: &ObjectMeta) -> WrittenObject {
    let text = |text: &Option<String>| text.as_deref().unwrap_or_default().into();
    WrittenObject {
        key: ObjectKey::of(metadata),
        uid: text(&metadata.uid),
        resource_version: text(&metadata.resource_version),
    }
}

/// Whether what the watch brought is from before the write.
fn is_older(metadata: &ObjectMeta, written: Option<u64>) -> bool {
    let version = metadata.resource_version.as_deref();
    let version: u64 = version.and_then(|text| text.parse().ok()).unwrap_or(0);
    written.is_some_and(|written| version < written)
}

fn known_claim<'a>(
    claim: &PersistentVolumeClaim,
    listers: &'a Listers,
    what_failed: &str,
) -> Result<&'a Arc<PersistentVolumeClaim>, String> {
    let key = ObjectKey::of(&claim.metadata);
    let claims = &listers.persistent_volume_claims;
    claims
        .get(&key.namespace, &key.name)
        .ok_or_else(|| format!("{what_failed}: persistentvolumeclaims \"{key}\" not found"))
}

fn is_binding_done(
    binding: &StaticBinding,
    written: Option<u64>,
    node: &NodeView<'_>,
) -> Result<bool, String> {
    let cluster = node.cluster();
    let listers = cluster.listers();
    let name = binding.volume.metadata.name.as_deref().unwrap_or_default();
    let Some(volume) = listers.persistent_volumes.get("", name) else {
        return Err(format!(
            "failed to check binding: persistentvolumes {name:?} not found"
        ));
    };
    let claim = known_claim(&binding.claim, listers, "failed to check binding")?;
    if is_older(&volume.metadata, written) {
        return Ok(false);
    }
    check_place(volume, node).map_err(|error| match error {
        Misplaced::Untranslatable(error) => {
            format!("failed to translate pv to csi: {error}")
        }
        Misplaced::Elsewhere(error) => error,
    })?;
    let reference = volume.spec.claim_ref.as_ref();
    if reference.is_none_or(|claim| claim.uid.as_deref().unwrap_or_default().is_empty()) {
        return Err(format!("ClaimRef got reset for pv {name:?}"));
    }
    Ok(is_fully_bound(claim))
}

fn is_provisioning_done(
    claim: &PersistentVolumeClaim,
    written: Option<u64>,
    node: &NodeView<'_>,
) -> Result<bool, String> {
    let cluster = node.cluster();
    let listers = cluster.listers();
    let claim = known_claim(claim, listers, "failed to check provisioning pvc")?;
    if is_older(&claim.metadata, written) {
        return Ok(false);
    }
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    if claim.metadata.annotations.is_none() {
        return Err(format!("selectedNode annotation reset for PVC {name:?}"));
    }
    // A provisioner that fails takes the annotation away, so that another node is tried.
    if selected_node(claim) != Some(&**node.name()) {
        return Err(format!("provisioning failed for PVC {name:?}"));
    }
    let volume = volume_name(claim);
    if !volume.is_empty() {
        // The watch may bring the claim before its volume.
        let Some(volume) = listers.persistent_volumes.get("", volume) else {
            return Ok(false);
        };
        check_place(volume, node).map_err(|error| match error {
            Misplaced::Untranslatable(error) | Misplaced::Elsewhere(error) => error,
        })?;
    }
    Ok(is_fully_bound(claim))
}

/// Why a volume cannot be used on a node.
enum Misplaced {
    Untranslatable(String),
    Elsewhere(String),
}

fn check_place(volume: &PersistentVolume, node: &NodeView<'_>) -> Result<(), Misplaced> {
    let place = VolumePlace::of(volume, node.cluster().vocabulary().symbols());
    match place.contains(node) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Misplaced::Elsewhere(format!(
            "pv {:?} node affinity doesn't match node {:?}: no matching NodeSelectorTerms",
            volume.metadata.name.as_deref().unwrap_or_default(),
            node.name()
        ))),
        Err(error) => Err(Misplaced::Untranslatable(error)),
    }
}
