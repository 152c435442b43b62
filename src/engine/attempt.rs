//! One attempt: pop a pod, run the cycle, apply what it found (`ScheduleOne`).

mod by_class;

use std::sync::Arc;

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::decision::{BEST_NODES_KEPT, Decision, Outcome};
use crate::engine::diagnosis::{Diagnosis, NO_NODES_AVAILABLE};
use crate::engine::effect::{EffectAction, EffectId, StatusPatch};
use crate::engine::framework::extender::Question;
use crate::engine::framework::extension_points::Refusal;
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{CycleState, PluginError, PluginName};
use crate::engine::queue::{Place, QueuePlugins, Rejectors};
use crate::engine::report::{FailureReason, Renomination};
use crate::engine::scheduling_cycle::{
    self, Begun, Choice, Cycle, Evaluation, Interruption, Nomination,
};
use crate::engine::{Activity, Engine};
use crate::model::pod_info::{PodInfo, PodUid};

/// What an attempt found, before it is applied: all there is to know about it.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The pod.
    pub pod: PodView<'a>,
    /// The cluster that was judged.
    pub cluster: Snapshot<'a>,
    /// What was found, or why nothing could be.
    pub result: Result<&'a Evaluation<'a>, &'a PluginError>,
}

/// What is left of an evaluation when the cache is let go.
enum Found {
    Node {
        node: Arc<str>,
        state: CycleState,
        summary: Summary,
    },
    NoFit {
        summary: Summary,
        nomination: Nomination,
    },
    NoNodes,
    Questions(Vec<Question>),
    Error(PluginError),
}

/// The compact part of an evaluation.
#[derive(Default)]
struct Summary {
    /// Nodes; 0 if the answer was read off what is kept of the class.
    looked_at: usize,
    feasible_count: usize,
    best: Vec<(Arc<str>, i64)>,
    diagnosis: Diagnosis,
    post_filters: Vec<PluginName>,
}

