//! The scheduler cache: nodes as columns, pods on them, assumed pods.
//!
//! ```text
//!             assume                    confirm (watch)
//!  (unknown) ───────▶ Assumed ───────────────────────▶ Added ──▶ (gone)
//!      ▲                 │                                ▲         remove
//!      └──── forget ─────┘     (unknown) ── add (watch) ──┘
//! ```
//!
//! An assumed pod never expires by time: the watch confirms or removes it, or the engine forgets
//! it when its binding failed. Mirrors `pkg/scheduler/backend/cache`.

mod hostnames;
mod label_chains;
pub mod listers;
pub mod node_changes;
pub mod nodes;
pub(crate) mod nominator;
pub mod overlay;
pub(crate) mod pods;
mod priorities;
pub mod snapshot;
pub mod tie_break;
pub mod topology;

use std::sync::Arc;

use crate::engine::cache::label_chains::LabelChains;
use crate::engine::cache::listers::{ListedChange, ListedEvent, Listers};
use crate::engine::cache::nodes::{NodeChange, Nodes};
use crate::engine::cache::nominator::Nominator;
use crate::engine::cache::pods::{CachedPod, CachedPods, PodPlace};
use crate::engine::cache::priorities::Priorities;
use crate::engine::cache::snapshot::Snapshot;
use crate::engine::cache::topology::counted_terms::CountedTerm;
use crate::engine::cache::topology::{PlacedPod, Topology};
use crate::engine::framework::cluster_event::EventResource;
use crate::engine::framework::reservations::Reservations;
use crate::engine::preemption::Preemptions;
use crate::model::objects::Node;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::quantity::InvalidQuantity;
use crate::model::vocabulary::Vocabulary;

/// Nodes and the pods on them.
#[derive(Debug)]
pub struct Cache {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) nodes: Nodes,
    pub(crate) reservations: Reservations,
    pub(crate) listers: Listers,
    pub(crate) topology: Topology,
    pub(crate) nominator: Nominator,
    pub(crate) preemptions: Preemptions,
    pods: CachedPods,
    /// `pods` by label set.
    alike: LabelChains,
    /// How many of `pods` are assumed and not yet confirmed.
    assumed: usize,
    pub(crate) priorities: Priorities,
}

/// How many of each there are (`scheduler_cache_size`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Nodes.
    pub nodes: usize,
    /// Pods on nodes, assumed ones included.
    pub pods: usize,
    /// Assumed pods.
    pub assumed_pods: usize,
}

// === impl CachedPod ===

impl CachedPod {
    /// The pod with its node, if the node is known.
    fn placed<'a>(&'a self, nodes: &'a Nodes, vocabulary: &'a Vocabulary) -> Option<PlacedPod<'a>> {
        Some(PlacedPod {
            pod: &self.info,
            slot: self.slot,
            node: nodes.facts[self.slot.index()].as_ref()?,
            vocabulary,
        })
    }
}

// === impl Cache ===

impl Cache {
    /// An empty cache. `seed` keys the hashers and the ring of nodes.
    pub fn new(seed: u64) -> Self {
        Self {
            vocabulary: Vocabulary::new(seed),
            nodes: Nodes::new(seed),
            reservations: Reservations::default(),
            listers: Listers::default(),
            topology: Topology::default(),
            nominator: Nominator::default(),
            preemptions: Preemptions::default(),
            pods: CachedPods::new(seed),
            alike: LabelChains::default(),
            assumed: 0,
            priorities: Priorities::default(),
        }
    }

