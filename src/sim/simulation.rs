//! One run: the cluster into an engine, the pending pods through it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::engine::decision::{Decision, Outcome};
use crate::engine::effect::{EffectAction, EffectOutcome};
use crate::engine::event::ClusterEvent;
use crate::engine::queue::Place as QueuePlace;
use crate::engine::{Attempt, Engine, EngineConfig};
use crate::model::objects::Pod;
use crate::model::objects::pod::SchedulingGate;
use crate::model::pod_info::{PodKey, PodUid};
use crate::model::timestamp::Timestamp;
use crate::plugins::registry::Registry;
use crate::sim::SimulateOptions;
use crate::sim::cluster::{Cluster, Given};
use crate::sim::details::Details;
use crate::sim::document::Place;
use crate::sim::error::SimError;
use crate::sim::profiles::Choice;
use crate::sim::record::{DecisionRecord, RecordOutcome};

/// The API server's condition of a pod with gates (`applySchedulingGatedCondition`).
const GATED: &str = "Scheduling is blocked due to non-empty scheduling gates";

/// An engine with a cluster, and the pods that wait for it.
#[derive(Debug)]
pub(super) struct Simulation {
    engine: Engine,
    stateless: bool,
    /// Pending pods in queue order: the lower the rank, the earlier.
    pending: Vec<Arc<Pod>>,
    /// Ranks of pending pods.
    ranks: BTreeMap<PodUid, usize>,
    /// Names of all pods.
    keys: BTreeMap<PodUid, PodKey>,
    /// When the next pod is bound.
    next_start: Timestamp,
}

impl Simulation {
    /// Loads the cluster into an engine.
    pub(super) fn new(
        cluster: Cluster,
        choice: &Choice,
        options: &SimulateOptions,
    ) -> Result<Self, SimError> {
        let config = EngineConfig {
            seed: options.seed,
            tie_break: options.tie_break,
            only_notes_evictions: true,
            ..EngineConfig::default()
        };
        let mut simulation = Self {
            engine: Engine::new(config),
            stateless: options.stateless,
            pending: Vec::new(),
            ranks: BTreeMap::new(),
            keys: BTreeMap::new(),
            next_start: cluster.latest + Duration::from_secs(1),
        };
        simulation.load_profiles(choice)?;
        for event in cluster.listed {
            simulation.engine.handle(ClusterEvent::Listed(event));
        }
        for Given { place, object } in cluster.nodes {
            let event = ClusterEvent::NodeApplied(Arc::new(object));
            simulation.apply(event, &place)?;
        }
        simulation.load_pods(cluster.pods, choice)?;
        Ok(simulation)
    }

    fn load_profiles(&mut self, choice: &Choice) -> Result<(), SimError> {
        let mut built = Vec::new();
        for profile in choice.profiles() {
            let symbols = self.engine.symbols_mut();
            let mut profile =
                Registry
                    .build(profile, 0, symbols)
                    .map_err(|error| SimError::Build {
                        name: error.profile,
                        problem: format!("plugin {:?}: {}", error.plugin, error.reason),
                    })?;
            // Nobody outside is asked; what they leave to themselves stays unchecked.
            profile.extenders.clear();
            built.push(profile);
        }
        self.engine.handle(ClusterEvent::ProfilesChanged(built));
        Ok(())
    }

    /// Bound pods first; pending ones at the time of their creation, so that the engine's own
    /// queue puts them in order.
    fn load_pods(&mut self, pods: Vec<Given<Pod>>, choice: &Choice) -> Result<(), SimError> {
        let mut waiting = Vec::new();
        let mut foreign = None;
        for Given { place, mut object } in pods {
            self.keys
                .insert(PodUid::of(&object), PodKey::of(&object.metadata));
            if object.bound_node().is_some() || object.is_terminal() {
                self.apply(ClusterEvent::PodApplied(Arc::new(object)), &place)?;
            } else if let Some(name) = choice.answers_for(object.profile_name()) {
                object.spec.scheduler_name = Some(name.to_owned());
                waiting.push((place, Arc::new(object)));
            } else {
                foreign.get_or_insert(object);
            }
        }
        if let (true, Some(pod)) = (waiting.is_empty(), foreign) {
            return Err(no_pod_of_any_profile(&pod, choice));
        }
        waiting.sort_by_key(|(_, pod)| creation(pod));
        for (place, pod) in &waiting {
            self.engine.tick(creation(pod));
            self.apply(ClusterEvent::PodApplied(Arc::clone(pod)), place)?;
        }
        self.pending = waiting.into_iter().map(|(_, pod)| pod).collect();
        self.pending
            .sort_by_key(|pod| std::cmp::Reverse(pod.spec.priority.unwrap_or(0)));
        self.ranks = self
            .pending
            .iter()
            .enumerate()
            .map(|(rank, pod)| (PodUid::of(pod), rank))
            .collect();
        Ok(())
    }

