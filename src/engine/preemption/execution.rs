//! Carries preemptions out: one effect a victim, or a pod that is called back on its way.

use std::collections::BTreeSet;

use crate::engine::effect::{EffectAction, EffectId, EffectOutcome, FailureKind};
use crate::engine::preemption::{Evicted, Eviction, Preemptions};
use crate::engine::report::{eviction, preempted};
use crate::engine::scheduling_cycle::PlannedPreemption;
use crate::engine::{EndedPreemption, Engine};
use crate::model::pod_info::{PodInfo, PodUid};

// === impl Preemptions ===

impl Preemptions {
    /// Whether `id` is the eviction of the pod.
    pub(crate) fn is_eviction(&self, victim: &PodUid, id: EffectId) -> bool {
        self.under_way
            .get(victim)
            .is_some_and(|eviction| eviction.id == id)
    }
}

// === impl Engine ===

impl Engine {
    /// From now on the pod waits for room on the node of `plan`. The evictions begin with
    /// [`Self::go_on_evicting`], when the pod is back in the queue.
    pub(in crate::engine) fn begin_preemption(&mut self, info: &PodInfo, plan: &PlannedPreemption) {
        let known: Vec<(PodUid, bool)> = plan
            .victims
            .iter()
            .filter_map(|uid| Some((uid.clone(), self.cache.pod(uid)?.is_terminating)))
            .collect();
        let of = |wanted: bool| -> Vec<PodUid> {
            let pods = known.iter().filter(|(_, going)| *going == wanted);
            pods.map(|(uid, _)| uid.clone()).collect()
        };
        let (victims, going) = (of(false), of(true));
        if victims.is_empty() && going.is_empty() {
            self.cache.preemptions.end(&info.uid);
            return;
        }
        if !victims.is_empty() {
            let stayed = self.pods_beside(plan);
            let history = &mut self.cache.preemptions.history;
            let (node, refused) = (&plan.node, plan.refused.as_ref());
            history.note(&info.uid, node, refused, stayed, self.now);
        }
        let (node, now) = (plan.node.clone(), self.now);
        let preemptions = &mut self.cache.preemptions;
        preemptions.begin(&info.uid, (node, plan.plugin), &victims, &going, now);
        self.note_graces(&going);
    }

    /// The pods on the node that are not to go.
    fn pods_beside(&self, plan: &PlannedPreemption) -> BTreeSet<PodUid> {
        let cluster = self.cache.snapshot();
        let Some(node) = cluster.node(&plan.node) else {
            return BTreeSet::new();
        };
        let pods = node.pods().map(|pod| &pod.info.uid);
        pods.filter(|uid| !plan.victims.contains(uid))
            .cloned()
            .collect()
    }

    /// A pod keeps its nomination because victims on the node are on their way out. If they were
    /// evicted by an earlier leader, they are awaited from now on.
    pub(in crate::engine) fn await_victims_of_others(&mut self, info: &PodInfo) {
        let Some(node) = &info.nominated_node else {
            return;
        };
        if self.cache.preemptions.is_known(&info.uid) {
            return;
        }
        let cluster = self.cache.snapshot();
        let pods = cluster.node(node).into_iter().flat_map(|node| node.pods());
        let going: Vec<PodUid> = pods
            .filter(|pod| pod.info.is_preempted && pod.info.priority < info.priority)
            .map(|pod| pod.info.uid.clone())
            .collect();
        if going.is_empty() {
            return;
        }
        let (node, now) = (node.clone(), self.now);
        let preemptions = &mut self.cache.preemptions;
        preemptions.begin(&info.uid, (node, ""), &[], &going, now);
        self.note_graces(&going);
    }

    fn note_graces(&mut self, going: &[PodUid]) {
        for victim in going {
            let gone_by = self.cache.pod(victim).and_then(|pod| pod.gone_by);
            self.cache.preemptions.victim_going(victim, gone_by);
        }
    }

    /// Sends evictions as long as more may be under way.
    pub(in crate::engine) fn go_on_evicting(&mut self) {
        while let Some((preemptor, victim)) = self.cache.preemptions.next_eviction() {
            self.evict(&preemptor, &victim);
        }
    }

    fn evict(&mut self, preemptor: &PodUid, victim: &PodUid) {
        let preemptions = &mut self.cache.preemptions;
        if let Some(under_way) = preemptions.under_way.get_mut(victim) {
            under_way.waited_for_by.insert(preemptor.clone());
            return;
        }
        let Some((node, plugin)) = preemptions.node_and_plugin(preemptor) else {
            return;
        };
        let Some(queued) = self.queue.get(preemptor) else {
            preemptions.end(preemptor);
            return;
        };
        let going = self
            .cache
            .pod(victim)
            .filter(|pod| !pod.is_terminating && pod.node_name.as_ref() == Some(&node));
        let Some(info) = going else {
            return self.evicted(preemptor, victim, Evicted::Going);
        };
        let (info, preemptor_info) = (info.clone(), queued.info.clone());
        if self.call_back(victim, plugin) {
            let event = preempted(&preemptor_info, &node, true);
            self.effects.tell(&info, EffectAction::RecordEvent(event));
            return self.evicted(preemptor, victim, Evicted::CalledBack);
        }
        let action = EffectAction::Evict(eviction(&info, &preemptor_info));
        let eviction = Eviction {
            id: self.effects.emit(&info, action),
            event: preempted(&preemptor_info, &node, false),
            victim: info,
            waited_for_by: BTreeSet::from([preemptor.clone()]),
        };
        let under_way = &mut self.cache.preemptions.under_way;
        under_way.insert(victim.clone(), eviction);
    }

    /// The eviction of `victim` was carried out, or was not.
    pub(in crate::engine) fn eviction_completed(
        &mut self,
        victim: &PodUid,
        outcome: &EffectOutcome,
    ) {
        let Some(eviction) = self.cache.preemptions.under_way.remove(victim) else {
            return;
        };
        let how = match outcome {
            EffectOutcome::Done { .. } | EffectOutcome::Written(_) => {
                let event = EffectAction::RecordEvent(eviction.event);
                self.effects.tell(&eviction.victim, event);
                Evicted::Going
            }
            EffectOutcome::Failed(failure) if failure.kind == FailureKind::Gone => Evicted::Going,
            EffectOutcome::Failed(failure) if failure.kind == FailureKind::Refused => {
                Evicted::Refused
            }
            EffectOutcome::Failed(_) | EffectOutcome::Answered(_) | EffectOutcome::Superseded => {
                Evicted::Failed
            }
        };
        for preemptor in eviction.waited_for_by {
            self.evicted(&preemptor, victim, how);
        }
        self.go_on_evicting();
    }

    fn evicted(&mut self, preemptor: &PodUid, victim: &PodUid, how: Evicted) {
        let Some(finished) = self.cache.preemptions.evicted(preemptor, victim, how) else {
            return;
        };
        self.observations.preemptions.push(EndedPreemption {
            succeeded: finished.succeeded,
            duration: self.now.since(finished.started),
        });
        let preemptor = std::slice::from_ref(preemptor);
        if !finished.succeeded {
            self.wake_after_backoff(preemptor);
        } else if finished.is_last {
            self.activate_waiting(preemptor);
        }
    }
}
