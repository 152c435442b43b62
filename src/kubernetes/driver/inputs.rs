//! What the loop is fed with: the watches, the completions, the profiles.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::engine::cache::listers::{LISTED_KINDS, ListedEvent};
use crate::engine::event::ClusterEvent;
use crate::kubernetes::dispatcher::Completion;
use crate::kubernetes::driver::unbound_pods::UnboundPods;
use crate::kubernetes::profiles::RunningProfile;
use crate::kubernetes::watch::StreamEvent;

/// Events of one kind taken in one turn at most, so that the heart beats during a storm.
const EVENTS_PER_TURN: usize = 1024;

/// The loop's ears.
#[derive(Debug)]
pub struct Inputs {
    nodes: Input,
    pods: Input,
    /// How many lists of nodes and pods were asked for.
    lists: watch::Sender<u64>,
    unbound: UnboundPods,
    listed: mpsc::Receiver<ListedEvent>,
    /// Listed kinds that were told whole once.
    listed_synced: BTreeSet<&'static str>,
    completions: mpsc::UnboundedReceiver<Completion>,
    profiles: watch::Receiver<Option<Arc<Vec<RunningProfile>>>>,
    profiles_seen: bool,
    /// Taken out of the channels, and kept over a panic: what is not listed again comes only once.
    taken: VecDeque<ClusterEvent>,
}

#[derive(Debug)]
struct Input {
    events: mpsc::Receiver<StreamEvent>,
    /// The last list that was told whole.
    list: Option<u64>,
    /// Whether this replica led before that was asked for.
    is_led: bool,
}

impl Input {
    fn note(&mut self, event: StreamEvent) -> ClusterEvent {
        match event {
            StreamEvent::Object(event) => event,
            StreamEvent::Listed {
                event,
                list,
                is_led,
            } => {
                self.list = Some(list);
                self.is_led = is_led;
                event
            }
        }
    }

    fn try_next(&mut self) -> Option<ClusterEvent> {
        let event = self.events.try_recv().ok()?;
        Some(self.note(event))
    }
}

impl Inputs {
    /// Listens to these. Nodes and pods are listed again when `lists` changes.
    pub fn new(
        nodes: mpsc::Receiver<StreamEvent>,
        pods: mpsc::Receiver<StreamEvent>,
        lists: watch::Sender<u64>,
        listed: mpsc::Receiver<ListedEvent>,
        completions: mpsc::UnboundedReceiver<Completion>,
        profiles: watch::Receiver<Option<Arc<Vec<RunningProfile>>>>,
    ) -> Self {
        let input = |events| Input {
            events,
            list: None,
            is_led: false,
        };
        Self {
            nodes: input(nodes),
            pods: input(pods),
            lists,
            unbound: UnboundPods::default(),
            listed,
            listed_synced: BTreeSet::new(),
            completions,
            profiles,
            profiles_seen: false,
            taken: VecDeque::new(),
        }
    }

    /// Whether everything was listed, nodes and pods since that was last asked for.
    pub(super) fn are_synced(&self) -> bool {
        let list = Some(*self.lists.borrow());
        self.nodes.list == list
            && self.pods.list == list
            && self.listed_synced.len() == LISTED_KINDS
            && self.profiles_seen
    }

    /// Whether the first lists of nodes and pods were asked for when this replica led already: a
    /// consistent read has all that earlier leaders have written. Later lists may lack what this
    /// replica itself has begun to write.
    pub(super) fn are_listed_by_leader(&self) -> bool {
        [&self.nodes, &self.pods]
            .iter()
            .all(|input| input.list == Some(0) && input.is_led)
    }

    /// Asks for all nodes and pods once more.
    pub(super) fn ask_for_lists(&self) {
        self.lists.send_modify(|lists| *lists += 1);
    }

    /// Takes what has happened, completions first, then nodes and what else a pod is judged by
    /// before pods: nothing is older than the pod.
    pub(super) fn take(&mut self) {
        let events = &mut self.taken;
        while let Ok(Completion { id, outcome }) = self.completions.try_recv() {
            events.push_back(ClusterEvent::EffectCompleted { id, outcome });
        }
        let nodes = std::iter::from_fn(|| self.nodes.try_next());
        events.extend(nodes.take(EVENTS_PER_TURN));
        for _ in 0..EVENTS_PER_TURN {
            let Ok(event) = self.listed.try_recv() else {
                break;
            };
            self.listed_synced.extend(event.resynced_kind());
            events.push_back(ClusterEvent::Listed(event));
        }
        let pods = std::iter::from_fn(|| self.pods.try_next());
        let pods = pods.inspect(|event| self.unbound.note(event));
        events.extend(pods.take(EVENTS_PER_TURN));
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

    /// The objects of the pods without a node.
    pub(super) fn unbound_pods(&self) -> &UnboundPods {
        &self.unbound
    }

    /// Waits until something happens.
    pub(super) async fn wait(&mut self) {
        let event = tokio::select! {
            Some(Completion { id, outcome }) = self.completions.recv() => {
                ClusterEvent::EffectCompleted { id, outcome }
            }
            Some(event) = self.nodes.events.recv() => {
                self.nodes.note(event)
            }
            Some(event) = self.pods.events.recv() => {
                let event = self.pods.note(event);
                self.unbound.note(&event);
                event
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
