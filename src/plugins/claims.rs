//! What the volume plugins have in common: which claims a pod names, and how they are looked up.

use std::sync::Arc;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::PodView;
use crate::model::object_key::ObjectKey;
use crate::model::objects::PersistentVolumeClaim;
use crate::model::pod_volume::PodVolume;
use crate::model::symbols::Symbol;

/// Names the storage class where it goes before the field (`BetaStorageClassAnnotation`).
const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The claims that the pod names itself, in the order of its volumes; without those that are made
/// for it.
pub(crate) fn named<'a>(pod: &PodView<'a>) -> impl Iterator<Item = Symbol> + use<'a> {
    pod.class.volumes.iter().filter_map(|volume| match volume {
        PodVolume::Claim { name } => Some(*name),
        _ => None,
    })
}

/// Whether the pod names the claim `key` itself.
pub(crate) fn names(pod: &PodView<'_>, key: &ObjectKey) -> bool {
    key.namespace == pod.info.key.namespace
        && named(pod).any(|name| pod.symbols.text(name) == &*key.name)
}

/// The name of the claim that is made for the pod (`ephemeral.VolumeClaimName`).
pub(crate) fn ephemeral_name(pod: &PodView<'_>, volume_name: Symbol) -> String {
    format!("{}-{}", pod.info.key.name, pod.symbols.text(volume_name))
}

/// The claim called `name` in the namespace of the pod; the error is upstream's text.
pub(crate) fn find<'a>(
    pod: &PodView<'_>,
    name: &str,
    listers: &'a Listers,
) -> Result<&'a Arc<PersistentVolumeClaim>, String> {
    let claims = &listers.persistent_volume_claims;
    let found = claims.get(&pod.info.key.namespace, name);
    found.ok_or_else(|| not_found("persistentvolumeclaim", name))
}

/// The text of the API for an object that does not exist (`apierrors.NewNotFound`).
pub(crate) fn not_found(resource: &str, name: &str) -> String {
    format!("{resource} {name:?} not found")
}

/// `GetPersistentVolumeClaimClass`; empty if the claim names none.
pub(crate) fn storage_class(claim: &PersistentVolumeClaim) -> &str {
    let annotations = claim.metadata.annotations.as_ref();
    annotations
        .and_then(|annotations| annotations.get(BETA_STORAGE_CLASS))
        .or(claim.spec.storage_class_name.as_ref())
        .map_or("", String::as_str)
}

/// The name of the volume that the claim is bound to; empty if it is not bound.
pub(crate) fn volume_name(claim: &PersistentVolumeClaim) -> &str {
    claim.spec.volume_name.as_deref().unwrap_or_default()
}

/// Whether the claim was made for the pod (`metav1.IsControlledBy`).
pub(crate) fn is_controlled_by(claim: &PersistentVolumeClaim, pod: &PodView<'_>) -> bool {
    let mut owners = claim.metadata.owner_references.iter().flatten();
    owners
        .find(|owner| owner.controller == Some(true))
        .is_some_and(|owner| owner.uid == *pod.info.uid.0)
}

/// What is wrong with a claim of the right name that was not made for the pod
/// (`ephemeral.VolumeIsForPod`).
pub(crate) fn not_owner(claim: &str, pod: &PodView<'_>) -> String {
    let (namespace, name) = (&pod.info.key.namespace, &pod.info.key.name);
    format!("PVC {namespace}/{claim} was not created for pod {namespace}/{name} (pod is not owner)")
}
