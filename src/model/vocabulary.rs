//! Everything that is interned: symbols, pod classes, label sets, node classes.
//!
//! Each class is kept once and counted; the last user gives its symbols back.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::quality::FixedState;
use hashbrown::HashTable;

use crate::model::controller_ref::ControllerRef;
use crate::model::label_set::{LabelSet, PodLabels};
use crate::model::node_class::{HOSTNAME_LABEL, NodeClass};
use crate::model::objects::{Node, Pod};
use crate::model::pod_class::{InvalidPod, PodClass};
use crate::model::pod_info::{PodInfo, PodKey, PodUid, ReportedCondition};
use crate::model::recent_classes::{ClassUse, RecentClasses};
use crate::model::shared_texts::SharedTexts;
use crate::model::symbols::{HeldSymbols, Symbol, Symbols};
use crate::model::timestamp::Timestamp;

/// A pod class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodClassId(u32);

/// The namespace and labels of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSetId(u32);

/// A node class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeClassId(u32);

impl LabelSetId {
    /// The dense index of the label set, for tables by label set.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The label set of a dense index.
    #[cfg(test)]
    pub(crate) fn of_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap())
    }
}

impl NodeClassId {
    /// The dense index of the class, for tables by class.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Everything that is interned.
#[derive(Debug)]
pub struct Vocabulary {
    symbols: Symbols,
    pod_classes: Interned<PodClass>,
    label_sets: Interned<PodLabels>,
    node_classes: Interned<NodeClass>,
    texts: SharedTexts,
    recent_classes: RecentClasses,
    hostname: Symbol,
    held: HeldSymbols,
}

/// Values kept once each, counted.
#[derive(Debug)]
struct Interned<T> {
    hasher: FixedState,
    by_value: HashTable<u32>,
    entries: Vec<Option<InternedEntry<T>>>,
    free: Vec<u32>,
    next_serial: u64,
}

#[derive(Debug)]
struct InternedEntry<T> {
    value: Arc<T>,
    held: HeldSymbols,
    references: u32,
    /// Which use of the id this is: ids are used again.
    serial: u64,
}

// === impl Vocabulary ===

impl Vocabulary {
    /// An empty vocabulary whose hashers are keyed with `seed`.
    pub fn new(seed: u64) -> Self {
        let mut symbols = Symbols::new(seed);
        let mut scope = symbols.scope();
        let hostname = scope.intern(HOSTNAME_LABEL);
        let held = scope.finish();
        Self {
            symbols,
            pod_classes: Interned::new(seed),
            label_sets: Interned::new(seed),
            node_classes: Interned::new(seed),
            texts: SharedTexts::new(seed),
            recent_classes: RecentClasses::default(),
            hostname,
            held,
        }
    }

    /// The interned texts.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The interned texts, to compile something else against them.
    pub fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    /// The symbol of `kubernetes.io/hostname`.
    pub fn hostname_label(&self) -> Symbol {
        self.hostname
    }

    /// The class `id`.
    pub fn pod_class(&self, id: PodClassId) -> &Arc<PodClass> {
        self.pod_classes.get(id.0)
    }

    /// The namespace and labels `id`.
    pub fn label_set(&self, id: LabelSetId) -> &Arc<PodLabels> {
        self.label_sets.get(id.0)
    }

    /// Which use of `id` the live class is: whoever remembers something by class keys it with this.
    pub fn pod_class_serial(&self, id: PodClassId) -> u64 {
        self.pod_classes.entry(id.0).serial
    }

    /// Which use of `id` the live label set is: whoever remembers something by id compares it.
    pub fn label_set_serial(&self, id: LabelSetId) -> u64 {
        self.label_sets.entry(id.0).serial
    }

    /// Which use of `id` the live node class is: whoever remembers something by id compares it.
    pub fn node_class_serial(&self, id: NodeClassId) -> u64 {
        self.node_classes.entry(id.0).serial
    }

    /// The node class `id`.
    pub fn node_class(&self, id: NodeClassId) -> &Arc<NodeClass> {
        self.node_classes.get(id.0)
    }

    /// All live label sets.
    pub fn label_sets(&self) -> impl Iterator<Item = (LabelSetId, &PodLabels)> {
        let entries = (0_u32..).zip(&self.label_sets.entries);
        entries.filter_map(|(id, entry)| Some((LabelSetId(id), &*entry.as_ref()?.value)))
    }

    /// How many pod classes, label sets and node classes are live.
    pub fn class_counts(&self) -> [usize; 3] {
        [
            self.pod_classes.len(),
            self.label_sets.len(),
            self.node_classes.len(),
        ]
    }

