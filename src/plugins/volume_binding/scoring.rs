//! How good a node is by the utilisation of storage (`scorer.go`).

use std::collections::BTreeMap;

use crate::plugins::node_resources_fit::scoring::{broken_linear, round_half_up};
use crate::plugins::volume_binding::find_matching::{capacity, requested};
use crate::plugins::volume_binding::pod_volumes::NodeVolumes;

/// The greatest utilisation of the shape, in percent (`maxUtilization`).
const MAX_UTILIZATION: i64 = 100;

/// Bytes of one storage class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    requested: i64,
    capacity: i64,
}

/// Points (utilisation in percent, score 0..=100), utilisation ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape(pub(super) Box<[(i64, i64)]>);

impl Shape {
    /// The mean over the storage classes of what the pod takes on the node, rounded. Volumes that
    /// are there count alone; if there are none, those that are to be made.
    pub(super) fn score(&self, volumes: &NodeVolumes) -> i64 {
        let amounts = if volumes.bindings.is_empty() {
            of_provisions(volumes)
        } else {
            of_bindings(volumes)
        };
        let Ok(classes @ 1..) = i64::try_from(amounts.len()) else {
            return 0;
        };
        let sum = amounts.values().map(|amount| self.of_class(*amount)).sum();
        round_half_up(sum, classes)
    }

    fn of_class(
        &self,
        Amount {
            requested,
            capacity,
        }: Amount,
    ) -> i64 {
        let utilization = if capacity == 0 || requested > capacity {
            MAX_UTILIZATION
        } else {
            let percent =
                i128::from(requested) * i128::from(MAX_UTILIZATION) / i128::from(capacity);
            i64::try_from(percent).unwrap_or(MAX_UTILIZATION)
        };
        broken_linear(&self.0, utilization)
    }
}

fn of_bindings(volumes: &NodeVolumes) -> BTreeMap<&str, Amount> {
    let mut amounts = BTreeMap::<&str, Amount>::new();
    for binding in &volumes.bindings {
        let class = binding.volume.spec.storage_class_name.as_deref();
        let amount = amounts.entry(class.unwrap_or_default()).or_default();
        amount.requested = amount
            .requested
            .saturating_add(requested(&binding.claim).units());
        amount.capacity = amount
            .capacity
            .saturating_add(capacity(&binding.volume).units());
    }
    amounts
}

/// Requests of a class add up; its capacity is one and the same.
fn of_provisions(volumes: &NodeVolumes) -> BTreeMap<&str, Amount> {
    let mut amounts = BTreeMap::<&str, Amount>::new();
    for provision in &volumes.provisions {
        let Some(capacity) = provision.free_bytes else {
            continue;
        };
        let amount = amounts.entry(provision.class()).or_default();
        amount.requested = amount
            .requested
            .saturating_add(requested(&provision.claim).units());
        amount.capacity = capacity;
    }
    amounts
}
