//! Watches: what the API server tells, late and in its own order for each kind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bayplan::engine::cache::listers::{Listed, ListedEvent, ObjectEvent};
use bayplan::engine::event::ClusterEvent;
use bayplan::model::object_key::ObjectKey;
use bayplan::model::objects::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, VolumeAttachment,
};
use bayplan::model::pod_info::PodUid;
use bayplan::model::timestamp::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api_server::{ApiServer, Change, KINDS, Kind, key_of};
use crate::generator::dice::Dice;

/// What a watch has yet to bring.
#[derive(Clone, Debug)]
enum Message {
    Change(Change),
    List(Vec<Value>),
}

/// The watches of one replica.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    pending: BTreeMap<Kind, VecDeque<(Timestamp, Message)>>,
    /// Objects that the watch has brought, for kinds of which some cannot be decoded.
    known: BTreeMap<Kind, BTreeSet<ObjectKey>>,
}

impl Watches {
    /// A change is on its way; it comes `after` a while, and not before what happened earlier.
    /// Tells when.
    pub(crate) fn send(&mut self, change: Change, now: Timestamp, after: Duration) -> Timestamp {
        let kind = change.kind;
        self.push(kind, Message::Change(change), now + after)
    }

    /// The watch breaks: what was on its way is lost, and everything is listed.
    pub(crate) fn list(&mut self, api: &ApiServer, kind: Kind, at: Timestamp) -> Timestamp {
        let objects = api.list(kind).map(|(_, object)| object.clone());
        let message = Message::List(objects.collect());
        self.pending.entry(kind).or_default().clear();
        self.push(kind, message, at)
    }

    fn push(&mut self, kind: Kind, message: Message, at: Timestamp) -> Timestamp {
        let pending = self.pending.entry(kind).or_default();
        let at = pending.back().map_or(at, |(earlier, _)| at.max(*earlier));
        pending.push_back((at, message));
        at
    }

    /// What is due at `now`; kinds that are due together come in an order of chance.
    pub(crate) fn due(&mut self, now: Timestamp, dice: &mut Dice) -> Vec<ClusterEvent> {
        let mut events = Vec::new();
        let kinds = if dice.chance(50) {
            KINDS.to_vec()
        } else {
            dice.hand(&KINDS, KINDS.len())
        };
        for kind in kinds {
            let pending = self.pending.entry(kind).or_default();
            let count = pending.iter().take_while(|(at, _)| *at <= now).count();
            let due: Vec<Message> = pending.drain(..count).map(|(_, message)| message).collect();
            for message in due {
                events.extend(self.events(kind, message));
            }
        }
        events
    }

    /// Whether everything up to the `version` has come, of nodes and pods, and every kind was
    /// listed.
    pub(crate) fn have_seen(&self, version: u64) -> bool {
        self.pending.iter().all(|(kind, pending)| {
            pending.iter().all(|(_, message)| match message {
                Message::List(_) => false,
                Message::Change(change) => {
                    !matches!(kind, Kind::Node | Kind::Pod) || change.version() > version
                }
            })
        })
    }

    fn events(&mut self, kind: Kind, message: Message) -> Vec<ClusterEvent> {
        match kind {
            Kind::Node => self.read(kind, message, |event| match event {
                ObjectEvent::Applied(node) => vec![ClusterEvent::NodeApplied(node)],
                ObjectEvent::Deleted(node) => vec![ClusterEvent::NodeDeleted(node)],
                ObjectEvent::Resynced(nodes) => nodes_listed(nodes),
            }),
            Kind::Pod => self.read(kind, message, |event| match event {
                ObjectEvent::Applied(pod) => vec![ClusterEvent::PodApplied(pod)],
                ObjectEvent::Deleted(pod) => vec![ClusterEvent::PodDeleted(pod)],
                ObjectEvent::Resynced(pods) => pods_listed(pods),
            }),
            Kind::Namespace => self.listed::<Namespace>(kind, message),
            Kind::Service => self.listed::<Service>(kind, message),
            Kind::ReplicationController => self.listed::<ReplicationController>(kind, message),
            Kind::ReplicaSet => self.listed::<ReplicaSet>(kind, message),
            Kind::StatefulSet => self.listed::<StatefulSet>(kind, message),
            Kind::PodDisruptionBudget => self.listed::<PodDisruptionBudget>(kind, message),
            Kind::PersistentVolume => self.listed::<PersistentVolume>(kind, message),
            Kind::PersistentVolumeClaim => self.listed::<PersistentVolumeClaim>(kind, message),
            Kind::StorageClass => self.listed::<StorageClass>(kind, message),
            Kind::CsiNode => self.listed::<CsiNode>(kind, message),
            Kind::CsiDriver => self.listed::<CsiDriver>(kind, message),
            Kind::CsiStorageCapacity => self.listed::<CsiStorageCapacity>(kind, message),
            Kind::VolumeAttachment => self.listed::<VolumeAttachment>(kind, message),
        }
    }