    /// Hands the object at `place` to the engine, which must be able to read it.
    fn apply(&mut self, event: ClusterEvent, place: &Place) -> Result<(), SimError> {
        self.engine.handle(event);
        match self.engine.quarantine().iter().next() {
            None => Ok(()),
            Some((_, reason)) => Err(SimError::document(
                place.clone(),
                reason,
                "write quantities as Kubernetes does, such as 500m or 2Gi",
            )),
        }
    }

    /// Hands an object that can be read to the engine.
    pub(super) fn handle(&mut self, event: ClusterEvent) {
        self.engine.handle(event);
    }

    /// Decides one pod that the cluster does not have yet. None that fits nowhere stays.
    pub(super) fn decide(&mut self, pod: Arc<Pod>) -> Option<Decision> {
        let uid = PodUid::of(&pod);
        self.ranks = BTreeMap::from([(uid.clone(), 0)]);
        self.pending = vec![Arc::clone(&pod)];
        self.engine.handle(ClusterEvent::PodApplied(pod));
        while let Some(decision) = self.engine.schedule_one() {
            if decision.uid == uid && decision.outcome != Outcome::Suspended {
                self.conclude(&decision, 0);
                return Some(decision);
            }
            self.settle();
        }
        None
    }

    /// Decides every pending pod once, with all that is found about each node.
    pub(super) fn run(self) -> Vec<DecisionRecord> {
        self.run_by(|engine| {
            let mut details = Details::default();
            let inspect = |attempt: &Attempt<'_>| details = Details::of(attempt);
            let decision = engine.schedule_one_with(inspect)?;
            Some((decision, details))
        })
    }

    /// Decides every pending pod once, as a cluster's scheduler does.
    pub(super) fn run_live(self) -> Vec<DecisionRecord> {
        self.run_by(|engine| Some((engine.schedule_one()?, Details::default())))
    }

    fn run_by(
        mut self,
        next: impl Fn(&mut Engine) -> Option<(Decision, Details)>,
    ) -> Vec<DecisionRecord> {
        let mut records = BTreeMap::new();
        let mut decided = BTreeSet::new();
        self.engine.drain_effects().for_each(drop);
        let mut to_decide = self.engine.queue().count(QueuePlace::Active);
        while to_decide > 0 {
            let Some((decision, details)) = next(&mut self.engine) else {
                break;
            };
            let rank = self.ranks.get(&decision.uid).copied();
            if let (Some(rank), true) = (rank, decision.outcome != Outcome::Suspended) {
                if decision.attempt == 1 {
                    to_decide -= 1;
                    decided.insert(rank);
                    if let Some(record) = self.record(&decision, details) {
                        records.insert(rank, record);
                    }
                }
                self.conclude(&decision, rank);
            } else {
                self.settle();
            }
        }
        for (rank, pod) in self.pending.iter().enumerate() {
            let place = self.engine.queue().place(&PodUid::of(pod));
            if place == Some(QueuePlace::Gated) && !decided.contains(&rank) {
                records.insert(rank, gated(pod));
            }
        }
        records.into_values().collect()
    }

    /// What the attempt means for the pods after it.
    fn conclude(&mut self, decision: &Decision, rank: usize) {
        let pod = Arc::clone(&self.pending[rank]);
        match &decision.outcome {
            Outcome::Scheduled { node } if !self.stateless => {
                self.settle();
                let bound = self.bound(&pod, node);
                self.engine
                    .handle(ClusterEvent::PodApplied(Arc::new(bound)));
            }
            // Its nomination counts for the pods after it.
            _ if decision.nominated_node.is_some() && !self.stateless => self.settle(),
            _ if self.stateless && is_nominated(&pod) => self.hold_room_for(pod),
            _ => self.engine.handle(ClusterEvent::PodDeleted(pod)),
        }
        self.engine.drain_effects().for_each(drop);
    }

    /// The nominations of the files count for every pod: one that had its turn stays, gated.
    fn hold_room_for(&mut self, pod: Arc<Pod>) {
        self.engine
            .handle(ClusterEvent::PodDeleted(Arc::clone(&pod)));
        let uid = PodUid::of(&pod);
        let mut held = Pod::clone(&pod);
        let name = "bayplan.dev/decided".to_owned();
        held.spec.scheduling_gates.push(SchedulingGate { name });
        self.engine.handle(ClusterEvent::PodApplied(Arc::new(held)));
        if self.engine.queue().place(&uid) != Some(QueuePlace::Gated) {
            self.engine.handle(ClusterEvent::PodDeleted(pod));
        }
    }