    /// How many references the live class `id` has.
    pub(crate) fn references_to_pod_class(&self, id: PodClassId) -> u32 {
        self.pod_classes.entry(id.0).references
    }

    /// How many references each live pod class has, for audits.
    pub(crate) fn pod_class_references(&self) -> impl Iterator<Item = (PodClassId, u32)> + '_ {
        let references = self.pod_classes.references();
        references.map(|(id, count)| (PodClassId(id), count))
    }

    /// How many references each live label set has, for audits.
    pub(crate) fn label_set_references(&self) -> impl Iterator<Item = (LabelSetId, u32)> + '_ {
        let references = self.label_sets.references();
        references.map(|(id, count)| (LabelSetId(id), count))
    }

    /// How many references each live node class has, for audits.
    pub(crate) fn node_class_references(&self) -> impl Iterator<Item = (NodeClassId, u32)> + '_ {
        let references = self.node_classes.references();
        references.map(|(id, count)| (NodeClassId(id), count))
    }

    /// Every symbol that the classes and the vocabulary itself hold, as often as it is held, for
    /// audits.
    pub(crate) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        let classes = self.pod_classes.held().chain(self.node_classes.held());
        classes
            .chain(self.label_sets.held())
            .chain(self.held.iter())
    }

    /// Compiles a pod, taking references that [`Self::release_pod`] gives back.
    pub fn compile_pod(&mut self, pod: &Pod) -> Result<PodInfo, InvalidPod> {
        let class = self.acquire_pod_class(pod)?;
        let mut scope = self.symbols.scope();
        let labels = PodLabels {
            namespace: scope.intern(pod.metadata.namespace.as_deref().unwrap_or_default()),
            labels: LabelSet::compile(pod.metadata.labels.as_ref(), &mut scope),
        };
        let held = scope.finish();
        let labels = LabelSetId(self.label_sets.acquire(labels, held, &mut self.symbols));
        Ok(pod_info(pod, class, labels, &mut self.texts))
    }

    /// Takes a reference to the class of a pod.
    fn acquire_pod_class(&mut self, pod: &Pod) -> Result<PodClassId, InvalidPod> {
        let recent = self.recent_classes.find(pod);
        if let Some(class) = recent.filter(|class| self.pod_classes.is_live(class)) {
            self.pod_classes.share(class.id);
            return Ok(PodClassId(class.id));
        }
        let mut scope = self.symbols.scope();
        let class = match PodClass::compile(pod, &mut scope) {
            Ok(class) => class,
            Err(error) => {
                scope.abandon();
                return Err(error);
            }
        };
        let held = scope.finish();
        let id = self.pod_classes.acquire(class, held, &mut self.symbols);
        let serial = self.pod_classes.entry(id).serial;
        self.recent_classes.note(pod, ClassUse { id, serial });
        Ok(PodClassId(id))
    }

    /// Takes another reference to what `pod` uses.
    pub fn share_pod(&mut self, pod: &PodInfo) -> PodInfo {
        self.pod_classes.share(pod.class.0);
        self.label_sets.share(pod.labels.0);
        pod.clone()
    }

    /// Gives back what [`Self::compile_pod`] or [`Self::share_pod`] took.
    pub fn release_pod(&mut self, pod: &PodInfo) {
        self.pod_classes.release(pod.class.0, &mut self.symbols);
        self.label_sets.release(pod.labels.0, &mut self.symbols);
    }

    /// Compiles the class of a node, taking a reference.
    pub fn compile_node_class(&mut self, node: &Node) -> NodeClassId {
        let mut scope = self.symbols.scope();
        let class = NodeClass::compile(node, &mut scope);
        let held = scope.finish();
        NodeClassId(self.node_classes.acquire(class, held, &mut self.symbols))
    }

    /// Gives back a reference to a node class.
    pub fn release_node_class(&mut self, class: NodeClassId) {
        self.node_classes.release(class.0, &mut self.symbols);
    }
}

