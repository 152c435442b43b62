//! The controller that owns a pod, where selectors follow from it.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The controller of a pod, of a kind whose selector says which pods are alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerRef {
    /// Its kind.
    pub kind: ControllerKind,
    /// Its name, in the namespace of the pod.
    pub name: Arc<str>,
}

/// The kinds that upstream deduces selectors from (`helper.DefaultSelector`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControllerKind {
    /// `v1`.
    ReplicationController,
    /// `apps/v1`.
    ReplicaSet,
    /// `apps/v1`.
    StatefulSet,
}

impl ControllerRef {
    /// The controller in `metadata`; `None` if there is none or it is of another kind. `share` gives
    /// the one copy of its name, since it has many pods.
    pub fn of(metadata: &ObjectMeta, share: impl FnOnce(&str) -> Arc<str>) -> Option<Self> {
        let owners = metadata.owner_references.iter().flatten();
        let owner = owners
            .into_iter()
            .find(|owner| owner.controller == Some(true))?;
        let kind = match (&*owner.api_version, &*owner.kind) {
            ("v1", "ReplicationController") => ControllerKind::ReplicationController,
            ("apps/v1", "ReplicaSet") => ControllerKind::ReplicaSet,
            ("apps/v1", "StatefulSet") => ControllerKind::StatefulSet,
            _ => return None,
        };
        Some(Self {
            kind,
            name: share(&owner.name),
        })
    }
}
