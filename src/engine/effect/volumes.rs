//! Volumes that are bound for a pod before it is bound itself.

use std::sync::Arc;

use crate::model::object_key::ObjectKey;

/// What is written to bind the volumes of a pod: first the volumes, then the claims, in this order
/// (`bindAPIUpdate`). Each write holds for one version of its object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeWrites {
    /// Volumes that are there and are reserved for a claim.
    pub volumes: Vec<VolumeWrite>,
    /// Claims for which a volume is to be made near a node.
    pub claims: Vec<ClaimWrite>,
}

/// One version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenObject {
    /// Its name.
    pub key: ObjectKey,
    /// Its UID.
    pub uid: Arc<str>,
    /// The `resourceVersion` that was judged; empty if none is known.
    pub resource_version: Arc<str>,
}

/// A volume that is reserved for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeWrite {
    /// The volume.
    pub volume: WrittenObject,
    /// The claim that `spec.claimRef` is to name.
    pub claim: WrittenObject,
    /// The annotation that says that no user has reserved it.
    pub is_bound_by_controller: bool,
}

/// A claim that gets the annotation `volume.kubernetes.io/selected-node`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimWrite {
    /// The claim.
    pub claim: WrittenObject,
    /// The node.
    pub node: Arc<str>,
}