fn pod_info(pod: &Pod, class: PodClassId, labels: LabelSetId, texts: &mut SharedTexts) -> PodInfo {
    let text = |text: &Option<String>| text.as_deref().filter(|t| !t.is_empty()).map(Arc::from);
    let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map(|time| Timestamp::from(time.0))
    };
    PodInfo {
        uid: PodUid::of(pod),
        key: PodKey {
            namespace: texts.share(pod.metadata.namespace.as_deref().unwrap_or_default()),
            name: pod.metadata.name.as_deref().unwrap_or_default().into(),
        },
        scheduler_name: texts.share(pod.profile_name()),
        class,
        labels,
        controller: ControllerRef::of(&pod.metadata, |name| texts.share(name)),
        node_name: pod.bound_node().map(Arc::from),
        priority: pod.spec.priority.unwrap_or(0),
        never_preempts: pod.spec.preemption_policy.as_deref() == Some("Never"),
        generation: pod.metadata.generation.unwrap_or(0),
        created: time(&pod.metadata.creation_timestamp).unwrap_or_default(),
        started: time(&pod.status.start_time),
        is_terminating: pod.metadata.deletion_timestamp.is_some(),
        gone_by: time(&pod.metadata.deletion_timestamp),
        is_preempted: pod.metadata.deletion_timestamp.is_some() && is_preemption_target(pod),
        scheduling_gates: pod
            .spec
            .scheduling_gates
            .iter()
            .map(|g| g.name.as_str().into())
            .collect(),
        nominated_node: text(&pod.status.nominated_node_name),
        reported: reported_condition(pod),
    }
}

/// Whether a scheduler chose the pod as a victim (`PodTerminatingByPreemption`).
fn is_preemption_target(pod: &Pod) -> bool {
    let conditions = &pod.status.conditions;
    let target = conditions.iter().find(|c| c.type_ == "DisruptionTarget");
    target.is_some_and(|condition| {
        condition.status == "True" && condition.reason.as_deref() == Some("PreemptionByScheduler")
    })
}

fn reported_condition(pod: &Pod) -> Option<Box<ReportedCondition>> {
    let condition = pod
        .status
        .conditions
        .iter()
        .find(|c| c.type_ == "PodScheduled")?;
    (condition.status == "False").then(|| {
        Box::new(ReportedCondition {
            reason: condition.reason.as_deref().unwrap_or_default().into(),
            message: condition.message.as_deref().unwrap_or_default().into(),
            observed_generation: condition.observed_generation.unwrap_or(0),
        })
    })
}

// === impl Interned ===

impl<T: Eq + Hash> Interned<T> {
    fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            by_value: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
            next_serial: 0,
        }
    }

    fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn get(&self, id: u32) -> &Arc<T> {
        &self.entry(id).value
    }

    fn entry(&self, id: u32) -> &InternedEntry<T> {
        self.entries[id as usize]
            .as_ref()
            .expect("an id in use must have an entry")
    }

    fn entry_mut(&mut self, id: u32) -> &mut InternedEntry<T> {
        self.entries[id as usize]
            .as_mut()
            .expect("an id in use must have an entry")
    }

    /// Whether the number is still used for the same value.
    fn is_live(&self, of: &ClassUse) -> bool {
        let entry = self.entries.get(of.id as usize).and_then(Option::as_ref);
        entry.is_some_and(|entry| entry.serial == of.serial)
    }

    fn references(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let entries = (0_u32..).zip(&self.entries);
        entries.filter_map(|(id, entry)| Some((id, entry.as_ref()?.references)))
    }

    fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        let entries = self.entries.iter().flatten();
        entries.flat_map(|entry| entry.held.iter())
    }

    fn share(&mut self, id: u32) {
        self.entry_mut(id).references += 1;
    }

    fn acquire(&mut self, value: T, held: HeldSymbols, symbols: &mut Symbols) -> u32 {
        let hash = self.hasher.hash_one(&value);
        let found = self
            .by_value
            .find(hash, |&id| *self.entry(id).value == value)
            .copied();
        if let Some(id) = found {
            symbols.release(held);
            self.share(id);
            return id;
        }
        let entry = Some(InternedEntry {
            value: Arc::new(value),
            held,
            references: 1,
            serial: self.next_serial,
        });
        self.next_serial += 1;
        let id = if let Some(id) = self.free.pop() {
            self.entries[id as usize] = entry;
            id
        } else {
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 classes must be live")
        };
        let Self {
            hasher,
            by_value,
            entries,
            ..
        } = self;
        by_value.insert_unique(hash, id, |&id| {
            hasher.hash_one(
                &entries[id as usize]
                    .as_ref()
                    .expect("an id in use must have an entry")
                    .value,
            )
        });
        id
    }

    fn release(&mut self, id: u32, symbols: &mut Symbols) {
        let entry = self.entry_mut(id);
        entry.references -= 1;
        if entry.references > 0 {
            return;
        }
        let Some(entry) = self.entries[id as usize].take() else {
            return;
        };
        let hash = self.hasher.hash_one(&entry.value);
        if let Ok(found) = self.by_value.find_entry(hash, |&candidate| candidate == id) {
            found.remove();
        }
        self.free.push(id);
        symbols.release(entry.held);
    }
}
