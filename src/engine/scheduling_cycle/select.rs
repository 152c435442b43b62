//! Which of the best nodes is taken (`selectHost`).

use crate::engine::cache::tie_break::TieOrder;
use crate::engine::scheduling_cycle::{Cycle, Evaluation};

impl<'a> Cycle<'a> {
    /// The index of the node that is taken: the greatest total; among equals the first on the ring
    /// at or after the pod, or the first name.
    pub(super) fn select(&self, evaluation: &Evaluation<'a>) -> Option<usize> {
        let greatest = evaluation.totals.iter().max()?;
        let tied = (0..evaluation.feasible.len()).filter(|i| evaluation.totals[*i] == *greatest);
        let order = TieOrder::new(self.tie_break, self.seed, &self.pod.info.uid);
        tied.min_by_key(|i| order.rank(&evaluation.feasible[*i]))
    }
}