    /// The view of one cycle.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(self)
    }

    /// How many of each there are.
    pub fn size(&self) -> CacheSize {
        CacheSize {
            nodes: self.nodes.len(),
            pods: self.pods.len(),
            assumed_pods: self.assumed,
        }
    }

    /// A node is new or changed; tells what changed.
    ///
    /// A node whose quantities cannot be read is taken out until it is corrected; the pods on it
    /// stay.
    pub fn apply_node(&mut self, node: &Node) -> Result<NodeChange, InvalidQuantity> {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        self.count_pods_of(name, Topology::remove);
        let result = self.nodes.apply(node, &mut self.vocabulary);
        if result.is_err() {
            self.nodes.remove(name, &mut self.vocabulary);
        }
        self.count_pods_of(name, Topology::add);
        result
    }

    /// A node is gone. Its slot stays as long as pods are on it. Tells whether it was known.
    pub fn remove_node(&mut self, name: &str) -> bool {
        self.count_pods_of(name, Topology::remove);
        self.nodes.remove(name, &mut self.vocabulary)
    }

    /// Counts the pods on a node, or no longer: its domains are about to change.
    fn count_pods_of(&mut self, name: &str, change: fn(&mut Topology, PlacedPod<'_>)) {
        let Some(slot) = self.nodes.slot(name) else {
            return;
        };
        for place in &self.nodes.pods[slot.index()] {
            let pod = self.pods.get(*place);
            if let Some(placed) = pod.and_then(|pod| pod.placed(&self.nodes, &self.vocabulary)) {
                change(&mut self.topology, placed);
            }
        }
    }

    /// Counts `term` from now on, if it is not counted yet.
    pub(crate) fn count_term(&mut self, term: CountedTerm) {
        let (nodes, pods, alike) = (&self.nodes, &self.pods, &self.alike);
        let vocabulary = &mut self.vocabulary;
        self.topology
            .count(term, vocabulary, |labels, count, vocabulary| {
                let pods = alike.places(labels).filter_map(|place| pods.get(place));
                pods.filter_map(|pod| pod.placed(nodes, vocabulary))
                    .for_each(count);
            });
    }

    /// An object that plugins look up by name came, changed or went. Tells what changed, and what
    /// the queue calls it.
    pub(crate) fn apply_listed(
        &mut self,
        event: ListedEvent,
    ) -> (Option<EventResource>, Vec<ListedChange>) {
        let is_namespace = matches!(event, ListedEvent::Namespace(_));
        let (resource, changes) = self.listers.apply(event);
        if is_namespace {
            for change in &changes {
                let namespace = self.listers.namespaces.get("", &change.key.name);
                let (topology, vocabulary) = (&mut self.topology, &mut self.vocabulary);
                topology.apply_namespace(
                    &change.key.name,
                    namespace.map(|namespace| &**namespace),
                    vocabulary,
                );
            }
        }
        (resource, changes)
    }

    /// Takes over everything that another cache has listed. This one has no pods yet.
    pub(crate) fn take_over_listers(&mut self, listers: Listers) {
        for namespace in listers.namespaces.iter() {
            let name = namespace.metadata.name.as_deref().unwrap_or_default();
            let (topology, vocabulary) = (&mut self.topology, &mut self.vocabulary);
            topology.apply_namespace(name, Some(namespace), vocabulary);
        }
        self.listers = listers;
    }

    /// The pod called `uid`, if it has a node.
    pub fn pod(&self, uid: &PodUid) -> Option<&PodInfo> {
        self.pods.find(uid).map(|pod| &pod.info)
    }

    /// The pod in `place`, which its node has given.
    pub(crate) fn pod_in(&self, place: PodPlace) -> Option<&PodInfo> {
        self.pods.get(place).map(|pod| &pod.info)
    }

    /// All pods that have a node.
    pub fn pods(&self) -> impl Iterator<Item = &PodInfo> {
        self.pods.iter().map(|pod| &pod.info)
    }

    /// The pods that are assumed and not yet confirmed.
    pub(crate) fn assumed(&self) -> impl Iterator<Item = &PodUid> {
        let assumed = self.pods.iter().filter(|pod| pod.is_assumed);
        assumed.map(|pod| &pod.info.uid)
    }

    /// Whether the pod is assumed and not yet confirmed.
    pub fn is_assumed(&self, uid: &PodUid) -> bool {
        self.pods.find(uid).is_some_and(|pod| pod.is_assumed)
    }

    /// Assumes that `pod` is on the node it names. Takes over the references of `pod`.
    pub fn assume_pod(&mut self, pod: PodInfo) {
        self.insert(pod, true);
    }

    /// The watch says that `pod` is on the node it names: adds it, updates it, or confirms what
    /// was assumed. Takes over the references of `pod` and gives the earlier pod back to the
    /// caller, who releases it.
    #[must_use = "the earlier pod holds references"]
    pub fn add_pod(&mut self, pod: PodInfo) -> Option<PodInfo> {
        let earlier = self.take(&pod.uid);
        self.insert(pod, false);
        earlier
    }

    /// The binding of an assumed pod failed, or the pod is gone. Gives the pod back to the caller,
    /// who releases it.
    #[must_use = "the pod holds references"]
    pub fn remove_pod(&mut self, uid: &PodUid) -> Option<PodInfo> {
        self.take(uid)
    }

    fn insert(&mut self, mut info: PodInfo, is_assumed: bool) {
        let node = info.node_name.take().unwrap_or_else(|| Arc::from(""));
        let class = Arc::clone(self.vocabulary.pod_class(info.class));
        let slot = self.nodes.slot_or_new(&node);
        // The name is kept once for all pods on the node.
        info.node_name = Some(Arc::clone(&self.nodes.names[slot.index()]));
        self.priorities.add(slot, info.priority);
        let labels = info.labels;
        self.assumed += usize::from(is_assumed);
        let place = self.pods.insert(CachedPod {
            info,
            slot,
            is_assumed,
        });
        self.alike.add(place, labels);
        self.nodes.add_pod(slot, place, &class);
        let pod = self.pods.get(place);
        if let Some(placed) = pod.and_then(|pod| pod.placed(&self.nodes, &self.vocabulary)) {
            self.topology.add(placed);
        }
    }

    fn take(&mut self, uid: &PodUid) -> Option<PodInfo> {
        let (place, pod) = self.pods.remove(uid)?;
        self.alike.remove(place, pod.info.labels);
        self.assumed -= usize::from(pod.is_assumed);
        if let Some(placed) = pod.placed(&self.nodes, &self.vocabulary) {
            self.topology.remove(placed);
        }
        let class = Arc::clone(self.vocabulary.pod_class(pod.info.class));
        self.nodes.remove_pod(pod.slot, place, &class);
        self.priorities.remove(pod.slot, pod.info.priority);
        Some(pod.info)
    }
}
