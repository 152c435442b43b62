//! How many nodes are looked at, and which first (`numFeasibleNodesToFind`).
//!
//! A profile that asks for less than 100 % stops at enough feasible nodes; the next attempt begins
//! where this one ended, so that every node has its turn.

use crate::engine::cache::snapshot::NodeView;

/// So many feasible nodes are looked for at least (`minFeasibleNodesToFind`).
const MIN_FEASIBLE_NODES: usize = 100;
/// The least percentage that is chosen by itself (`minFeasibleNodesPercentageToFind`).
const MIN_PERCENTAGE: usize = 5;

/// How many feasible nodes are enough among `nodes`. A percentage of 0 is chosen by the size of the
/// cluster: 50 % less 1 % for every 125 nodes.
pub(super) fn enough(percentage: i32, nodes: usize) -> usize {
    if nodes < MIN_FEASIBLE_NODES {
        return nodes;
    }
    let percentage = match usize::try_from(percentage).unwrap_or(0) {
        0 => 50_usize.saturating_sub(nodes / 125).max(MIN_PERCENTAGE),
        percentage => percentage.min(100),
    };
    (nodes * percentage / 100).max(MIN_FEASIBLE_NODES)
}

/// The nodes in their order, from the one at `start` on.
pub(super) fn rotated<'n, 'a>(
    nodes: &'n [NodeView<'a>],
    start: usize,
) -> impl Iterator<Item = NodeView<'a>> + use<'n, 'a> {
    let start = start.checked_rem(nodes.len()).unwrap_or(0);
    nodes[start..].iter().chain(&nodes[..start]).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clusters_are_looked_at_whole() {
        assert_eq!(enough(10, 99), 99);
        assert_eq!(enough(0, 50), 50);
    }

    #[test]
    fn a_percentage_counts_of_all_nodes_and_never_less_than_a_hundred() {
        assert_eq!(enough(100, 5000), 5000);
        assert_eq!(enough(40, 1000), 400);
        assert_eq!(enough(10, 500), 100);
    }

    #[test]
    fn zero_adapts_to_the_size_of_the_cluster_as_upstream_does() {
        let found = [100, 1000, 5000, 6000, 100_000].map(|nodes| enough(0, nodes));
        assert_eq!(found, [100, 420, 500, 300, 5000]);
    }
}