    /// Carries out what the engine wants done, at once and with success. Victims stay: somebody
    /// else would have to end them.
    fn settle(&mut self) {
        loop {
            let effects: Vec<_> = self.engine.drain_effects().collect();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                if let EffectAction::PatchStatus(patch) = &effect.action
                    && patch.nominated_node.as_deref() == Some("")
                {
                    self.withdraw_nomination(&effect.uid);
                }
                let outcome = match effect.action {
                    EffectAction::RecordEvent(_) => continue,
                    // Its profiles have no extenders.
                    EffectAction::Ask(_) => EffectOutcome::Superseded,
                    _ => EffectOutcome::Done {
                        resource_version: None,
                    },
                };
                let id = effect.id;
                self.engine
                    .handle(ClusterEvent::EffectCompleted { id, outcome });
            }
        }
    }

    /// A pod of a higher priority was given the node that the pod had been nominated for.
    fn withdraw_nomination(&mut self, uid: &PodUid) {
        let Some(rank) = self.ranks.get(uid) else {
            return;
        };
        let mut pod = Pod::clone(&self.pending[*rank]);
        pod.status.nominated_node_name = None;
        self.pending[*rank] = Arc::new(pod);
        let pod = Arc::clone(&self.pending[*rank]);
        self.engine.handle(ClusterEvent::PodApplied(pod));
    }

    /// `pod` as it runs on `node`, one second after the pod before it.
    fn bound(&mut self, pod: &Pod, node: &str) -> Pod {
        let mut bound = pod.clone();
        bound.spec.node_name = Some(node.to_owned());
        bound.status.phase = Some("Running".to_owned());
        let start = jiff::Timestamp::from_microsecond(self.next_start.as_micros());
        bound.status.start_time = start.ok().map(Time);
        self.next_start = self.next_start + Duration::from_secs(1);
        bound
    }

    fn record(&self, decision: &Decision, details: Details) -> Option<DecisionRecord> {
        let (outcome, node, message) = match &decision.outcome {
            Outcome::Scheduled { node } => (
                RecordOutcome::Scheduled,
                Some(node.to_string()),
                String::new(),
            ),
            Outcome::Unschedulable { message } => {
                (RecordOutcome::Unschedulable, None, message.clone())
            }
            Outcome::Error { message } => (RecordOutcome::Error, None, message.clone()),
            Outcome::Suspended | Outcome::Skipped => return None,
        };
        // Those that are on their way out already are not evicted again.
        let cache = self.engine.cache();
        let victims = decision
            .victims
            .iter()
            .filter(|uid| cache.pod(uid).is_none_or(|pod| !pod.is_terminating));
        let victims = victims.map(|uid| match self.keys.get(uid) {
            Some(key) => key.to_string(),
            None => uid.to_string(),
        });
        Some(DecisionRecord {
            pod: decision.pod.to_string(),
            outcome,
            node,
            feasible: details.feasible,
            best: details.best,
            scores: details.scores,
            rejections: details.rejections,
            message,
            nominated: decision.nominated_node.as_ref().map(ToString::to_string),
            victims: victims.collect(),
        })
    }
}

fn creation(pod: &Pod) -> Timestamp {
    let created = pod.metadata.creation_timestamp.as_ref();
    created.map(|time| time.0.into()).unwrap_or_default()
}

fn is_nominated(pod: &Pod) -> bool {
    let node = pod.status.nominated_node_name.as_deref();
    node.is_some_and(|node| !node.is_empty())
}

fn gated(pod: &Pod) -> DecisionRecord {
    let nominated = pod.status.nominated_node_name.clone();
    let details = Details::default();
    DecisionRecord {
        pod: PodKey::of(&pod.metadata).to_string(),
        outcome: RecordOutcome::Gated,
        node: None,
        feasible: details.feasible,
        best: details.best,
        scores: details.scores,
        rejections: details.rejections,
        message: GATED.to_owned(),
        nominated: nominated.filter(|name| !name.is_empty()),
        victims: BTreeSet::new(),
    }
}

fn no_pod_of_any_profile(pod: &Pod, choice: &Choice) -> SimError {
    SimError::NoPodOfAnyProfile {
        pod: PodKey::of(&pod.metadata).to_string(),
        scheduler_name: pod.profile_name().to_owned(),
        known: choice
            .profiles()
            .iter()
            .map(|profile| profile.scheduler_name.clone())
            .collect(),
    }
}
