//! What plugins see: the cluster, a node, a pod.
//!
//! The engine owns its cache alone, so the snapshot of a cycle is a borrow and costs nothing.
//! It plays the part of upstream's `NodeInfoLister` and `NodeInfo`.

use std::fmt;
use std::sync::Arc;

use crate::engine::cache::Cache;
use crate::engine::cache::listers::Listers;
use crate::engine::cache::node_changes::NodeChanges;
use crate::engine::cache::nodes::{NodeFacts, Slot};
use crate::engine::cache::overlay::NodeOverlay;
use crate::engine::cache::topology::Topology;
use crate::engine::framework::reservations::Reservations;
use crate::model::host_port::UsedPorts;
use crate::model::images::{ImageState, NodeImage};
use crate::model::label_set::LabelSet;
use crate::model::node_class::NodeClass;
use crate::model::node_selector::NodeLabels;
use crate::model::pod_class::{NonZeroRequests, PodClass};
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::resources::{Resource, Resources};
use crate::model::symbols::{Symbol, Symbols};
use crate::model::vocabulary::{NodeClassId, Vocabulary};

/// The cluster during one cycle.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    cache: &'a Cache,
}

/// A node during one cycle (`NodeInfo`).
#[derive(Clone, Copy)]
pub struct NodeView<'a> {
    cache: &'a Cache,
    facts: &'a NodeFacts,
    slot: Slot,
    overlay: Option<&'a NodeOverlay<'a>>,
}

/// A pod with its class and labels (`PodInfo`).
#[derive(Clone, Copy)]
pub struct PodView<'a> {
    /// The pod.
    pub info: &'a PodInfo,
    /// Everything in it that influences the placement.
    pub class: &'a PodClass,
    /// Its namespace.
    pub namespace: Symbol,
    /// Its labels.
    pub labels: &'a LabelSet,
    /// The table in which the texts are.
    pub symbols: &'a Symbols,
}

// === impl Snapshot ===

impl<'a> Snapshot<'a> {
    pub(super) fn new(cache: &'a Cache) -> Self {
        Self { cache }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.cache.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.cache.nodes.is_empty()
    }

    /// All nodes, in the order of their slots.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'a>> + use<'a> {
        let cache = self.cache;
        cache
            .nodes
            .slots()
            .filter_map(move |slot| NodeView::new(cache, slot))
    }

    /// The node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeView<'a>> {
        NodeView::new(self.cache, self.cache.nodes.slot(name)?)
    }

    /// The node in `slot`.
    pub fn node_in(&self, slot: Slot) -> Option<NodeView<'a>> {
        NodeView::new(self.cache, slot)
    }

    /// All slots that were ever used, those of nodes that are gone included.
    pub(crate) fn slots(self) -> impl Iterator<Item = Slot> + use<> {
        (0_u32..).map(Slot).take(self.cache.nodes.names.len())
    }

    /// Which nodes changed, or pods on them, in order.
    pub(crate) fn node_changes(self) -> &'a NodeChanges {
        &self.cache.nodes.changes
    }

    /// Of which nodes the objects changed, in order.
    pub(crate) fn node_object_changes(self) -> &'a NodeChanges {
        &self.cache.nodes.object_changes
    }

    /// The pod called `uid`, if it has a node.
    pub fn pod(&self, uid: &PodUid) -> Option<PodView<'a>> {
        self.cache.pod(uid).map(|info| self.view(info))
    }

    /// The view of a pod, wherever it is kept.
    pub fn view(&self, info: &'a PodInfo) -> PodView<'a> {
        PodView::new(info, &self.cache.vocabulary)
    }

    /// The pods without a node that hold room on the node called `node`.
    pub fn nominated_pods(&self, node: &str) -> impl Iterator<Item = PodView<'a>> + use<'a> {
        let cache = self.cache;
        let pods = cache.nominator.on(node).iter();
        pods.map(move |info| PodView::new(info, &cache.vocabulary))
    }

    /// Whether pods are being evicted for the pod called `uid` (`IsPodRunningPreemption`).
    pub fn is_evicting_for(&self, uid: &PodUid) -> bool {
        self.cache.preemptions.is_evicting(uid)
    }

    /// Whether there are pods that `pod` might evict, wherever they are.
    pub fn has_possible_victims(&self, pod: &PodView<'_>) -> bool {
        let lowest = self.cache.priorities.lowest();
        !pod.info.never_preempts && lowest.is_some_and(|lowest| lowest < pod.info.priority)
    }

    /// The nodes that have a pod of a lower priority than `pod`, in no particular order.
    pub fn nodes_with_lesser_pods(
        &self,
        pod: &PodView<'_>,
    ) -> impl Iterator<Item = NodeView<'a>> + use<'a> {
        let cache = self.cache;
        let slots = cache.priorities.slots_below(pod.info.priority);
        slots.filter_map(move |slot| NodeView::new(cache, slot))
    }

    /// Whether pods without a node hold room on `node`.
    pub(crate) fn is_promised(self, node: &NodeView<'_>) -> bool {
        let nominator = &self.cache.nominator;
        nominator.len() > 0 && !nominator.on(node.name()).is_empty()
    }

    /// Whether it was decided to evict the pod called `uid`, which is still there.
    pub fn is_victim(&self, uid: &PodUid) -> bool {
        self.cache.preemptions.is_victim(uid)
    }

    /// What plugins hold for pods on their way.
    pub fn reservations(&self) -> &'a Reservations {
        &self.cache.reservations
    }

    /// Everything that is looked up by name, beside nodes and pods.
    pub fn listers(&self) -> &'a Listers {
        &self.cache.listers
    }

    /// Counts of pods by topology domain.
    pub fn topology(&self) -> &'a Topology {
        &self.cache.topology
    }

    /// The labels of a namespace, if it is known.
    pub fn namespace_labels(&self, namespace: Symbol) -> Option<&'a LabelSet> {
        self.cache.topology.namespaces.get(namespace)
    }

    /// What is known of the image called `name` over all nodes.
    pub fn image(&self, name: Symbol) -> Option<ImageState> {
        self.cache.nodes.images.get(name)
    }

    /// Everything that is interned.
    pub fn vocabulary(&self) -> &'a Vocabulary {
        &self.cache.vocabulary
    }
}