    fn listed<K: Listed + DeserializeOwned + Default>(
        &mut self,
        kind: Kind,
        message: Message,
    ) -> Vec<ClusterEvent> {
        self.read(kind, message, |event| {
            vec![ClusterEvent::Listed(K::event(event))]
        })
    }

    /// An object that cannot be decoded is not listed, and one that was known is gone.
    fn read<K: DeserializeOwned + Default>(
        &mut self,
        kind: Kind,
        message: Message,
        events: impl Fn(ObjectEvent<K>) -> Vec<ClusterEvent>,
    ) -> Vec<ClusterEvent> {
        let known = self.known.entry(kind).or_default();
        match message {
            Message::List(objects) => {
                known.clear();
                let mut read = Vec::new();
                for value in objects {
                    if let Ok(object) = K::deserialize(&value) {
                        known.insert(key_of(&value));
                        read.push(Arc::new(object));
                    }
                }
                events(ObjectEvent::Resynced(read))
            }
            Message::Change(change) => {
                let key = key_of(&change.object);
                let decoded = K::deserialize(&change.object);
                match decoded {
                    Ok(object) if !change.is_deletion => {
                        known.insert(key);
                        events(ObjectEvent::Applied(Arc::new(object)))
                    }
                    decoded if known.remove(&key) => {
                        let object = decoded.unwrap_or_else(|_| named::<K>(&change.object));
                        events(ObjectEvent::Deleted(Arc::new(object)))
                    }
                    _ => Vec::new(),
                }
            }
        }
    }
}

/// What is left of an object that cannot be decoded: who it is.
fn named<K: DeserializeOwned + Default>(object: &Value) -> K {
    let metadata = &object["metadata"];
    let identity = serde_json::json!({"metadata": {"name": metadata["name"],
        "namespace": metadata["namespace"], "uid": metadata["uid"]}});
    serde_json::from_value(identity).unwrap_or_default()
}

/// The objects of the API server as events, all at once: for an engine that is new.
pub(crate) fn everything(api: &ApiServer) -> Vec<ClusterEvent> {
    let mut watches = Watches::default();
    for kind in KINDS {
        watches.list(api, kind, Timestamp::EPOCH);
    }
    let events = KINDS.iter().filter_map(|kind| {
        let (_, message) = watches.pending.get_mut(kind)?.pop_front()?;
        Some(watches.events(*kind, message))
    });
    events.flatten().collect()
}

/// A list of nodes comes one by one.
pub(crate) fn nodes_listed(nodes: Vec<Arc<Node>>) -> Vec<ClusterEvent> {
    let name = |node: &Arc<Node>| node.metadata.name.as_deref().unwrap_or_default().into();
    let listed = ClusterEvent::NodesListed(nodes.iter().map(name).collect());
    let nodes = nodes.into_iter().map(ClusterEvent::NodeApplied);
    nodes.chain([listed]).collect()
}

/// A list of pods comes one by one.
fn pods_listed(pods: Vec<Arc<Pod>>) -> Vec<ClusterEvent> {
    let listed = ClusterEvent::PodsListed(pods.iter().map(|pod| PodUid::of(pod)).collect());
    let pods = pods.into_iter().map(ClusterEvent::PodApplied);
    pods.chain([listed]).collect()
}

/// The kind of a listed event, if it is about namespaces.
pub(crate) fn namespace_event(event: &ClusterEvent) -> Option<&ObjectEvent<Namespace>> {
    match event {
        ClusterEvent::Listed(ListedEvent::Namespace(event)) => Some(event),
        _ => None,
    }
}
