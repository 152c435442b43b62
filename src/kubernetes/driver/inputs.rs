//! What the loop is fed with: the watches, the completions, the profiles.

use std::sync::Arc;

use kube::runtime::reflector::Store;
use tokio::sync::{mpsc, watch};

use crate::engine::event::ClusterEvent;
use crate::kubernetes::dispatcher::Completion;
use crate::kubernetes::profiles::RunningProfile;
use crate::kubernetes::watch::WatchEvent;
use crate::model::objects::{Namespace, Node, Pod};

/// Events of one kind taken in one turn at most, so that the heart beats during a storm.
const EVENTS_PER_TURN: usize = 1024;

/// The loop's ears.
#[derive(Debug)]
pub struct Inputs {
    nodes: Input<Node>,
    pods: Input<Pod>,
    namespaces: Input<Namespace>,
    completions: mpsc::UnboundedReceiver<Completion>,
    profiles: watch::Receiver<Option<Arc<Vec<RunningProfile>>>>,
    profiles_seen: bool,
    /// Taken while waiting.
    early: Vec<ClusterEvent>,
}

#[derive(Debug)]
struct Input<K: kube::Resource<DynamicType = ()> + 'static> {
    events: mpsc::Receiver<WatchEvent<K>>,
    store: Store<K>,
    synced: bool,
}

impl<K: kube::Resource<DynamicType = ()> + Clone + 'static> Input<K> {
    fn take(&mut self, into: &mut Vec<ClusterEvent>, convert: fn(WatchEvent<K>) -> ClusterEvent) {
        for _ in 0..EVENTS_PER_TURN {
            let Ok(event) = self.events.try_recv() else {
                return;
            };
            self.note(&event);
            into.push(convert(event));
        }
    }

    fn note(&mut self, event: &WatchEvent<K>) {
        self.synced |= matches!(event, WatchEvent::Resync(_));
    }
}

impl Inputs {
    /// Listens to these.
    pub fn new(
        nodes: (mpsc::Receiver<WatchEvent<Node>>, Store<Node>),
        pods: (mpsc::Receiver<WatchEvent<Pod>>, Store<Pod>),
        namespaces: (mpsc::Receiver<WatchEvent<Namespace>>, Store<Namespace>),
        completions: mpsc::UnboundedReceiver<Completion>,
        profiles: watch::Receiver<Option<Arc<Vec<RunningProfile>>>>,
    ) -> Self {
        Self {
            nodes: Input {
                events: nodes.0,
                store: nodes.1,
                synced: false,
            },
            pods: Input {
                events: pods.0,
                store: pods.1,
                synced: false,
            },
            namespaces: Input {
                events: namespaces.0,
                store: namespaces.1,
                synced: false,
            },
            completions,
            profiles,
            profiles_seen: false,
            early: Vec::new(),
        }
    }

    /// Whether everything was listed once.
    pub(super) fn are_synced(&self) -> bool {
        self.nodes.synced && self.pods.synced && self.namespaces.synced && self.profiles_seen
    }

    /// What has happened, completions first, then nodes before pods: a pod is judged against nodes
    /// that are not older than it.
    pub(super) fn take(&mut self) -> Vec<ClusterEvent> {
        let mut events = std::mem::take(&mut self.early);
        while let Ok(Completion { id, outcome }) = self.completions.try_recv() {
            events.push(ClusterEvent::EffectCompleted { id, outcome });
        }
        self.nodes.take(&mut events, node_event);
        self.namespaces.take(&mut events, namespace_event);
        self.pods.take(&mut events, pod_event);
        events
    }

    /// The profiles to run, if they changed.
    pub(super) fn changed_profiles(&mut self) -> Option<Arc<Vec<RunningProfile>>> {
        if !self.profiles.has_changed().unwrap_or(false) {
            return None;
        }
        let profiles = self.profiles.borrow_and_update().clone()?;
        self.profiles_seen = true;
        Some(profiles)
    }

    /// Everything the pod watch has seen.
    pub(super) fn all_pods(&self) -> Vec<Arc<Pod>> {
        self.pods.store.state()
    }

    /// Everything the node watch has seen.
    pub(super) fn all_nodes(&self) -> Vec<Arc<Node>> {
        self.nodes.store.state()
    }

    /// Waits until something happens.
    pub(super) async fn wait(&mut self) {
        let event = tokio::select! {
            Some(Completion { id, outcome }) = self.completions.recv() => {
                ClusterEvent::EffectCompleted { id, outcome }
            }
            Some(event) = self.nodes.events.recv() => {
                self.nodes.note(&event);
                node_event(event)
            }
            Some(event) = self.pods.events.recv() => {
                self.pods.note(&event);
                pod_event(event)
            }
            Some(event) = self.namespaces.events.recv() => {
                self.namespaces.note(&event);
                namespace_event(event)
            }
            Ok(()) = self.profiles.changed() => {
                self.profiles.mark_changed();
                return;
            }
            else => std::future::pending().await,
        };
        self.early.push(event);
    }
}

fn node_event(event: WatchEvent<Node>) -> ClusterEvent {
    match event {
        WatchEvent::Applied(node) => ClusterEvent::NodeApplied(node),
        WatchEvent::Deleted(node) => ClusterEvent::NodeDeleted(node),
        WatchEvent::Resync(nodes) => ClusterEvent::NodesResynced(nodes),
    }
}

fn pod_event(event: WatchEvent<Pod>) -> ClusterEvent {
    match event {
        WatchEvent::Applied(pod) => ClusterEvent::PodApplied(pod),
        WatchEvent::Deleted(pod) => ClusterEvent::PodDeleted(pod),
        WatchEvent::Resync(pods) => ClusterEvent::PodsResynced(pods),
    }
}

fn namespace_event(event: WatchEvent<Namespace>) -> ClusterEvent {
    match event {
        WatchEvent::Applied(namespace) => ClusterEvent::NamespaceApplied(namespace),
        WatchEvent::Deleted(namespace) => ClusterEvent::NamespaceDeleted(namespace),
        WatchEvent::Resync(namespaces) => ClusterEvent::NamespacesResynced(namespaces),
    }
}
