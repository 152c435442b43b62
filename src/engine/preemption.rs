//! Preemptions under way: what becomes of a nomination and of the evictions for it.
//!
//! ```text
//!           ┌─ victims but the last ─▶ Evicting ─▶ EvictingLast ─┐
//!  decided ─┤                                                    ├─▶ Draining ─▶ (over)
//!           └─ all are on their way out already ─────────────────┘      │
//!                                                                       └─ too long ─▶ Overdue
//! ```
//!
//! The last victim goes after the others, so that its deletion is what wakes the preemptor, which
//! is held at `PreEnqueue` until then. Every state has these exits, too: an eviction fails, the
//! preemptor is deleted, changed or placed, its node is gone or changed. What was not sent then
//! never is, and the preemptor is tried again. Nothing is kept anywhere else: a new leader goes on
//! from `status.nominatedNodeName` and from the victims that are on their way out.
//!
//! Mirrors `pkg/scheduler/framework/preemption/executor.go`, asynchronous as in 1.37.

mod execution;
mod history;
mod view;
mod wake;

pub(super) use view::{PreemptionView, RememberedView, StageView};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::effect::{EffectId, EventRecord};
use crate::engine::framework::PluginName;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

use history::History;

/// Evictions under way at most: half of the dispatcher's calls, so that bindings go on.
const EVICTIONS_MAX: usize = 32;

/// How long after the end of its grace period a victim may still be there. A node that answers
/// ends its pods within seconds; five minutes is what node failures are given everywhere else in
/// Kubernetes (`--default-unreachable-toleration-seconds`).
const OVERDUE_AFTER: Duration = Duration::from_mins(5);

/// When a victim is expected to be gone whose deletion the watch has not shown yet
/// (`DefaultTerminationGracePeriodSeconds`).
const GRACE: Duration = Duration::from_secs(30);

/// How long the disruption controller may take until the status of a budget tells of an eviction.
/// It does within seconds where it is not overwhelmed.
const STATUS_LAG: Duration = Duration::from_mins(1);

/// All preemptions that are not over, and what is remembered of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Preemptions {
    by_preemptor: BTreeMap<PodUid, Preemption>,
    /// The preemptors that wait for each victim.
    by_victim: BTreeMap<PodUid, BTreeSet<PodUid>>,
    /// Preemptor and victim of evictions that wait for their turn.
    waiting: VecDeque<(PodUid, PodUid)>,
    /// Evictions under way, by victim.
    under_way: BTreeMap<PodUid, Eviction>,
    history: History,
    /// When it was last decided to evict somebody.
    last: Option<Timestamp>,
}

/// A pod for which others go.
#[derive(Debug)]
struct Preemption {
    node: Arc<str>,
    /// Who chose the node; nobody that this engine knows if it is empty.
    plugin: PluginName,
    /// Who is yet to go.
    victims: BTreeSet<PodUid>,
    /// When the grace period of all victims is over, as far as it is known.
    gone_by: Timestamp,
    started: Timestamp,
    stage: Stage,
}

/// How far a preemption has come.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// These are being evicted, and another one after them. Exits: all done; one fails.
    Evicting {
        left: BTreeSet<PodUid>,
        last: PodUid,
    },
    /// The last one is being evicted, or known to be on its way out. Exits: done; fails.
    EvictingLast { last: PodUid, is_going: bool },
    /// All were evicted, and some are still there. Exits: all gone; too long.
    Draining,
    /// Some are there that should have gone long ago. Exits: all gone; the preemptor finds another
    /// node, or none.
    Overdue,
}

/// An eviction that was sent.
#[derive(Debug)]
struct Eviction {
    id: EffectId,
    /// Its victim, which may be gone before the answer comes.
    victim: PodInfo,
    /// What is to be said of it.
    event: EventRecord,
    /// Everybody who waits for it.
    waited_for_by: BTreeSet<PodUid>,
}

/// How an eviction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evicted {
    /// The victim is on its way out, or gone.
    Going,
    /// It was called back on its way to the node, and is gone from there.
    CalledBack,
    /// The server will not have it evicted.
    Refused,
    /// It was not evicted for another reason.
    Failed,
}

/// The evictions of a preemption are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Finished {
    started: Timestamp,
    succeeded: bool,
    /// No deletion will wake the preemptor.
    is_last: bool,
}

// === impl Preemptions ===

