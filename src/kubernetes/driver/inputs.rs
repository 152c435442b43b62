//! What the loop is fed with: the watches, the completions, the profiles.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::{mpsc, watch};

use crate::engine::cache::listers::{LISTED_KINDS, ListedEvent};
use crate::engine::event::ClusterEvent;
use crate::kubernetes::dispatcher::Completion;
use crate::kubernetes::profiles::RunningProfile;
use crate::kubernetes::watch::WatchEvent;
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::{PodKey, PodUid};

/// Events of one kind taken in one turn at most, so that the heart beats during a storm.
const EVENTS_PER_TURN: usize = 1024;

/// The loop's ears.
#[derive(Debug)]
pub struct Inputs {
    nodes: Input<Node>,
    pods: Input<Pod>,
    listed: mpsc::Receiver<ListedEvent>,
    /// Listed kinds that were told whole once.
    listed_synced: BTreeSet<&'static str>,
    completions: mpsc::UnboundedReceiver<Completion>,
    profiles: watch::Receiver<Option<Arc<Vec<RunningProfile>>>>,
    profiles_seen: bool,
    /// Taken out of the channels, and kept over a panic: what is in no store comes only once.
    taken: VecDeque<ClusterEvent>,
}

#[derive(Debug)]
struct Input<K: kube::Resource<DynamicType = ()> + 'static> {
    events: mpsc::Receiver<WatchEvent<K>>,
    store: Store<K>,
    synced: bool,
}

impl<K: kube::Resource<DynamicType = ()> + Clone + 'static> Input<K> {
    fn take(
        &mut self,
        into: &mut VecDeque<ClusterEvent>,
        convert: fn(WatchEvent<K>) -> ClusterEvent,
    ) {
        for _ in 0..EVENTS_PER_TURN {
            let Ok(event) = self.events.try_recv() else {
                return;
            };
            self.note(&event);
            into.push_back(convert(event));
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
        listed: mpsc::Receiver<ListedEvent>,
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
            listed,
            listed_synced: BTreeSet::new(),
            completions,
            profiles,
            profiles_seen: false,
            taken: VecDeque::new(),
        }
    }

    /// Whether everything was listed once.
    pub(super) fn are_synced(&self) -> bool {
        self.nodes.synced
            && self.pods.synced
            && self.listed_synced.len() == LISTED_KINDS
            && self.profiles_seen
    }

    /// Takes what has happened, completions first, then nodes and what else a pod is judged by
    /// before pods: nothing is older than the pod.
    pub(super) fn take(&mut self) {
        let events = &mut self.taken;
        while let Ok(Completion { id, outcome }) = self.completions.try_recv() {
            events.push_back(ClusterEvent::EffectCompleted { id, outcome });
        }
        self.nodes.take(events, node_event);
        for _ in 0..EVENTS_PER_TURN {
            let Ok(event) = self.listed.try_recv() else {
                break;
            };
            self.listed_synced.extend(event.resynced_kind());
            events.push_back(ClusterEvent::Listed(event));
        }
        self.pods.take(events, pod_event);
    }

    /// The next event of those that were taken.
    pub(super) fn next_event(&mut self) -> Option<ClusterEvent> {
        self.taken.pop_front()
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

    /// The pod as the watch has seen it last, unless another one has its name by now.
    pub(super) fn pod(&self, key: &PodKey, uid: &PodUid) -> Option<Arc<Pod>> {
        let name = ObjectRef::new(&key.name).within(&key.namespace);
        self.pods
            .store
            .get(&name)
            .filter(|pod| PodUid::of(pod) == *uid)
    }

    /// The node as the watch has seen it last.
    pub(super) fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.nodes.store.get(&ObjectRef::new(name))
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
            Some(event) = self.listed.recv() => {
                self.listed_synced.extend(event.resynced_kind());
                ClusterEvent::Listed(event)
            }
            Ok(()) = self.profiles.changed() => {
                self.profiles.mark_changed();
                return;
            }
            else => std::future::pending().await,
        };
        self.taken.push_back(event);
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
