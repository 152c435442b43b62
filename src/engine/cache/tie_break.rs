//! Which of equally good nodes wins.
//!
//! Nodes lie on a ring in the order of hash(seed, node); of the tied ones the first at or after
//! hash(seed, pod) wins. Ties spread evenly, cost no list of all of them, and are the same
//! whenever seed, node and pod are.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, Snapshot};
use crate::model::pod_info::PodUid;

/// Nodes by score, then by their places on the ring.
pub(crate) type Ranked = BTreeSet<(i64, u64, Slot)>;

/// How ties are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// By the ring.
    #[default]
    Seeded,
    /// The first name wins.
    Name,
}

/// The order of equally good nodes for one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TieOrder {
    tie_break: TieBreak,
    pod: u64,
}

impl TieOrder {
    /// The order for the pod called `uid`.
    pub fn new(tie_break: TieBreak, seed: u64, uid: &PodUid) -> Self {
        let pod = match tie_break {
            TieBreak::Name => 0,
            TieBreak::Seeded => ring_position(seed, &uid.0),
        };
        Self { tie_break, pod }
    }

    /// How ties are broken.
    pub fn tie_break(&self) -> TieBreak {
        self.tie_break
    }

    /// The first of the nodes that have the greatest score.
    pub(crate) fn first<'n>(&self, nodes: &Ranked, cluster: Snapshot<'n>) -> Option<NodeView<'n>> {
        let (greatest, ..) = *nodes.last()?;
        let mut tied = nodes.range((greatest, 0, Slot(0))..);
        match self.tie_break {
            TieBreak::Name => {
                let nodes = tied.filter_map(|(.., slot)| cluster.node_in(*slot));
                nodes.min_by_key(NodeView::name)
            }
            TieBreak::Seeded => {
                let mut after = nodes.range((greatest, self.pod, Slot(0))..);
                let (.., slot) = after.next().or_else(|| tied.next())?;
                cluster.node_in(*slot)
            }
        }
    }

    /// The place of `node` in the order; the least goes first.
    pub fn rank<'n>(&self, node: &NodeView<'n>) -> (u64, &'n Arc<str>) {
        let distance = match self.tie_break {
            TieBreak::Name => 0,
            TieBreak::Seeded => ring_distance(self.pod, node.ring_position()),
        };
        (distance, node.name())
    }
}

/// A place on the ring: FNV-1a over the text, finished with the mixer of splitmix64 so that
/// similar names lie far apart. Fixed, since recorded decisions must replay on later releases.
pub fn ring_position(seed: u64, text: &str) -> u64 {
    const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = text.bytes().fold(FNV_OFFSET ^ mix(seed), |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    });
    mix(hash)
}

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// How far it is along the ring from the pod to the node; the least distance wins.
pub fn ring_distance(pod_position: u64, node_position: u64) -> u64 {
    node_position.wrapping_sub(pod_position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_of_many_pods_spread_over_all_nodes() {
        let nodes: Vec<u64> = (0..10)
            .map(|i| ring_position(7, &format!("node-{i}")))
            .collect();
        let mut wins = [0_u32; 10];
        for pod in 0..10_000 {
            let position = ring_position(7, &format!("uid-{pod}"));
            let winner = (0..10)
                .min_by_key(|&i| ring_distance(position, nodes[i]))
                .unwrap();
            wins[winner] += 1;
        }
        assert!(wins.iter().all(|&count| count > 0), "{wins:?}");
    }

    #[test]
    fn the_seed_changes_the_ring() {
        assert_ne!(ring_position(1, "a"), ring_position(2, "a"));
        assert_eq!(ring_position(1, "a"), ring_position(1, "a"));
    }
}
