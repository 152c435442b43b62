//! A node that evictions make fit, and which of several is best (`pickOneNodeForPreemption`).

use std::cmp::Reverse;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::model::timestamp::Timestamp;

/// Later than every start: pods that have not started yet count as started now
/// (`GetPodStartTime`).
const NOT_STARTED: Timestamp = Timestamp::from_micros(i64::MAX);

/// A node on which the pod fits without the victims.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) node: NodeView<'a>,
    /// At least one; the most important first.
    pub(super) victims: Vec<PodView<'a>>,
    /// How many of them a budget protects.
    pub(super) violations: usize,
}

/// The smaller, the better: protected victims, the highest priority, the sum of all, how many; the
/// one that ran longest among the highest should have run as shortly as possible.
type Cost = (usize, i32, i64, usize, Reverse<Timestamp>);

/// The best candidate; the first of equals.
pub(super) fn best(candidates: Vec<Candidate<'_>>) -> Option<Candidate<'_>> {
    candidates.into_iter().min_by_key(Candidate::cost)
}

/// When the pod started.
pub(super) fn start(pod: &PodView<'_>) -> Timestamp {
    pod.info.started.unwrap_or(NOT_STARTED)
}

impl Candidate<'_> {
    fn cost(&self) -> Cost {
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
        (
            self.violations,
            highest,
            self.victims.iter().map(weight).sum(),
            self.victims.len(),
            Reverse(longest.unwrap_or(NOT_STARTED)),
        )
    }
}