impl Engine {
    /// Runs one scheduling cycle, if a pod is ready. `inspect` sees what the cycle found before it
    /// is applied; every node is looked at for it.
    pub fn schedule_one_with(&mut self, inspect: impl FnMut(&Attempt<'_>)) -> Option<Decision> {
        self.attempt(false, inspect)
    }

    /// `by_class`: nodes need not be looked at that did not change since the last pod of the class.
    pub(super) fn attempt(
        &mut self,
        by_class: bool,
        inspect: impl FnMut(&Attempt<'_>),
    ) -> Option<Decision> {
        let uid = self.next_pod()?;
        let queued = self.queue.get(&uid)?;
        let (info, attempt) = (queued.info.clone(), queued.attempts);
        let profile = self.profiles.get(&info.scheduler_name).map(Arc::clone);
        let mut decision = Decision {
            pod: info.key.clone(),
            uid: uid.clone(),
            profile: Arc::clone(&info.scheduler_name),
            attempt,
            outcome: Outcome::Skipped,
            node_count: self.cache.nodes.len(),
            feasible_count: 0,
            best: Vec::new(),
            diagnosis: Diagnosis::default(),
            post_filters: Vec::new(),
            nominated_node: info.nominated_node.clone(),
            victims: Vec::new(),
            preemption: None,
        };
        let Some(profile) = profile.filter(|_| !info.is_terminating) else {
            self.skip(&uid, &info);
            return Some(decision);
        };
        if self.must_wait(&info, &profile) {
            decision.outcome = Outcome::Suspended;
            return Some(decision);
        }
        self.activity = Some(Activity::Deciding(info.key.clone(), uid));
        let class = if by_class {
            self.begin_class(&info, &profile)
        } else {
            None
        };
        let found = self.find_by_class(class, &info, &profile, attempt, inspect);
        if let Found::Node { summary, .. } | Found::NoFit { summary, .. } = &found {
            let next = self.next_start + summary.looked_at;
            self.next_start = next.checked_rem(self.cache.nodes.len()).unwrap_or(0);
        }
        self.apply(found, &info, profile, &mut decision);
        self.activity = None;
        Some(decision)
    }

    /// The pod that goes next; it is in flight.
    fn next_pod(&mut self) -> Option<PodUid> {
        while let Some(uid) = self.suspensions.next() {
            if self.queue.place(&uid) == Some(Place::InFlight) {
                return Some(uid);
            }
        }
        self.queue.pop(self.now)
    }

    /// Parks a pod that an extender is to be asked about while another one of its profile is.
    fn must_wait(&mut self, info: &PodInfo, profile: &Profile) -> bool {
        let pod = PodView::new(info, &self.cache.vocabulary);
        let mut extenders = profile.extenders.iter();
        if self.suspensions.contains(&info.uid)
            || !self.suspensions.is_busy(&profile.scheduler_name)
            || !extenders.any(|extender| extender.is_interested(&pod))
        {
            return false;
        }
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        let queued = queue.get(&info.uid).map(|pod| pod.timestamp);
        let key = plugins.sort_key(info, queued.unwrap_or(now));
        let name = Arc::clone(&profile.scheduler_name);
        self.suspensions.park(name, key, info.uid.clone());
        true
    }

    /// Sees to it that what the plugins are going to read about other pods is counted.
    fn count_terms(&mut self, info: &PodInfo, profile: &Profile) {
        let mut terms = Vec::new();
        let cluster = self.cache.snapshot();
        let pod = PodView::new(info, &self.cache.vocabulary);
        for reader in profile
            .plugins
            .iter()
            .filter_map(|plugin| plugin.as_topology_reader())
        {
            reader.counted_terms(&pod, &cluster, &mut terms);
        }
        for term in terms {
            self.cache.count_term(term);
        }
    }

    /// A pod that is being deleted is not scheduled (`skipPodSchedule`).
    /// Until it is gone it keeps the room that it was nominated for.
    fn skip(&mut self, uid: &PodUid, info: &PodInfo) {
        if info.is_terminating {
            self.report_terminating(info);
        }
        if info.is_terminating && self.cache.nominator.node_of(uid).is_some() {
            self.leave_queue(uid);
        } else {
            let held = self.cache.nominator.promise_to(uid);
            self.forget_pending(uid);
            self.promise_ended(uid, held);
        }
    }

    fn find(
        &self,
        info: &PodInfo,
        profile: &Profile,
        attempt: u32,
        class: Option<Begun<'_>>,
        mut inspect: impl FnMut(&Attempt<'_>),
    ) -> Found {
        let cluster = self.cache.snapshot();
        if cluster.is_empty() {
            return Found::NoNodes;
        }
        let pod = PodView::new(info, &self.cache.vocabulary);
        let resumed = self.suspensions.of(&info.uid);
        let (answers, start) = resumed.unwrap_or((&[], self.next_start));
        let (tie_break, seed) = (self.config.tie_break, self.config.seed);
        let cycle = Cycle {
            profile,
            observer: &*self.observer,
            cluster,
            pod,
            attempt,
            answers,
            earlier: self.earlier_preemptions(info, cluster),
            start,
            tie_break,
            seed,
        };
        match cycle.run(class) {
            Ok(scheduling_cycle::Found::Choice(choice)) => choice.into(),
            Ok(scheduling_cycle::Found::Evaluation(evaluation)) => {
                inspect(&Attempt {
                    pod,
                    cluster,
                    result: Ok(&evaluation),
                });
                Found::from(evaluation)
            }
            Err(Interruption::Failed(error)) => {
                inspect(&Attempt {
                    pod,
                    cluster,
                    result: Err(&error),
                });
                Found::Error(error)
            }
            Err(Interruption::Questions(questions)) => Found::Questions(questions),
        }
    }

    fn apply(
        &mut self,
        found: Found,
        info: &PodInfo,
        profile: Arc<Profile>,
        decision: &mut Decision,
    ) {
        if let Found::Questions(questions) = found {
            let (uid, name) = (info.uid.clone(), Arc::clone(&profile.scheduler_name));
            let asked: Vec<EffectId> = questions
                .into_iter()
                .map(|question| self.effects.emit(info, EffectAction::Ask(question)))
                .collect();
            self.suspensions.suspend(uid, name, self.next_start, asked);
            decision.outcome = Outcome::Suspended;
            return;
        }
        self.suspensions.end(&info.uid);
        match found {
            Found::Node {
                node,
                state,
                summary,
            } => {
                decision.summarize(summary);
                decision.outcome = match self.assume(info, profile, Arc::clone(&node), state) {
                    Ok(()) => Outcome::Scheduled { node },
                    Err(refusal) => self.refuse(info, refusal, decision),
                };
            }
            Found::NoFit {
                summary,
                nomination,
            } => {
                decision.summarize(summary);
                self.nominate_anew(info, nomination, decision);
                decision.outcome = self.fit_nowhere(info, decision);
                self.go_on_evicting();
            }
            Found::NoNodes => {
                let message = NO_NODES_AVAILABLE.to_owned();
                decision.nominated_node = None;
                let rejectors = Rejectors::error();
                self.fail(
                    info,
                    rejectors,
                    FailureReason::Unschedulable,
                    &message,
                    decision,
                );
                decision.outcome = Outcome::Unschedulable { message };
            }
            Found::Error(error) => {
                decision.outcome = self.refuse(info, Refusal::Failed(error), decision);
            }
            Found::Questions(_) => {}
        }
    }

    /// What the attempt means for the nomination of the pod, and for those who are to go for it.
    fn nominate_anew(&mut self, info: &PodInfo, nomination: Nomination, decision: &mut Decision) {
        match nomination {
            Nomination::Kept => {
                self.await_victims_of_others(info);
                // The object of the pod may not name the node yet where room is being made.
                if let Some(node) = self.cache.preemptions.node_of(&info.uid) {
                    decision.nominated_node = Some(Arc::clone(node));
                }
            }
            Nomination::Cleared => {
                self.cache.preemptions.end(&info.uid);
                decision.nominated_node = None;
            }
            Nomination::For(plan) => {
                self.withdraw_lesser_nominations(info, &plan.node);
                self.begin_preemption(info, &plan);
                decision.nominated_node = Some(plan.node);
                decision.victims = plan.victims;
                decision.preemption = plan.choice;
            }
        }
    }

    /// Pods of a lower priority that are nominated for the node may not fit there any more and
    /// should look for another one (`clearNominatedNodeName`).
    fn withdraw_lesser_nominations(&mut self, info: &PodInfo, node: &str) {
        let nominated = self.cache.nominator.on(node).iter();
        let lesser: Vec<PodInfo> = nominated
            .filter(|pod| pod.priority < info.priority && pod.nominated_node.is_some())
            .filter(|pod| self.profiles.get(&pod.scheduler_name).is_some())
            .cloned()
            .collect();
        for pod in lesser {
            let patch = StatusPatch {
                condition: None,
                nominated_node: Some(Arc::from("")),
            };
            self.effects.tell(&pod, EffectAction::PatchStatus(patch));
        }
    }

    /// The attempt ended on the way from a chosen node to the binding, or with an error.
    fn refuse(&mut self, info: &PodInfo, refusal: Refusal, decision: &mut Decision) -> Outcome {
        decision.nominated_node = None;
        match refusal {
            Refusal::Rejected(rejection) => {
                decision.diagnosis = Diagnosis::of_chosen_node(&rejection);
                self.fit_nowhere(info, decision)
            }
            Refusal::Failed(error) => {
                let message = error.to_string();
                let reason = FailureReason::SchedulerError;
                self.fail(info, Rejectors::error(), reason, &message, decision);
                Outcome::Error { message }
            }
        }
    }

    /// Back to the queue with what the diagnosis says.
    fn fit_nowhere(&mut self, info: &PodInfo, decision: &Decision) -> Outcome {
        let message = decision.diagnosis.to_string();
        let rejectors = Rejectors::of(&decision.diagnosis);
        let reason = FailureReason::Unschedulable;
        self.fail(info, rejectors, reason, &message, decision);
        Outcome::Unschedulable { message }
    }

    /// Back to the queue with the reason (`handleSchedulingFailure`).
    fn fail(
        &mut self,
        info: &PodInfo,
        rejectors: Rejectors,
        reason: FailureReason,
        message: &str,
        decision: &Decision,
    ) {
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        queue.requeue(now, &info.uid, rejectors, &plugins);
        let promised = self.cache.nominator.promise_to(&info.uid);
        // At once, since the next attempt comes before the pod's object says so.
        self.cache.nominate(info, decision.nominated_node.clone());
        self.promise_ended(&info.uid, promised.clone());
        let nominated = Renomination {
            promised: promised.map(|promise| promise.node),
            node: decision.nominated_node.clone(),
        };
        self.report_failure(info, reason, message, &nominated);
    }
}

impl Decision {
    fn summarize(&mut self, summary: Summary) {
        self.feasible_count = summary.feasible_count;
        self.best = summary.best;
        self.diagnosis = summary.diagnosis;
        self.post_filters = summary.post_filters;
    }
}

impl From<Choice<'_>> for Found {
    fn from(choice: Choice<'_>) -> Self {
        let node = Arc::clone(choice.node.name());
        Self::Node {
            summary: Summary {
                feasible_count: choice.feasible_count,
                best: vec![(Arc::clone(&node), choice.total)],
                ..Summary::default()
            },
            node,
            state: choice.state,
        }
    }
}

impl From<Evaluation<'_>> for Found {
    fn from(evaluation: Evaluation<'_>) -> Self {
        let mut best: Vec<(Arc<str>, i64)> = evaluation
            .feasible
            .iter()
            .zip(
                evaluation
                    .totals
                    .iter()
                    .copied()
                    .chain(std::iter::repeat(0)),
            )
            .map(|(node, total)| (Arc::clone(node.name()), total))
            .collect();
        let order =
            |a: &(Arc<str>, i64), b: &(Arc<str>, i64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if best.len() > BEST_NODES_KEPT {
            best.select_nth_unstable_by(BEST_NODES_KEPT, order);
            best.truncate(BEST_NODES_KEPT);
        }
        best.sort_unstable_by(order);
        let chosen = evaluation
            .chosen
            .map(|index| Arc::clone(evaluation.feasible[index].name()));
        let summary = Summary {
            looked_at: evaluation.looked_at,
            feasible_count: evaluation.feasible.len(),
            best,
            diagnosis: evaluation.diagnosis,
            post_filters: evaluation.post_filters,
        };
        match chosen {
            Some(node) => Self::Node {
                node,
                state: evaluation.state,
                summary,
            },
            None => Self::NoFit {
                summary,
                nomination: evaluation.nomination,
            },
        }
    }
}
