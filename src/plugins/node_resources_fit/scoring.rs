//! The three strategies that score by requested resources, and what they are computed from
//! (`resourceAllocationScorer`).

use smallvec::SmallVec;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::extension_points::MAX_NODE_SCORE;
use crate::model::resources::Resource;

/// The greatest utilisation of a shape, in percent (`maxUtilization`).
const MAX_UTILIZATION: i64 = 100;

/// The resources that count, each with its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceWeights(pub(crate) Box<[(Resource, i64)]>);

/// Which requests of pods are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodAmount {
    /// With defaults for containers that request nothing.
    NonZero,
    /// As requested.
    Requested,
}

/// A resource on a node that has some of it and whose pod counts for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    /// What the pods on the node have.
    pub(crate) allocated: i64,
    /// The same with the pod.
    pub(crate) requested: i64,
    /// What there is in whole, not 0.
    pub(crate) allocatable: i64,
    /// What the resource counts.
    pub(crate) weight: i64,
}

/// How amounts become a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The emptier the better.
    LeastAllocated,
    /// The fuller the better.
    MostAllocated,
    /// As drawn: points (utilisation in percent, score 0..=100), utilisation ascending.
    RequestedToCapacityRatio(Box<[(i64, i64)]>),
}

impl ResourceWeights {
    /// The amounts on one node. Left out: resources that the node has none of, and scalar ones
    /// that the pod does not request.
    pub(crate) fn amounts(
        &self,
        which: PodAmount,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> SmallVec<[Amount; 2]> {
        let mut amounts = SmallVec::new();
        for &(resource, weight) in &self.0 {
            let wanted = pod_request(which, resource, pod);
            if wanted == 0 && matches!(resource, Resource::Scalar(_)) {
                continue;
            }
            let allocatable = node.allocatable_of(resource);
            let allocated = node_request(which, resource, node);
            if allocatable != 0 {
                amounts.push(Amount {
                    allocated,
                    requested: allocated.saturating_add(wanted),
                    allocatable,
                    weight,
                });
            }
        }
        amounts
    }

    /// Whether the pod requests none of the resources (`isBestEffortPod`).
    pub(crate) fn is_best_effort(&self, pod: &PodView<'_>) -> bool {
        self.0
            .iter()
            .all(|&(resource, _)| pod_request(PodAmount::Requested, resource, pod) == 0)
    }
}

fn pod_request(which: PodAmount, resource: Resource, pod: &PodView<'_>) -> i64 {
    match (which, resource) {
        (PodAmount::NonZero, Resource::Cpu) => pod.class.scored_requests.milli_cpu,
        (PodAmount::NonZero, Resource::Memory) => pod.class.scored_requests.memory,
        _ => pod.class.requests.get(resource),
    }
}

fn node_request(which: PodAmount, resource: Resource, node: &NodeView<'_>) -> i64 {
    match (which, resource) {
        (PodAmount::NonZero, Resource::Cpu) => node.non_zero_requested().milli_cpu,
        (PodAmount::NonZero, Resource::Memory) => node.non_zero_requested().memory,
        _ => node.requested().get(resource),
    }
}

impl Strategy {
    /// The score, 0..=100. Divisions truncate, but the ratio rounds.
    pub(crate) fn score(&self, amounts: &[Amount]) -> i64 {
        match self {
            Self::LeastAllocated => weighted_mean(amounts, least_allocated),
            Self::MostAllocated => weighted_mean(amounts, most_allocated),
            Self::RequestedToCapacityRatio(shape) => requested_to_capacity_ratio(amounts, shape),
        }
    }
}

fn weighted_mean(amounts: &[Amount], score: fn(&Amount) -> i64) -> i64 {
    let weights: i64 = amounts.iter().map(|amount| amount.weight).sum();
    if weights == 0 {
        return 0;
    }
    amounts
        .iter()
        .map(|amount| score(amount) * amount.weight)
        .sum::<i64>()
        / weights
}

fn least_allocated(amount: &Amount) -> i64 {
    if amount.requested > amount.allocatable {
        return 0;
    }
    percent(
        amount.allocatable.saturating_sub(amount.requested),
        amount.allocatable,
    )
}

fn most_allocated(amount: &Amount) -> i64 {
    percent(amount.requested.min(amount.allocatable), amount.allocatable)
}

/// `part` × 100 / `whole`, truncated; in 128 bits if the product of bytes does not fit 64.
fn percent(part: i64, whole: i64) -> i64 {
    if let Some(product) = part.checked_mul(MAX_NODE_SCORE) {
        return product.checked_div(whole).unwrap_or(0);
    }
    let percent = i128::from(part) * i128::from(MAX_NODE_SCORE) / i128::from(whole);
    i64::try_from(percent).unwrap_or(0)
}

fn requested_to_capacity_ratio(amounts: &[Amount], shape: &[(i64, i64)]) -> i64 {
    let (mut sum, mut weights) = (0_i64, 0_i64);
    for amount in amounts {
        let utilization = if amount.requested > amount.allocatable {
            MAX_UTILIZATION
        } else {
            percent(amount.requested, amount.allocatable)
        };
        let score = broken_linear(shape, utilization);
        if score > 0 {
            sum += score * amount.weight;
            weights += amount.weight;
        }
    }
    if weights == 0 {
        return 0;
    }
    round_half_up(sum, weights)
}

/// `sum / weights`, halves away from zero as Go's `math.Round` has it; both are not negative.
pub(crate) fn round_half_up(sum: i64, weights: i64) -> i64 {
    (2 * sum + weights) / (2 * weights)
}

/// A function of straight pieces between points (`BuildBrokenLinearFunction`), whole numbers only.
pub(crate) fn broken_linear(shape: &[(i64, i64)], at: i64) -> i64 {
    let Some(index) = shape.iter().position(|&(utilization, _)| at <= utilization) else {
        return shape.last().map_or(0, |&(_, score)| score);
    };
    let (utilization, score) = shape[index];
    if index == 0 {
        return score;
    }
    let (before, score_before) = shape[index - 1];
    score_before + (score - score_before) * (at - before) / (utilization - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(requested: i64, allocatable: i64, weight: i64) -> Amount {
        Amount {
            allocated: 0,
            requested,
            allocatable,
            weight,
        }
    }

    #[test]
    fn strategies_take_the_weighted_mean_of_what_the_node_has() {
        let amounts = [amount(3000, 4000, 1), amount(5000, 10_000, 1)];
        assert_eq!(Strategy::LeastAllocated.score(&amounts), 37);
        assert_eq!(Strategy::MostAllocated.score(&amounts), 62);
        let weighted = [amount(3000, 4000, 3), amount(5000, 10_000, 1)];
        assert_eq!(Strategy::MostAllocated.score(&weighted), 68);
        assert_eq!(Strategy::LeastAllocated.score(&[]), 0);
    }

    #[test]
    fn an_overfull_node_is_empty_for_nobody_and_full_at_most() {
        let amounts = [amount(5000, 4000, 1)];
        assert_eq!(Strategy::LeastAllocated.score(&amounts), 0);
        assert_eq!(Strategy::MostAllocated.score(&amounts), 100);
    }

    #[test]
    fn large_memory_does_not_overflow() {
        let amounts = [amount(i64::MAX / 2, i64::MAX, 1)];
        assert_eq!(Strategy::MostAllocated.score(&amounts), 49);
    }

    #[test]
    fn the_ratio_follows_its_shape_and_rounds() {
        let shape = Strategy::RequestedToCapacityRatio([(0, 0), (100, 100)].into());
        assert_eq!(shape.score(&[amount(50, 100, 1), amount(25, 100, 1)]), 38);
        assert_eq!(shape.score(&[amount(0, 100, 5), amount(25, 100, 1)]), 25);
        let packed = Strategy::RequestedToCapacityRatio([(0, 100), (40, 20), (80, 0)].into());
        assert_eq!(packed.score(&[amount(20, 100, 1)]), 60);
        assert_eq!(packed.score(&[amount(90, 100, 1)]), 0);
        assert_eq!(packed.score(&[amount(200, 100, 1)]), 0);
    }
}
