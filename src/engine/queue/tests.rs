//! Scripts of actions on the queue. After each action the queue is checked against itself.

mod backoff;
mod events;
mod flush;
mod in_flight;
mod operations;
mod order;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::*;
use crate::engine::framework::extension_points::SortKey;
use crate::engine::framework::{HintScope, PluginName, QueueingHint, Rejection, RejectionKind};
use crate::model::vocabulary::Vocabulary;
use crate::plugins::fixtures::make_pod;

/// Rejects pods and knows some events.
const FIT: PluginName = "Fit";
/// Waits for something outside.
const WAIT: PluginName = "Wait";
/// Holds pods at `PreEnqueue`.
const GATE: PluginName = "Gate";

const POD_DELETED: ClusterEventKind =
    ClusterEventKind::new(EventResource::AssignedPod, ActionType::DELETE);
const NODE_ADDED: ClusterEventKind = ClusterEventKind::new(EventResource::Node, ActionType::ADD);
const LABEL_CHANGED: ClusterEventKind =
    ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL);
const GATES_GONE: ClusterEventKind = ClusterEventKind::new(
    EventResource::TargetPod,
    ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
);

/// Plugins that answer what the script says.
#[derive(Debug, Default)]
struct FakePlugins {
    gated: BTreeMap<Box<str>, PluginName>,
    hints: BTreeMap<(PluginName, ClusterEventKind), bool>,
    scope: HintScope,
    asked: Cell<usize>,
    asked_gates: Cell<usize>,
}

impl QueuePlugins for FakePlugins {
    fn sort_key(&self, pod: &PodInfo, queued: Timestamp) -> SortKey {
        [-i64::from(pod.priority), queued.as_micros()]
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Option<Rejection> {
        self.asked_gates.set(self.asked_gates.get() + 1);
        self.gated.get(&*pod.key.name).map(|plugin| Rejection {
            kind: RejectionKind::UnschedulableAndUnresolvable,
            plugin,
            reasons: SmallVec::default(),
        })
    }

    fn hint(
        &self,
        plugin: PluginName,
        _: &PodInfo,
        change: &RecordedChange,
    ) -> Option<QueueingHint> {
        self.asked.set(self.asked.get() + 1);
        let helps = self.hints.get(&(plugin, change.event));
        helps.map(|helps| QueueingHint::queue_if(*helps))
    }

    fn is_registered(&self, plugin: PluginName, change: &RecordedChange) -> bool {
        self.hints.contains_key(&(plugin, change.event))
    }

    fn hint_scope(&self, _: PluginName, _: &PodInfo) -> HintScope {
        self.scope
    }
}

/// A queue at a time, with what surrounds it.
struct Script {
    queue: SchedulingQueue,
    plugins: FakePlugins,
    vocabulary: Vocabulary,
    now: Timestamp,
}

fn uid(name: &str) -> PodUid {
    PodUid(format!("uid-{name}").into())
}

fn by(plugins: &[PluginName]) -> Rejectors {
    Rejectors {
        unschedulable: plugins.iter().copied().collect(),
        pending: BTreeSet::new(),
    }
}

fn pending(plugin: PluginName) -> Rejectors {
    Rejectors {
        unschedulable: BTreeSet::new(),
        pending: BTreeSet::from([plugin]),
    }
}

impl Script {
    /// An empty queue 100 s after the epoch.
    fn new() -> Self {
        Self {
            queue: SchedulingQueue::new(QueueConfig::default(), 1),
            plugins: FakePlugins::default(),
            vocabulary: Vocabulary::new(1),
            now: Timestamp::from_seconds(100),
        }
    }

    /// `plugin` registered `event` and says whether it helps.
    fn hint(&mut self, plugin: PluginName, event: ClusterEventKind, helps: bool) {
        self.plugins.hints.insert((plugin, event), helps);
    }

    fn gate(&mut self, name: &str) {
        self.plugins.gated.insert(name.into(), GATE);
    }

    fn ungate(&mut self, name: &str) {
        self.plugins.gated.remove(name);
    }

    fn info(&mut self, name: &str, priority: i32) -> PodInfo {
        let pod = make_pod(name).priority(priority).object();
        self.vocabulary.compile_pod(&pod).unwrap()
    }

    fn add(&mut self, name: &str) {
        self.add_with_priority(name, 0);
    }

    fn add_with_priority(&mut self, name: &str, priority: i32) {
        let info = self.info(name, priority);
        drop(self.queue.add(self.now, info, &self.plugins));
        self.check();
    }

    fn update(&mut self, name: &str, priority: i32, event: ClusterEventKind) {
        let info = self.info(name, priority);
        let change = Some(event.action);
        drop(self.queue.update(self.now, info, change, &self.plugins));
        self.check();
    }

    fn pop(&mut self) -> Option<String> {
        let ready = self.queue.places.first_ready().is_some();
        let popped = self.queue.pop(self.now);
        assert_eq!(ready, popped.is_some());
        self.check();
        popped.map(|uid| uid.0.trim_start_matches("uid-").to_owned())
    }

    fn pop_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.pop()).collect()
    }

    fn requeue(&mut self, name: &str, rejectors: Rejectors) {
        let uid = uid(name);
        self.queue.requeue(self.now, &uid, rejectors, &self.plugins);
        self.check();
    }

    /// A new pod that was tried once.
    fn add_requeued(&mut self, name: &str, rejectors: Rejectors) {
        self.add(name);
        assert_eq!(self.pop().as_deref(), Some(name));
        self.requeue(name, rejectors);
    }

    fn done(&mut self, name: &str) -> QueuedPod {
        let pod = self.queue.done(&uid(name)).unwrap();
        self.check();
        pod
    }

    fn happens(&mut self, event: ClusterEventKind) {
        self.move_all(&RecordedChange::of(event));
    }

    /// Something that is about one pod.
    fn happens_to(&mut self, name: &str, event: ClusterEventKind) {
        let pod = Some(uid(name));
        self.move_all(&RecordedChange {
            pod,
            ..RecordedChange::of(event)
        });
    }

    fn move_all(&mut self, change: &RecordedChange) {
        self.queue.move_all(self.now, change, &self.plugins);
        self.check();
    }

    fn activate(&mut self, name: &str) {
        self.queue.activate(self.now, &[uid(name)], &self.plugins);
        self.check();
    }

    /// Time passes, and the queue moves what is due.
    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.queue.tick(self.now, &self.plugins);
        self.check();
    }

    fn place(&self, name: &str) -> Option<Place> {
        self.queue.place(&uid(name))
    }

    fn pod(&self, name: &str) -> &QueuedPod {
        self.queue.get(&uid(name)).unwrap()
    }

    /// What entered since the last call, as `queue event count`.
    fn incoming(&mut self) -> Vec<String> {
        let incoming = self.queue.take_incoming().into_iter();
        incoming
            .map(|((queue, event), count)| format!("{queue} {event} {count}"))
            .collect()
    }

    fn check(&self) {
        self.queue.places.assert_consistent(&self.plugins);
        let in_flight = self
            .queue
            .pods()
            .filter(|(_, place)| *place == Place::InFlight);
        let in_flight = in_flight.map(|(pod, _)| pod.info.uid.clone()).collect();
        self.queue.in_flight.assert_consistent(&in_flight);
    }
}
