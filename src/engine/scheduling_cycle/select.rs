//! Which of the best nodes is taken (`selectHost`).

use crate::engine::cache::tie_break::{TieBreak, ring_distance, ring_position};
use crate::engine::scheduling_cycle::{Cycle, Evaluation};

impl<'a> Cycle<'a> {
    /// The index of the node that is taken: the greatest total; among equals the first on the ring
    /// at or after the pod, or the first name.
    pub(super) fn select(&self, evaluation: &Evaluation<'a>) -> Option<usize> {
        let greatest = evaluation.totals.iter().max()?;
        let tied = (0..evaluation.feasible.len()).filter(|i| evaluation.totals[*i] == *greatest);
        match self.tie_break {
            TieBreak::Name => tied.min_by_key(|i| evaluation.feasible[*i].name()),
            TieBreak::Seeded => {
                let pod = ring_position(self.seed, &self.pod.info.uid.0);
                tied.min_by_key(|i| {
                    let node = &evaluation.feasible[*i];
                    (ring_distance(pod, node.ring_position()), node.name())
                })
            }
        }
    }
}
