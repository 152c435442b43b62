//! Everything that plugins look up by name, beside nodes and pods: the engine's listers.
//!
//! One list of the kinds, in one macro call: a new kind is added there and nowhere else here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::framework::cluster_event::{ActionType, EventResource};
use crate::model::object_key::ObjectKey;
use crate::model::objects::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, PersistentVolume, PersistentVolumeClaim,
    PodDisruptionBudget, ReplicaSet, ReplicationController, Service, StatefulSet, StorageClass,
    VolumeAttachment,
};

/// All objects of one kind, by namespace and name.
#[derive(Debug)]
pub struct Lister<K> {
    objects: BTreeMap<ObjectKey, Arc<K>>,
}

/// What happened to objects of one kind.
#[derive(Debug)]
pub enum ObjectEvent<K> {
    /// An object is new or changed.
    Applied(Arc<K>),
    /// An object is gone.
    Deleted(Arc<K>),
    /// All objects there are: what is not among them is gone.
    Resynced(Vec<Arc<K>>),
}

/// A change of one listed object, as the queue is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedChange {
    pub(crate) key: ObjectKey,
    pub(crate) action: ActionType,
}

/// A kind that is listed.
pub trait Listed: kube::Resource<DynamicType = ()> + Clone + PartialEq {
    /// What the queue calls it; `None` if no pod waits for it.
    const RESOURCE: Option<EventResource>;

    /// The event of this kind.
    fn event(event: ObjectEvent<Self>) -> ListedEvent;
}

macro_rules! listed {
    ($($(#[$doc:meta])* $field:ident: $kind:ident = $resource:expr,)+) => {
        /// The listers of all kinds.
        #[derive(Debug, Default)]
        pub struct Listers {
            $($(#[$doc])* pub $field: Lister<$kind>,)+
        }

        /// What happened to objects of a listed kind.
        #[derive(Debug)]
        pub enum ListedEvent {
            $($(#[$doc])* $kind(ObjectEvent<$kind>),)+
        }

        $(impl Listed for $kind {
            const RESOURCE: Option<EventResource> = $resource;

            fn event(event: ObjectEvent<Self>) -> ListedEvent {
                ListedEvent::$kind(event)
            }
        })+

        /// How many kinds are listed.
        pub const LISTED_KINDS: usize = [$(stringify!($kind)),+].len();

        impl ListedEvent {
            /// The kind, if the event tells everything there is of it.
            pub fn resynced_kind(&self) -> Option<&'static str> {
                match self {
                    $(Self::$kind(ObjectEvent::Resynced(_)) => Some(stringify!($kind)),)+
                    _ => None,
                }
            }
        }

        impl Listers {
            /// Takes in what happened; tells what changed, and what the queue calls it.
            pub(crate) fn apply(
                &mut self,
                event: ListedEvent,
            ) -> (Option<EventResource>, Vec<ListedChange>) {
                match event {
                    $(ListedEvent::$kind(event) => {
                        ($kind::RESOURCE, self.$field.apply(event))
                    })+
                }
            }
        }
    };
}

listed! {
    /// Namespaces, for selectors over their labels.
    namespaces: Namespace = Some(EventResource::Namespace),
    /// Services.
    services: Service = None,
    /// Replication controllers.
    replication_controllers: ReplicationController = None,
    /// Replica sets.
    replica_sets: ReplicaSet = None,
    /// Stateful sets.
    stateful_sets: StatefulSet = None,
    /// Budgets of disruption.
    pod_disruption_budgets: PodDisruptionBudget = None,
    /// Persistent volumes.
    persistent_volumes: PersistentVolume = Some(EventResource::PersistentVolume),
    /// Claims on persistent volumes.
    persistent_volume_claims: PersistentVolumeClaim = Some(EventResource::PersistentVolumeClaim),
    /// Storage classes.
    storage_classes: StorageClass = Some(EventResource::StorageClass),
    /// What CSI drivers say of nodes.
    csi_nodes: CsiNode = Some(EventResource::CsiNode),
    /// CSI drivers.
    csi_drivers: CsiDriver = Some(EventResource::CsiDriver),
    /// Free capacity of storage classes.
    csi_storage_capacities: CsiStorageCapacity = Some(EventResource::CsiStorageCapacity),
    /// Volumes that are being attached.
    volume_attachments: VolumeAttachment = Some(EventResource::VolumeAttachment),
}

// === impl Lister ===

impl<K> Default for Lister<K> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
        }
    }
}

impl<K: Listed> Lister<K> {
    /// The object called `name` in `namespace`; kinds without namespaces have an empty one.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<K>> {
        self.objects.get(&ObjectKey::new(namespace, name))
    }

    /// All objects, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.values()
    }

    /// All objects in `namespace`, by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<K>> {
        let first = ObjectKey::new(namespace, "");
        self.objects
            .range(first.clone()..)
            .take_while(move |(key, _)| key.namespace == first.namespace)
            .map(|(_, object)| object)
    }

    fn apply(&mut self, event: ObjectEvent<K>) -> Vec<ListedChange> {
        match event {
            ObjectEvent::Applied(object) => self.insert(&object).into_iter().collect(),
            ObjectEvent::Deleted(object) => self
                .remove(&ObjectKey::of(object.meta()))
                .into_iter()
                .collect(),
            ObjectEvent::Resynced(objects) => self.resync(&objects),
        }
    }

    /// All objects there are: a full diff.
    fn resync(&mut self, objects: &[Arc<K>]) -> Vec<ListedChange> {
        let known: BTreeSet<ObjectKey> = objects
            .iter()
            .map(|object| ObjectKey::of(object.meta()))
            .collect();
        let gone: Vec<ObjectKey> = self
            .objects
            .keys()
            .filter(|key| !known.contains(key))
            .cloned()
            .collect();
        let removed: Vec<_> = gone.iter().filter_map(|key| self.remove(key)).collect();
        let changed = objects.iter().filter_map(|object| self.insert(object));
        removed
            .into_iter()
            .chain(changed.collect::<Vec<_>>())
            .collect()
    }

    fn insert(&mut self, object: &Arc<K>) -> Option<ListedChange> {
        let key = ObjectKey::of(object.meta());
        let action = match self.objects.insert(key.clone(), Arc::clone(object)) {
            None => ActionType::ADD,
            Some(earlier) if is_same(&earlier, object) => return None,
            Some(_) => ActionType::UPDATE,
        };
        Some(ListedChange { key, action })
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<ListedChange> {
        self.objects.remove(key)?;
        Some(ListedChange {
            key: key.clone(),
            action: ActionType::DELETE,
        })
    }
}

