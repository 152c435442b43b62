//! What the watches have told of, as the stores of a process hold it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bayplan::engine::cache::listers::ObjectEvent;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{Namespace, Node, Pod};
use bayplan::model::pod_info::{PodKey, PodUid};

use crate::watches::namespace_event;

/// What the watches have brought.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) nodes: BTreeMap<String, Arc<Node>>,
    pub(crate) pods: BTreeMap<PodKey, Arc<Pod>>,
    pub(crate) namespaces: BTreeMap<String, Arc<Namespace>>,
}

impl Store {
    pub(crate) fn pod(&self, key: &PodKey, uid: &PodUid) -> Option<&Arc<Pod>> {
        self.pods.get(key).filter(|pod| PodUid::of(pod) == *uid)
    }

    pub(crate) fn take_in(&mut self, event: &ClusterEvent) {
        let name = |node: &Arc<Node>| node.metadata.name.clone().unwrap_or_default();
        match event {
            ClusterEvent::NodeApplied(node) => {
                self.nodes.insert(name(node), Arc::clone(node));
            }
            ClusterEvent::NodeDeleted(node) => {
                self.nodes.remove(&name(node));
            }
            ClusterEvent::NodesListed(names) => {
                self.nodes
                    .retain(|name, _| names.iter().any(|listed| **listed == **name));
            }
            ClusterEvent::PodApplied(pod) => {
                self.pods.insert(PodKey::of(&pod.metadata), Arc::clone(pod));
            }
            ClusterEvent::PodDeleted(pod) => {
                self.pods.remove(&PodKey::of(&pod.metadata));
            }
            ClusterEvent::PodsListed(uids) => {
                self.pods.retain(|_, pod| uids.contains(&PodUid::of(pod)));
            }
            _ => self.take_in_namespace(event),
        }
    }

    fn take_in_namespace(&mut self, event: &ClusterEvent) {
        let name = |one: &Arc<Namespace>| one.metadata.name.clone().unwrap_or_default();
        match namespace_event(event) {
            Some(ObjectEvent::Applied(one)) => {
                self.namespaces.insert(name(one), Arc::clone(one));
            }
            Some(ObjectEvent::Deleted(one)) => {
                self.namespaces.remove(&name(one));
            }
            Some(ObjectEvent::Resynced(all)) => {
                let all = all.iter().map(|one| (name(one), Arc::clone(one)));
                self.namespaces = all.collect();
            }
            None => {}
        }
    }
}
