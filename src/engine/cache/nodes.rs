//! Nodes as columns: dense slots, one vector a fact.
//!
//! A slot belongs to a name. It stays when the node goes while pods are still on it, so that a
//! node that comes back finds them counted (`NodeInfo` without `Node`).

use std::sync::Arc;

use crate::engine::cache::hostnames::Hostnames;
use crate::engine::cache::node_changes::NodeChanges;
use crate::engine::cache::pods::PodPlace;
use crate::engine::cache::tie_break::ring_position;
use crate::engine::framework::cluster_event::ActionType;
use crate::model::host_port::UsedPorts;
use crate::model::images::{Images, NodeImage};
use crate::model::map::{TextMap, new_text_map};
use crate::model::node_class::HOSTNAME_LABEL;
use crate::model::objects::Node;
use crate::model::pod_class::{NonZeroRequests, PodClass};
use crate::model::quantity::InvalidQuantity;
use crate::model::resources::{PODS, Resources};
use crate::model::symbols::{HeldSymbols, Symbol};
use crate::model::vocabulary::{NodeClassId, Vocabulary};

/// The dense index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(crate) u32);

/// What an update of a node changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeChange(pub ActionType);

/// The columns. All vectors have one entry a slot.
#[derive(Debug)]
pub struct Nodes {
    seed: u64,
    by_name: TextMap<Arc<str>, Slot>,
    present: usize,
    free: Vec<Slot>,
    /// Changes of nodes and of the pods on them.
    pub(crate) changes: NodeChanges,
    /// Changes of the objects of nodes.
    pub(crate) object_changes: NodeChanges,
    hostnames: Hostnames,
    pub(crate) images: Images,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) ring: Vec<u64>,
    pub(crate) facts: Vec<Option<NodeFacts>>,
    pub(crate) allocatable: Vec<Resources>,
    pub(crate) allowed_pods: Vec<i64>,
    pub(crate) requested: Vec<Resources>,
    pub(crate) non_zero_requested: Vec<NonZeroRequests>,
    pub(crate) used_ports: Vec<UsedPorts>,
    pub(crate) pods: Vec<Vec<PodPlace>>,
}

/// What only a node object tells; a slot without it holds pods of a node that is not known.
#[derive(Debug)]
pub(crate) struct NodeFacts {
    pub(crate) uid: Box<str>,
    pub(crate) name: Symbol,
    pub(crate) class: NodeClassId,
    pub(crate) hostname: Option<Symbol>,
    pub(crate) images: Box<[NodeImage]>,
    held: HeldSymbols,
}

// === impl NodeFacts ===

impl NodeFacts {
    /// The value of the label `key`.
    pub(crate) fn label(&self, key: Symbol, vocabulary: &Vocabulary) -> Option<Symbol> {
        if key == vocabulary.hostname_label() {
            return self.hostname;
        }
        vocabulary.node_class(self.class).labels.get(key)
    }

    /// Every symbol that is held for the node beside its class, as often as it is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.held.iter()
    }
}

// === impl Slot ===