/// Whether nothing has changed that is kept of the object, but for its version.
fn is_same<K: Listed>(earlier: &Arc<K>, object: &Arc<K>) -> bool {
    let (before, now) = (earlier.meta(), object.meta());
    if before.resource_version == now.resource_version && before.generation == now.generation {
        return earlier == object;
    }
    let mut as_before = K::clone(object);
    let metadata = as_before.meta_mut();
    metadata
        .resource_version
        .clone_from(&before.resource_version);
    metadata.generation = before.generation;
    as_before == **earlier
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str, label: &str) -> Arc<Namespace> {
        let metadata = serde_json::json!({"metadata": {"name": name, "labels": {"a": label}}});
        Arc::new(serde_json::from_value(metadata).unwrap())
    }

    #[test]
    fn a_resync_is_a_full_diff() {
        let mut listers = Listers::default();
        let mut apply = |event| {
            let (_, changes) = listers.apply(Namespace::event(event));
            changes
                .into_iter()
                .map(|change| (change.key.to_string(), change.action))
                .collect::<Vec<_>>()
        };
        let first = ObjectEvent::Applied(namespace("a", "1"));
        assert_eq!(apply(first), [("a".to_owned(), ActionType::ADD)]);
        let again = ObjectEvent::Applied(namespace("a", "1"));
        assert_eq!(apply(again), []);
        let all = vec![namespace("b", "1"), namespace("c", "1")];
        let resync = ObjectEvent::Resynced(all);
        assert_eq!(
            apply(resync),
            [
                ("a".to_owned(), ActionType::DELETE),
                ("b".to_owned(), ActionType::ADD),
                ("c".to_owned(), ActionType::ADD)
            ]
        );
        let mut touched = (*namespace("b", "1")).clone();
        touched.metadata.resource_version = Some("2".to_owned());
        let touched = ObjectEvent::Applied(Arc::new(touched));
        assert_eq!(apply(touched), [], "only its version is another");
        let changed = ObjectEvent::Applied(namespace("b", "2"));
        assert_eq!(apply(changed), [("b".to_owned(), ActionType::UPDATE)]);
    }
}