impl fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("nodes", &self.len())
            .finish_non_exhaustive()
    }
}

// === impl PodView ===

impl<'a> PodView<'a> {
    /// The view of `info`, which was compiled by `vocabulary`.
    pub fn new(info: &'a PodInfo, vocabulary: &'a Vocabulary) -> Self {
        let labels = vocabulary.label_set(info.labels);
        Self {
            info,
            class: vocabulary.pod_class(info.class),
            namespace: labels.namespace,
            labels: &labels.labels,
            symbols: vocabulary.symbols(),
        }
    }
}

impl fmt::Debug for PodView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PodView({})", self.info.key)
    }
}

// === impl NodeView ===

impl<'a> NodeView<'a> {
    fn new(cache: &'a Cache, slot: Slot) -> Option<Self> {
        let facts = cache.nodes.facts.get(slot.index())?.as_ref()?;
        Some(Self {
            cache,
            facts,
            slot,
            overlay: None,
        })
    }

    /// The node as `overlay` has it.
    pub(super) fn over<'b>(self, overlay: &'b NodeOverlay<'a>) -> NodeView<'b> {
        NodeView {
            overlay: Some(overlay),
            ..self
        }
    }

    /// The dense index of the node.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The name.
    pub fn name(&self) -> &'a Arc<str> {
        &self.cache.nodes.names[self.slot.index()]
    }

    /// Its place on the ring of ties.
    pub fn ring_position(&self) -> u64 {
        self.cache.nodes.ring[self.slot.index()]
    }

    /// The class: what the node has in common with others.
    pub fn class_id(&self) -> NodeClassId {
        self.facts.class
    }

    /// Labels but for the host name, taints, cordon.
    pub fn class(&self) -> &'a NodeClass {
        self.cache.vocabulary.node_class(self.facts.class)
    }

    /// Room for pods, in whole.
    pub fn allocatable(&self) -> &'a Resources {
        &self.cache.nodes.allocatable[self.slot.index()]
    }

    /// How many pods the node takes, in whole.
    pub fn allowed_pods(&self) -> i64 {
        self.cache.nodes.allowed_pods[self.slot.index()]
    }

    /// What the pods on the node request.
    pub fn requested(&self) -> &'a Resources {
        match self.overlay {
            None => &self.cache.nodes.requested[self.slot.index()],
            Some(overlay) => &overlay.requested,
        }
    }

    /// What they request with defaults for containers that request nothing.
    pub fn non_zero_requested(&self) -> NonZeroRequests {
        match self.overlay {
            None => self.cache.nodes.non_zero_requested[self.slot.index()],
            Some(overlay) => overlay.non_zero_requested,
        }
    }

    /// How many pods are on the node, assumed ones included.
    pub fn pod_count(&self) -> usize {
        match self.overlay {
            None => self.cache.nodes.pods[self.slot.index()].len(),
            Some(overlay) => overlay.pods.len(),
        }
    }

    /// The pods on the node, in no particular order.
    pub fn pods(&self) -> impl Iterator<Item = PodView<'a>> + use<'a> {
        let cache = self.cache;
        let (places, supposed): (&[_], &[_]) = match self.overlay {
            None => (&cache.nodes.pods[self.slot.index()], &[]),
            Some(overlay) => (&[], &overlay.pods),
        };
        places
            .iter()
            .filter_map(move |place| cache.pod_in(*place))
            .map(move |info| PodView::new(info, &cache.vocabulary))
            .chain(supposed.iter().copied())
    }

    /// The host ports in use.
    pub fn used_ports(&self) -> &'a UsedPorts {
        match self.overlay {
            None => &self.cache.nodes.used_ports[self.slot.index()],
            Some(overlay) => &overlay.used_ports,
        }
    }

    /// The images on the node, sorted by name.
    pub fn images(&self) -> &'a [NodeImage] {
        &self.facts.images
    }

    /// Whether the node has the image called `name`.
    pub fn has_image(&self, name: Symbol) -> bool {
        self.facts
            .images
            .binary_search_by_key(&name, |image| image.name)
            .is_ok()
    }

    /// Room for one resource, in whole.
    pub fn allocatable_of(&self, resource: Resource) -> i64 {
        self.allocatable().get(resource)
    }

    /// The cluster that the node is part of.
    pub fn cluster(&self) -> Snapshot<'a> {
        Snapshot::new(self.cache)
    }
}

impl NodeLabels for NodeView<'_> {
    fn node_name(&self) -> Symbol {
        self.facts.name
    }

    fn label(&self, key: Symbol) -> Option<Symbol> {
        self.facts.label(key, &self.cache.vocabulary)
    }

    fn symbols(&self) -> &Symbols {
        self.cache.vocabulary.symbols()
    }
}

impl fmt::Debug for NodeView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeView({})", self.name())
    }
}
