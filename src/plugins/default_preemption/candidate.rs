//! A node that evictions make fit, and which of several is best (`pickOneNodeForPreemption`).

use std::cmp::Reverse;
use std::sync::Arc;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::preemption_choice::{
    NOT_STARTED, PreemptionChoice, PreemptionCriteria,
};
use crate::model::timestamp::Timestamp;

/// A node on which the pod fits without the victims.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) node: NodeView<'a>,
    /// At least one; the most important first.
    pub(super) victims: Vec<PodView<'a>>,
    /// How many of them a budget protects.
    pub(super) violations: usize,
}

/// The best candidate, the first of equals, and what speaks for it.
pub(super) fn best(candidates: Vec<Candidate<'_>>) -> Option<(Candidate<'_>, PreemptionChoice)> {
    let count = candidates.len();
    let mut judged = candidates
        .into_iter()
        .map(|candidate| (candidate.criteria(), candidate));
    let mut best = judged.next()?;
    let mut runner_up: Option<(PreemptionCriteria, Candidate<'_>)> = None;
    for other in judged {
        let loser = if other.0 < best.0 {
            std::mem::replace(&mut best, other)
        } else {
            other
        };
        if runner_up.as_ref().is_none_or(|known| loser.0 < known.0) {
            runner_up = Some(loser);
        }
    }
    let (criteria, candidate) = best;
    let choice = PreemptionChoice {
        criteria,
        runner_up: runner_up.map(|(criteria, other)| (Arc::clone(other.node.name()), criteria)),
        candidates: count,
    };
    Some((candidate, choice))
}

/// When the pod started.
pub(super) fn start(pod: &PodView<'_>) -> Timestamp {
    pod.info.started.unwrap_or(NOT_STARTED)
}

impl Candidate<'_> {
    fn criteria(&self) -> PreemptionCriteria {
        let highest = self.victims.iter().map(|pod| pod.info.priority).max();
        let highest = highest.unwrap_or(i32::MIN);
        // Made positive, so that few pods of a negative priority beat many.
        let weight = |pod: &PodView<'_>| i64::from(pod.info.priority) - i64::from(i32::MIN);
        let longest = self
            .victims
            .iter()
            .filter(|pod| pod.info.priority == highest)
            .map(start)
            .min();
        PreemptionCriteria {
            violations: self.violations,
            highest_priority: highest,
            priority_sum: self.victims.iter().map(weight).sum(),
            victims: self.victims.len(),
            longest_running: Reverse(longest.unwrap_or(NOT_STARTED)),
        }
    }
}
