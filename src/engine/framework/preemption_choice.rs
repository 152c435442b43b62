//! Why a node and its victims were chosen: what a decision carries to explain an eviction.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use crate::model::timestamp::Timestamp;

/// A node on which evictions make room, beside the best one that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptionChoice {
    /// By what the node was chosen.
    pub criteria: PreemptionCriteria,
    /// The best of the other nodes, if there was one.
    pub runner_up: Option<(Arc<str>, PreemptionCriteria)>,
    /// On how many nodes evictions would have helped, as far as nodes were looked at.
    pub candidates: usize,
}

/// What nodes are compared by, in this order; the less, the better
/// (`pickOneNodeForPreemption`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PreemptionCriteria {
    /// Victims whose eviction a disruption budget does not allow.
    pub violations: usize,
    /// The highest priority among the victims.
    pub highest_priority: i32,
    /// The sum of all priorities, each counted from the least possible one.
    pub priority_sum: i64,
    /// How many victims.
    pub victims: usize,
    /// The start of the victim that ran longest among those of the highest priority: the later,
    /// the better. The end of time if none has started.
    pub longest_running: Reverse<Timestamp>,
}

impl fmt::Display for PreemptionCriteria {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "budget violations {}, highest priority {}, sum of priorities {}, victims {}",
            self.violations, self.highest_priority, self.priority_sum, self.victims
        )?;
        match self.longest_running.0 {
            NOT_STARTED => Ok(()),
            started => {
                let started = jiff::Timestamp::from_microsecond(started.as_micros());
                write!(f, ", longest running since {}", started.unwrap_or_default())
            }
        }
    }
}

/// Later than every start: pods that have not started yet count as started now
/// (`GetPodStartTime`).
pub const NOT_STARTED: Timestamp = Timestamp::from_micros(i64::MAX);
