//! The other way round: kube-scheduler and Bayplan run on a real API server, and each is given the
//! same pod in the same cluster, one after the other.
//!
//! Pods that fit nowhere must be told so in the same words. A node that one of them chose must be
//! among the best of the other, which the oracle and the simulator name.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

mod arena;
mod referee;

use serde_json::Value;

use crate::generator::families::Families;
use crate::generator::{Size, generate};
use crate::live::arena::Arena;
use crate::live::referee::{Referee, live_plugins};

/// Random clusters, each with a control plane of its own.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

const SIZE: Size = Size {
    nodes: 12,
    pods: 24,
};

/// Families whose objects a server takes as they are, and the plugin that each needs. Volumes have
/// a test target of their own: without controllers nobody binds them.
const FAMILIES: [(&str, &str); 8] = [
    ("taints", "TaintToleration"),
    ("nodeaffinity", "NodeAffinity"),
    ("ports", "NodePorts"),
    ("images", "ImageLocality"),
    ("podlevel", "NodeResourcesFit"),
    ("podaffinity", "InterPodAffinity"),
    ("spread", "PodTopologySpread"),
    ("owners", "PodTopologySpread"),
];

/// What must have been seen for the test to mean something.
const FEWEST_OF_A_KIND: usize = 20;

fn families() -> Result<Families, String> {
    let live = live_plugins();
    let there = FAMILIES.iter().filter(|(_, plugin)| live.contains(plugin));
    let names: Vec<_> = there.map(|(name, _)| *name).collect();
    names.join(",").parse()
}

#[tokio::test]
async fn a_live_cluster_is_decided_as_kube_scheduler_decides_it() -> anyhow::Result<()> {
    let families = families().map_err(anyhow::Error::msg)?;
    let mut referee = Referee::start()?;
    for seed in SEEDS {
        let objects = generate(seed, SIZE, &families, &[]);
        let is_waiting =
            |object: &&Value| object["kind"] == "Pod" && object["spec"]["nodeName"].is_null();
        let (waiting, standing): (Vec<_>, Vec<_>) = objects.iter().partition(is_waiting);
        let arena = Arena::start(standing).await?;
        for (turn, pod) in waiting.into_iter().enumerate() {
            // Each goes first now and then: the second finds what the first left behind.
            if let Some(played) = arena.give(pod, turn % 2 == 0).await? {
                referee.judge(seed, &played)?;
            }
        }
        arena.stop()?;
    }
    let counts = (referee.placed, referee.refused);
    println!("{counts:?} pods were placed and refused");
    assert_eq!(referee.differences, [""; 0]);
    assert!(
        counts.0 >= FEWEST_OF_A_KIND && counts.1 >= FEWEST_OF_A_KIND,
        "{counts:?} pods were placed and refused"
    );
    Ok(())
}
