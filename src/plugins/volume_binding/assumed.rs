//! Volumes and claims as they will be once what was decided is written: the book that the plugin
//! keeps for pods on their way (`passive_assume_cache.go`).
//!
//! An assumption stands for one version of an object. As soon as the watch brings another one, it
//! is void.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::Snapshot;
use crate::engine::framework::reservations::Reserved;
use crate::model::object_key::ObjectKey;
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim};
use crate::plugins::volume_binding::claims::volume_class;

/// What is assumed, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct AssumedVolumes {
    volumes: BTreeMap<ObjectKey, Arc<PersistentVolume>>,
    claims: BTreeMap<ObjectKey, Arc<PersistentVolumeClaim>>,
}

/// Volumes and claims with what is assumed of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct EffectiveVolumes<'a> {
    listers: &'a Listers,
    assumed: Option<&'a AssumedVolumes>,
}

/// An object with a version.
trait Versioned {
    fn version(&self) -> Option<&str>;

    /// Whether `other` has the same where an assumption may differ.
    fn is_like(&self, other: &Self) -> bool;
}

impl Versioned for PersistentVolume {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.spec.claim_ref == other.spec.claim_ref
            && self.metadata.annotations == other.metadata.annotations
    }
}

impl Versioned for PersistentVolumeClaim {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.metadata.annotations == other.metadata.annotations
    }
}

// === impl AssumedVolumes ===

impl AssumedVolumes {
    pub(super) fn assume_volume(&mut self, volume: Arc<PersistentVolume>) {
        self.volumes.insert(ObjectKey::of(&volume.metadata), volume);
    }

    pub(super) fn assume_claim(&mut self, claim: Arc<PersistentVolumeClaim>) {
        self.claims.insert(ObjectKey::of(&claim.metadata), claim);
    }

    /// `volume` will not be written.
    pub(super) fn restore_volume(&mut self, volume: &PersistentVolume) {
        restore(&mut self.volumes, &ObjectKey::of(&volume.metadata), volume);
    }

    /// `claim` will not be written.
    pub(super) fn restore_claim(&mut self, claim: &PersistentVolumeClaim) {
        restore(&mut self.claims, &ObjectKey::of(&claim.metadata), claim);
    }

    /// What the watch has not overtaken.
    pub(super) fn reserved(&self, listers: &Listers) -> Vec<Reserved> {
        let volumes = self.volumes.values();
        let volumes = volumes.filter_map(|volume| reserved_volume(volume, listers));
        let claims = self.claims.values();
        let claims = claims.filter_map(|claim| reserved_claim(claim, listers));
        volumes.chain(claims).collect()
    }

    /// Drops what the watch has overtaken.
    pub(super) fn drop_void(&mut self, listers: &Listers) {
        self.volumes.retain(|key, assumed| {
            let known = listers.persistent_volumes.get("", &key.name);
            known.is_some_and(|known| known.version() == assumed.version())
        });
        self.claims.retain(|key, assumed| {
            let claims = &listers.persistent_volume_claims;
            let known = claims.get(&key.namespace, &key.name);
            known.is_some_and(|known| known.version() == assumed.version())
        });
    }
}

/// `volume` as it is assumed to become, unless the watch has overtaken it or has it like that.
pub(super) fn reserved_volume(
    volume: &Arc<PersistentVolume>,
    listers: &Listers,
) -> Option<Reserved> {
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    let known = listers.persistent_volumes.get("", name)?;
    reserved(format!("volume {name}"), &**volume, known)
}

/// The same for a claim.
pub(super) fn reserved_claim(
    claim: &Arc<PersistentVolumeClaim>,
    listers: &Listers,
) -> Option<Reserved> {
    let key = ObjectKey::of(&claim.metadata);
    let claims = &listers.persistent_volume_claims;
    let known = claims.get(&key.namespace, &key.name)?;
    reserved(format!("claim {key}"), &**claim, known)
}

fn reserved<T: Versioned>(object: String, assumed: &T, known: &T) -> Option<Reserved> {
    let version = known.version()?;
    let counts = assumed.version() == Some(version) && !assumed.is_like(known);
    counts.then(|| Reserved {
        object,
        version: version.to_owned(),
    })
}

fn restore<T: Versioned>(assumed: &mut BTreeMap<ObjectKey, Arc<T>>, key: &ObjectKey, object: &T) {
    if assumed
        .get(key)
        .is_some_and(|assumed| assumed.version() == object.version())
    {
        assumed.remove(key);
    }
}

/// The assumption, if it is about the version that is known.
fn effective<'a, T: Versioned>(known: &'a Arc<T>, assumed: Option<&'a Arc<T>>) -> &'a Arc<T> {
    assumed
        .filter(|assumed| assumed.version() == known.version())
        .unwrap_or(known)
}

// === impl EffectiveVolumes ===

impl<'a> EffectiveVolumes<'a> {
    /// As an attempt sees them.
    pub(super) fn of(cluster: Snapshot<'a>) -> Self {
        Self {
            listers: cluster.listers(),
            assumed: cluster.reservations().read(),
        }
    }

    pub(super) fn claim(
        &self,
        namespace: &str,
        name: &str,
    ) -> Option<&'a Arc<PersistentVolumeClaim>> {
        let known = self.listers.persistent_volume_claims.get(namespace, name)?;
        let assumed = self.assumed.filter(|assumed| !assumed.claims.is_empty());
        let assumed = assumed.and_then(|book| book.claims.get(&ObjectKey::new(namespace, name)));
        Some(effective(known, assumed))
    }

    pub(super) fn volume(&self, name: &str) -> Option<&'a Arc<PersistentVolume>> {
        let known = self.listers.persistent_volumes.get("", name)?;
        Some(self.effective_volume(known))
    }

    /// The volumes of a storage class, by name.
    pub(super) fn volumes_of_class(
        &self,
        class: &str,
    ) -> impl Iterator<Item = &'a Arc<PersistentVolume>> {
        let this = *self;
        let volumes = self.listers.persistent_volumes.iter();
        volumes
            .filter(move |volume| volume_class(volume) == class)
            .map(move |volume| this.effective_volume(volume))
    }

    fn effective_volume(self, known: &'a Arc<PersistentVolume>) -> &'a Arc<PersistentVolume> {
        let assumed = self.assumed.filter(|assumed| !assumed.volumes.is_empty());
        let assumed = assumed.and_then(|book| book.volumes.get(&ObjectKey::of(&known.metadata)));
        effective(known, assumed)
    }
}
