//! Which volume a claim takes: the one that waits for it, else the smallest that will do
//! (`FindMatchingVolume`).

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as QuantityText;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::model;
use crate::model::node_selector::NodeLabels;
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim};
use crate::model::quantity::Quantity;
use crate::model::symbols::Symbols;
use crate::plugins::volume_binding::place::{ByPlace, Place};

/// The volumes that a claim can take, apart from where they can be used.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// Volumes that name the claim: the first of them is taken or none.
    waiting: Vec<(Place, Arc<PersistentVolume>)>,
    /// The others, smallest first; of equal sizes by name, where upstream takes any.
    free: ByPlace<Arc<PersistentVolume>>,
}

impl Candidates {
    /// Looks through the volumes of the claim's storage class, which come by name. Fails on a
    /// selector that cannot be read.
    pub(super) fn of<'a>(
        claim: &PersistentVolumeClaim,
        volumes: impl Iterator<Item = &'a Arc<PersistentVolume>>,
        symbols: &Symbols,
    ) -> Result<Self, String> {
        if let Some(selector) = &claim.spec.selector {
            model::label_selector::LabelSelector::compile_unheld(Some(selector), symbols).map_err(|error| {
                let metadata = &claim.metadata;
                let namespace = metadata.namespace.as_deref().unwrap_or_default();
                let name = metadata.name.as_deref().unwrap_or_default();
                format!(
                    "error creating internal label selector for claim: {namespace}/{name}: {error}"
                )
            })?;
        }
        let (mut waiting, mut free) = (Vec::new(), Vec::new());
        for volume in volumes.filter(|volume| is_fit_for(volume, claim)) {
            let place = || Place::of_volume(volume.spec.node_affinity.as_ref(), symbols);
            if is_bound_to(volume, claim) {
                waiting.push((place(), Arc::clone(volume)));
            } else if is_available_for(volume, claim) {
                free.push((capacity(volume), place(), Arc::clone(volume)));
            }
        }
        free.sort_by_key(|(size, ..)| *size);
        Ok(Self {
            waiting,
            free: ByPlace::new(free.into_iter().map(|(_, place, volume)| (place, volume))),
        })
    }

    /// The volume that the claim takes on the node. `taken` are volumes that other claims of the
    /// pod take.
    pub(super) fn find(
        &self,
        node: &impl NodeLabels,
        taken: impl Fn(&PersistentVolume) -> bool,
    ) -> Option<&Arc<PersistentVolume>> {
        let waiting = self.waiting.iter().find(|(_, volume)| !taken(volume));
        if let Some((place, volume)) = waiting {
            return place.contains(node).then_some(volume);
        }
        self.free.first(node, |volume| !taken(volume))
    }
}

/// What must hold of a volume, also of one that waits for the claim.
fn is_fit_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    (volume.spec.claim_ref.is_none() || is_bound_to(volume, claim))
        && capacity(volume) >= requested(claim)
        && mode(volume.spec.volume_mode.as_ref()) == mode(claim.spec.volume_mode.as_ref())
        && attributes(volume.spec.volume_attributes_class_name.as_ref())
            == attributes(claim.spec.volume_attributes_class_name.as_ref())
        && volume.metadata.deletion_timestamp.is_none()
}

/// What must hold of a volume that nobody has spoken for.
fn is_available_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let modes = |modes: &Option<Vec<String>>| modes.clone().unwrap_or_default();
    let offered = modes(&volume.spec.access_modes);
    volume.status.phase.as_deref() == Some("Available")
        && (claim.spec.selector.as_ref())
            .is_none_or(|selector| selects(selector, volume.metadata.labels.as_ref()))
        && (claim.spec.access_modes.iter().flatten()).all(|mode| offered.contains(mode))
}

/// Whether the volume names the claim, by the user's or the controller's hand
/// (`IsVolumeBoundToClaim`).
pub(super) fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let Some(reference) = &volume.spec.claim_ref else {
        return false;
    };
    names(reference, claim) && (uid(reference).is_empty() || is_uid_of(reference, claim))
}

/// Whether the volume names exactly this claim.
pub(super) fn is_reserved_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let reference = volume.spec.claim_ref.as_ref();
    reference.is_some_and(|reference| names(reference, claim) && is_uid_of(reference, claim))
}

fn names(reference: &ObjectReference, claim: &PersistentVolumeClaim) -> bool {
    let equal = |a: &Option<String>, b: &Option<String>| {
        a.as_deref().unwrap_or_default() == b.as_deref().unwrap_or_default()
    };
    equal(&reference.name, &claim.metadata.name)
        && equal(&reference.namespace, &claim.metadata.namespace)
}

fn uid(reference: &ObjectReference) -> &str {
    reference.uid.as_deref().unwrap_or_default()
}

fn is_uid_of(reference: &ObjectReference, claim: &PersistentVolumeClaim) -> bool {
    uid(reference) == claim.metadata.uid.as_deref().unwrap_or_default()
}

/// An absent mode is that of a file system (`CheckVolumeModeMismatches`).
fn mode(mode: Option<&String>) -> &str {
    mode.map_or("Filesystem", String::as_str)
}

fn attributes(class: Option<&String>) -> &str {
    class.map_or("", String::as_str)
}

/// The size of the volume.
pub(super) fn capacity(volume: &PersistentVolume) -> Quantity {
    storage(volume.spec.capacity.as_ref()).unwrap_or_default()
}

/// The size that is asked for.
pub(super) fn requested(claim: &PersistentVolumeClaim) -> Quantity {
    requested_if_any(claim).unwrap_or_default()
}

/// The size that is asked for, if any is.
pub(super) fn requested_if_any(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    let resources = claim.spec.resources.as_ref()?;
    storage(resources.requests.as_ref())
}

/// The API server checks these quantities; one that cannot be read counts as nothing.
fn storage(amounts: Option<&BTreeMap<String, QuantityText>>) -> Option<Quantity> {
    let text = amounts?.get("storage")?;
    Some(Quantity::parse(&text.0).unwrap_or_default())
}

/// Whether a selector that can be read matches the labels of a volume.
fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let mut pairs = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    pairs.all(|(key, value)| label(key) == Some(value))
        && expressions.all(|expression| {
            let value = label(&expression.key);
            let mut values = expression.values.iter().flatten();
            let is_listed = value.is_some_and(|value| values.any(|other| other == value));
            match expression.operator.as_str() {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        })
}