impl Preemptions {
    /// Whether the pod waits until its victims are on their way out (`IsPodRunningPreemption`).
    pub(crate) fn is_evicting(&self, preemptor: &PodUid) -> bool {
        let preemption = self.by_preemptor.get(preemptor);
        preemption.is_some_and(|preemption| match preemption.stage {
            Stage::Evicting { .. } => true,
            Stage::EvictingLast { is_going, .. } => !is_going,
            Stage::Draining | Stage::Overdue => false,
        })
    }

    /// Whether the pod is to go, or about to be gone, for somebody who waits for that.
    pub(crate) fn is_victim(&self, pod: &PodUid) -> bool {
        self.by_victim.contains_key(pod)
    }

    /// Whether nothing is under way and nothing is remembered.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_preemptor.is_empty()
            && self.by_victim.is_empty()
            && self.waiting.is_empty()
            && self.under_way.is_empty()
            && self.history.next_expiry().is_none()
    }

    /// The eviction of `victim` that is under way.
    #[cfg(test)]
    pub(crate) fn eviction_of(&self, victim: &PodUid) -> Option<EffectId> {
        self.under_way.get(victim).map(|eviction| eviction.id)
    }

    /// When victims are overdue that are still awaited, or something remembered is forgotten.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        let draining = self.by_preemptor.values();
        let overdue = draining
            .filter(|preemption| preemption.stage == Stage::Draining)
            .map(|preemption| preemption.gone_by + OVERDUE_AFTER);
        overdue.chain(self.history.next_expiry()).min()
    }

    /// `preemptor` is nominated for `node`: `victims`, the most important first, are to be
    /// evicted, and others there are `going` already.
    fn begin(
        &mut self,
        preemptor: &PodUid,
        (node, plugin): (Arc<str>, PluginName),
        victims: &[PodUid],
        going: &[PodUid],
        now: Timestamp,
    ) {
        self.end(preemptor);
        if !victims.is_empty() {
            self.last = Some(now);
        }
        let (stage, first) = match victims {
            [] => (Stage::Draining, &[][..]),
            [last] => (last_stage(last), victims),
            [others @ .., last] => {
                let (left, last) = (others.iter().cloned().collect(), last.clone());
                (Stage::Evicting { left, last }, others)
            }
        };
        let all: BTreeSet<PodUid> = victims.iter().chain(going).cloned().collect();
        for victim in &all {
            let preemptors = self.by_victim.entry(victim.clone()).or_default();
            preemptors.insert(preemptor.clone());
        }
        let waiting = first
            .iter()
            .map(|victim| (preemptor.clone(), victim.clone()));
        self.waiting.extend(waiting);
        let preemption = Preemption {
            node,
            plugin,
            victims: all,
            gone_by: now + GRACE,
            started: now,
            stage,
        };
        self.by_preemptor.insert(preemptor.clone(), preemption);
    }

    /// The preemption ends here, wherever it is: what was not sent never is. Tells whether there
    /// was one.
    pub(crate) fn end(&mut self, preemptor: &PodUid) -> bool {
        let Some(preemption) = self.by_preemptor.remove(preemptor) else {
            return false;
        };
        for victim in &preemption.victims {
            self.forget_victim(victim, preemptor);
        }
        self.waiting.retain(|(other, _)| other != preemptor);
        for eviction in self.under_way.values_mut() {
            eviction.waited_for_by.remove(preemptor);
        }
        true
    }

    fn forget_victim(&mut self, victim: &PodUid, preemptor: &PodUid) {
        if let Some(preemptors) = self.by_victim.get_mut(victim) {
            preemptors.remove(preemptor);
            if preemptors.is_empty() {
                self.by_victim.remove(victim);
            }
        }
    }

    /// The next eviction to send, if another one may be under way.
    fn next_eviction(&mut self) -> Option<(PodUid, PodUid)> {
        if self.under_way.len() >= EVICTIONS_MAX {
            return None;
        }
        self.waiting.pop_front()
    }

    /// The eviction of `victim` for `preemptor` ended. Tells if that was all.
    fn evicted(&mut self, preemptor: &PodUid, victim: &PodUid, how: Evicted) -> Option<Finished> {
        let preemption = self.by_preemptor.get_mut(preemptor)?;
        let started = preemption.started;
        if matches!(how, Evicted::Refused | Evicted::Failed) {
            if how == Evicted::Failed {
                let node = Arc::clone(&preemption.node);
                self.history.not_tried(preemptor, &node);
            }
            self.end(preemptor);
            return Some(Finished {
                started,
                succeeded: false,
                is_last: true,
            });
        }
        if how == Evicted::CalledBack {
            preemption.victims.remove(victim);
            self.forget_victim(victim, preemptor);
        }
        let preemption = self.by_preemptor.get_mut(preemptor)?;
        match &mut preemption.stage {
            Stage::Evicting { left, last } => {
                left.remove(victim);
                if left.is_empty() {
                    let last = last.clone();
                    preemption.stage = last_stage(&last);
                    self.waiting.push_back((preemptor.clone(), last));
                }
                None
            }
            Stage::EvictingLast { last, .. } if last == victim => {
                preemption.stage = Stage::Draining;
                let is_last = how == Evicted::CalledBack || preemption.victims.is_empty();
                if preemption.victims.is_empty() {
                    self.over(preemptor);
                }
                Some(Finished {
                    started,
                    succeeded: true,
                    is_last,
                })
            }
            Stage::EvictingLast { .. } | Stage::Draining | Stage::Overdue => None,
        }
    }

    /// The watch says that the pod is being deleted, and until when it should be gone.
    pub(crate) fn victim_going(&mut self, victim: &PodUid, gone_by: Option<Timestamp>) {
        for preemptor in self.by_victim.get(victim).into_iter().flatten() {
            let Some(preemption) = self.by_preemptor.get_mut(preemptor) else {
                continue;
            };
            preemption.gone_by = preemption.gone_by.max(gone_by.unwrap_or_default());
            if let Stage::EvictingLast { last, is_going } = &mut preemption.stage
                && last == victim
            {
                *is_going = true;
            }
        }
    }

    /// The pod is gone from its node. Gives the preemptors that wait for nobody else.
    #[must_use = "they must be woken"]
    pub(crate) fn victim_gone(&mut self, victim: &PodUid) -> Vec<PodUid> {
        self.victim_going(victim, None);
        let mut over = Vec::new();
        for preemptor in self.by_victim.remove(victim).unwrap_or_default() {
            let Some(preemption) = self.by_preemptor.get_mut(&preemptor) else {
                continue;
            };
            preemption.victims.remove(victim);
            let drained = matches!(preemption.stage, Stage::Draining | Stage::Overdue);
            if drained && preemption.victims.is_empty() {
                self.over(&preemptor);
                over.push(preemptor);
            }
        }
        over
    }

    /// All victims are gone.
    fn over(&mut self, preemptor: &PodUid) {
        if let Some(preemption) = self.by_preemptor.remove(preemptor) {
            self.history.room_made(preemptor, &preemption.node);
        }
    }

    /// The node on which room is made for the pod.
    pub(crate) fn node_of(&self, preemptor: &PodUid) -> Option<&Arc<str>> {
        let preemption = self.by_preemptor.get(preemptor)?;
        Some(&preemption.node)
    }

    /// Whether a preemption for the pod is not over.
    fn is_known(&self, preemptor: &PodUid) -> bool {
        self.by_preemptor.contains_key(preemptor)
    }

    /// The node on which room is made for the pod, and who chose it.
    fn node_and_plugin(&self, preemptor: &PodUid) -> Option<(Arc<str>, PluginName)> {
        let preemption = self.by_preemptor.get(preemptor)?;
        Some((Arc::clone(&preemption.node), preemption.plugin))
    }

    /// The node on which victims of the pod are yet to go, unless they are overdue.
    fn drains(&self, preemptor: &PodUid) -> Option<&Arc<str>> {
        let preemption = self.by_preemptor.get(preemptor)?;
        (preemption.stage != Stage::Overdue).then_some(&preemption.node)
    }

    /// Preemptors whose victims are overdue from now on.
    fn expire(&mut self, now: Timestamp) -> Vec<PodUid> {
        let mut overdue = Vec::new();
        for (preemptor, preemption) in &mut self.by_preemptor {
            let is_late = preemption.gone_by + OVERDUE_AFTER <= now;
            if preemption.stage == Stage::Draining && is_late {
                preemption.stage = Stage::Overdue;
                self.history.overdue(preemptor, &preemption.node, now);
                overdue.push(preemptor.clone());
            }
        }
        overdue
    }
}

fn last_stage(last: &PodUid) -> Stage {
    Stage::EvictingLast {
        last: last.clone(),
        is_going: false,
    }
}
