//! The claims of a pod: which there are, and which of them are bound.

use std::sync::Arc;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::PodView;
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::model::pod_volume::PodVolume;
use crate::plugins::claims::{ephemeral_name, is_controlled_by, not_found, not_owner};
pub(super) use crate::plugins::claims::{storage_class as claim_class, volume_name};
use crate::plugins::volume_binding::assumed::EffectiveVolumes;

/// The binding of a claim is complete, whatever the value (`AnnBindCompleted`).
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The node for which a volume is to be made (`AnnSelectedNode`).
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Names the storage class where it goes before the field (`BetaStorageClassAnnotation`).
const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The claims of a pod, sorted (`GetPodVolumeClaims`). A claim that two volumes name is in twice.
#[derive(Debug, Default)]
pub(super) struct SortedClaims {
    /// Bound to a volume.
    pub(super) bound: Vec<Arc<PersistentVolumeClaim>>,
    /// To be bound when the node is known, each with its storage class.
    pub(super) delayed: Vec<(Arc<PersistentVolumeClaim>, Arc<StorageClass>)>,
    /// Whether a claim should have been bound already.
    pub(super) has_unbound_immediate: bool,
}

/// A claim that a pod names.
struct NamedClaim {
    name: String,
    /// Made for the pod, which must own it.
    is_ephemeral: bool,
}

/// The claims that the pod names, in the order of its volumes.
fn named<'a>(pod: &'a PodView<'_>) -> impl Iterator<Item = NamedClaim> + 'a {
    pod.class.volumes.iter().filter_map(|volume| match volume {
        PodVolume::Claim { name } => Some(NamedClaim {
            name: pod.symbols.text(*name).to_owned(),
            is_ephemeral: false,
        }),
        PodVolume::Ephemeral { volume_name } => Some(NamedClaim {
            name: ephemeral_name(pod, *volume_name),
            is_ephemeral: true,
        }),
        _ => None,
    })
}

/// Whether the pod names a claim.
pub(super) fn any(pod: &PodView<'_>) -> bool {
    pod.class.volumes.iter().any(PodVolume::is_claim)
}

/// Whether the pod names this claim of its namespace.
pub(super) fn names(pod: &PodView<'_>, claim: &str) -> bool {
    named(pod).any(|named| named.name == claim)
}

/// The claims of the pod that are there.
pub(super) fn known<'a>(
    pod: &'a PodView<'_>,
    listers: &'a Listers,
) -> impl Iterator<Item = &'a Arc<PersistentVolumeClaim>> {
    let claims = &listers.persistent_volume_claims;
    named(pod).filter_map(|named| claims.get(&pod.info.key.namespace, &named.name))
}

/// Whether every claim of the pod can be used (`podHasPVCs`). An error is the reason why no node
/// will do.
pub(super) fn check(pod: &PodView<'_>, listers: &Listers) -> Result<(), String> {
    for NamedClaim { name, is_ephemeral } in named(pod) {
        let claims = &listers.persistent_volume_claims;
        let Some(claim) = claims.get(&pod.info.key.namespace, &name) else {
            return Err(if is_ephemeral {
                format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"
                )
            } else {
                not_found("persistentvolumeclaim", &name)
            });
        };
        if claim.status.phase.as_deref() == Some("Lost") {
            let volume = volume_name(claim);
            return Err(format!(
                "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
            ));
        }
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if is_ephemeral && !is_controlled_by(claim, pod) {
            return Err(not_owner(&name, pod));
        }
    }
    Ok(())
}

/// Sorts the claims of a pod that passed [`check`].
pub(super) fn sort(
    pod: &PodView<'_>,
    volumes: &EffectiveVolumes<'_>,
    listers: &Listers,
) -> Result<SortedClaims, String> {
    let mut sorted = SortedClaims::default();
    let namespace = &pod.info.key.namespace;
    for named in named(pod) {
        let Some(claim) = volumes.claim(namespace, &named.name) else {
            continue;
        };
        if is_fully_bound(claim) {
            sorted.bound.push(Arc::clone(claim));
            continue;
        }
        match delaying_class(claim, listers)? {
            Some(class) if volume_name(claim).is_empty() => {
                sorted.delayed.push((Arc::clone(claim), Arc::clone(class)));
            }
            _ => sorted.has_unbound_immediate = true,
        }
    }
    Ok(sorted)
}

/// The storage class of the claim, if it binds when the node is known (`IsDelayBindingMode`).
fn delaying_class<'a>(
    claim: &PersistentVolumeClaim,
    listers: &'a Listers,
) -> Result<Option<&'a Arc<StorageClass>>, String> {
    let name = claim_class(claim);
    if name.is_empty() {
        return Ok(None);
    }
    let Some(class) = listers.storage_classes.get("", name) else {
        return Ok(None);
    };
    match class.volume_binding_mode.as_deref() {
        None => Err(format!(
            "VolumeBindingMode not set for StorageClass {name:?}"
        )),
        Some(mode) => Ok((mode == "WaitForFirstConsumer").then_some(class)),
    }
}

/// Whether claim and volume are bound to each other, and the controller is done with them.
pub(super) fn is_fully_bound(claim: &PersistentVolumeClaim) -> bool {
    !volume_name(claim).is_empty() && annotation(claim, BIND_COMPLETED).is_some()
}

/// The node for which a volume is being made.
pub(super) fn selected_node(claim: &PersistentVolumeClaim) -> Option<&str> {
    annotation(claim, SELECTED_NODE)
}

/// `GetPersistentVolumeClass`.
pub(super) fn volume_class(volume: &PersistentVolume) -> &str {
    let annotations = volume.metadata.annotations.as_ref();
    annotations
        .and_then(|annotations| annotations.get(BETA_STORAGE_CLASS))
        .or(volume.spec.storage_class_name.as_ref())
        .map_or("", String::as_str)
}

fn annotation<'a>(claim: &'a PersistentVolumeClaim, key: &str) -> Option<&'a str> {
    let annotations = claim.metadata.annotations.as_ref()?;
    annotations.get(key).map(String::as_str)
}