impl Slot {
    /// The index into the columns.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

// === impl Nodes ===

impl Nodes {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            by_name: new_text_map(seed),
            present: 0,
            free: Vec::new(),
            changes: NodeChanges::default(),
            object_changes: NodeChanges::default(),
            hostnames: Hostnames::default(),
            images: Images::default(),
            names: Vec::new(),
            ring: Vec::new(),
            facts: Vec::new(),
            allocatable: Vec::new(),
            allowed_pods: Vec::new(),
            requested: Vec::new(),
            non_zero_requested: Vec::new(),
            used_ports: Vec::new(),
            pods: Vec::new(),
        }
    }

    /// Nodes whose object is known.
    pub fn len(&self) -> usize {
        self.present
    }

    /// Whether no node is known.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Whether no two nodes have the same value of the label `kubernetes.io/hostname`.
    pub(crate) fn hostnames_are_unique(&self) -> bool {
        self.hostnames.are_unique()
    }

    /// The slots of known nodes, in the order of the slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        (0_u32..)
            .map(Slot)
            .zip(&self.facts)
            .filter_map(|(slot, facts)| facts.as_ref().map(|_| slot))
    }

    /// The slot of a known node.
    pub(crate) fn slot(&self, name: &str) -> Option<Slot> {
        let slot = *self.by_name.get(name)?;
        self.facts[slot.index()].as_ref().map(|_| slot)
    }

    /// Something about a node changed that stands elsewhere.
    pub(super) fn note_change(&mut self, name: &str) {
        if let Some(slot) = self.by_name.get(name) {
            self.changes.push(*slot);
        }
    }

    /// The names of known nodes.
    pub(crate) fn known_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.slots().map(|slot| &self.names[slot.index()])
    }

    pub(super) fn apply(
        &mut self,
        node: &Node,
        vocabulary: &mut Vocabulary,
    ) -> Result<NodeChange, InvalidQuantity> {
        let amounts = Resources::parse_list(&node.status.allocatable)?;
        let allowed_pods = amounts.get(PODS).copied().unwrap_or_default().units();
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let mut scope = vocabulary.symbols_mut().scope();
        let allocatable = Resources::compile(&amounts, &mut scope);
        let images = NodeImage::compile_all(&node.status.images, &mut scope);
        let name_symbol = scope.intern(name);
        let hostname = node
            .metadata
            .labels
            .as_ref()
            .and_then(|l| l.get(HOSTNAME_LABEL));
        let hostname = hostname.map(|value| scope.intern(value));
        let held = scope.finish();
        let facts = NodeFacts {
            uid: node.metadata.uid.as_deref().unwrap_or_default().into(),
            name: name_symbol,
            class: vocabulary.compile_node_class(node),
            hostname,
            images,
            held,
        };
        let slot = self.slot_or_new(name);
        let index = slot.index();
        let change = self.change(index, &facts, &allocatable, allowed_pods, vocabulary);
        self.images.add(&facts.images);
        self.hostnames.add(facts.hostname);
        self.allocatable[index] = allocatable;
        self.allowed_pods[index] = allowed_pods;
        match self.facts[index].replace(facts) {
            Some(earlier) => self.release(earlier, vocabulary),
            None => self.present += 1,
        }
        self.changes.push(slot);
        self.object_changes.push(slot);
        Ok(change)
    }

    /// What differs from what is known (`nodeSchedulingPropertiesChange`).
    fn change(
        &self,
        index: usize,
        facts: &NodeFacts,
        allocatable: &Resources,
        allowed_pods: i64,
        vocabulary: &Vocabulary,
    ) -> NodeChange {
        let Some(earlier) = &self.facts[index] else {
            return NodeChange(ActionType::ADD);
        };
        if earlier.uid != facts.uid {
            return NodeChange(ActionType::ADD);
        }
        let mut change = ActionType::NONE;
        let before = vocabulary.node_class(earlier.class);
        let after = vocabulary.node_class(facts.class);
        if self.allocatable[index] != *allocatable || self.allowed_pods[index] != allowed_pods {
            change = change.or(ActionType::UPDATE_NODE_ALLOCATABLE);
        }
        if before.labels != after.labels || earlier.hostname != facts.hostname {
            change = change.or(ActionType::UPDATE_NODE_LABEL);
        }
        if before.taints != after.taints || before.unschedulable != after.unschedulable {
            change = change.or(ActionType::UPDATE_NODE_TAINT);
        }
        if before.declared_features != after.declared_features {
            change = change.or(ActionType::UPDATE_NODE_DECLARED_FEATURE);
        }
        NodeChange(change)
    }

    pub(super) fn remove(&mut self, name: &str, vocabulary: &mut Vocabulary) -> bool {
        let Some(slot) = self.slot(name) else {
            return false;
        };
        let index = slot.index();
        if let Some(facts) = self.facts[index].take() {
            self.release(facts, vocabulary);
            self.present -= 1;
        }
        self.allocatable[index] = Resources::default();
        self.allowed_pods[index] = 0;
        self.changes.push(slot);
        self.object_changes.push(slot);
        self.free_if_unused(slot);
        true
    }

    fn release(&mut self, facts: NodeFacts, vocabulary: &mut Vocabulary) {
        self.images.remove(&facts.images);
        self.hostnames.remove(facts.hostname);
        vocabulary.release_node_class(facts.class);
        vocabulary.symbols_mut().release(facts.held);
    }

    pub(super) fn add_pod(&mut self, slot: Slot, pod: PodPlace, class: &PodClass) {
        let index = slot.index();
        self.requested[index].add(&class.requests);
        self.non_zero_requested[index].add(class.non_zero_requests);
        for port in &class.host_ports {
            self.used_ports[index].add(*port);
        }
        self.pods[index].push(pod);
        self.changes.push(slot);
    }

    pub(super) fn remove_pod(&mut self, slot: Slot, pod: PodPlace, class: &PodClass) {
        let index = slot.index();
        self.requested[index].subtract(&class.requests);
        self.non_zero_requested[index].subtract(class.non_zero_requests);
        for port in &class.host_ports {
            self.used_ports[index].remove(*port);
        }
        if let Some(position) = self.pods[index].iter().position(|other| *other == pod) {
            self.pods[index].swap_remove(position);
        }
        self.changes.push(slot);
        self.free_if_unused(slot);
    }

    /// The slot of a name, whether or not the node is known.
    pub(super) fn slot_or_new(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.by_name.get(name) {
            return *slot;
        }
        let name: Arc<str> = name.into();
        let ring = ring_position(self.seed, &name);
        let slot = if let Some(slot) = self.free.pop() {
            self.names[slot.index()] = Arc::clone(&name);
            self.ring[slot.index()] = ring;
            slot
        } else {
            self.push_slot(Arc::clone(&name), ring)
        };
        self.by_name.insert(name, slot);
        slot
    }

    fn push_slot(&mut self, name: Arc<str>, ring: u64) -> Slot {
        let index = u32::try_from(self.names.len()).expect("fewer than 2^32 nodes must be known");
        self.names.push(name);
        self.ring.push(ring);
        self.facts.push(None);
        self.allocatable.push(Resources::default());
        self.allowed_pods.push(0);
        self.requested.push(Resources::default());
        self.non_zero_requested.push(NonZeroRequests::default());
        self.used_ports.push(UsedPorts::default());
        self.pods.push(Vec::new());
        Slot(index)
    }

    fn free_if_unused(&mut self, slot: Slot) {
        let index = slot.index();
        if self.facts[index].is_none() && self.pods[index].is_empty() {
            self.by_name.swap_remove(&self.names[index]);
            self.free.push(slot);
        }
    }
}
