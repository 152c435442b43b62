//! `NodeResourcesBalancedAllocation`: prefers nodes whose resources the pod brings into balance.
//!
//! Since 1.36 the score is how much the pod *changes* the balance: 75 for no change, 50 at worst,
//! 100 at best (kubernetes#135573).

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    MAX_NODE_SCORE, PreScorePlugin, PreScoreVerdict, ScorePlugin,
};
use crate::engine::framework::{CycleState, Plugin, PluginError, PluginName};
use crate::plugins::node_resources_fit::scoring::{Amount, PodAmount, ResourceWeights};

pub(crate) const NAME: &str = "NodeResourcesBalancedAllocation";

/// The plugin with the resources that are to be in balance.
#[derive(Debug)]
pub(crate) struct NodeResourcesBalancedAllocation {
    pub(crate) resources: ResourceWeights,
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
}

impl ClassPlugin for NodeResourcesBalancedAllocation {}

impl PreScorePlugin for NodeResourcesBalancedAllocation {
    fn pre_score(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &[NodeView<'_>],
    ) -> PreScoreVerdict {
        if self.resources.is_best_effort(pod) {
            PreScoreVerdict::Skip
        } else {
            PreScoreVerdict::Proceed
        }
    }
}

impl ScorePlugin for NodeResourcesBalancedAllocation {
    fn score(
        &self,
        _: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        // Reached in profiles that enable the plugin at `Score` alone, where nothing skips it.
        if self.resources.is_best_effort(pod) {
            return Ok(0);
        }
        let amounts = self.resources.amounts(PodAmount::Requested, pod, node);
        let with = balance(&amounts, |amount| amount.requested);
        let without = balance(&amounts, |amount| amount.allocated);
        Ok(MAX_NODE_SCORE / 2 + (MAX_NODE_SCORE / 2 + with - without) / 2)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "upstream computes fractions in float64 too"
)]
fn fraction(used: i64, allocatable: i64) -> f64 {
    (used as f64 / allocatable as f64).min(1.0)
}

/// `(1 − standard deviation) × 100` of what is `used` of each resource, truncated
/// (`balancedResourceScore`).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a handful of resources, and a result within 0..=100"
)]
fn balance(amounts: &[Amount], used: impl Fn(&Amount) -> i64) -> i64 {
    let share = |amount: &Amount| fraction(used(amount), amount.allocatable);
    let deviation = match amounts {
        [] | [_] => 0.0,
        [first, second] => ((share(first) - share(second)) / 2.0).abs(),
        _ => {
            let count = amounts.len() as f64;
            let mean = amounts.iter().map(share).sum::<f64>() / count;
            let off = amounts.iter().map(|amount| share(amount) - mean);
            (off.map(|off| off * off).sum::<f64>() / count).sqrt()
        }
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resources::Resource;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    fn plugin() -> NodeResourcesBalancedAllocation {
        let resources = ResourceWeights([(Resource::Cpu, 1), (Resource::Memory, 1)].into());
        NodeResourcesBalancedAllocation { resources }
    }

    #[test]
    fn the_score_is_the_change_of_the_balance() {
        let node = |name| make_node(name).allocatable(&[("cpu", "10"), ("memory", "10Gi")]);
        let cluster = Cluster::new([
            node("empty"),
            node("cpu"),
            node("memory"),
            make_node("none").allocatable(&[]),
        ])
        .with_running(&make_pod("r1").request("cpu", "5").on("cpu"))
        .with_running(&make_pod("r2").request("memory", "5Gi").on("memory"))
        .with_pod(&make_pod("p").request("cpu", "5"));
        // With the pod: 75, 50, 100; without: 100, 75, 75.
        assert_eq!(cluster.scores(&plugin()).0, [62, 62, 87, 75]);
    }

    #[test]
    fn pods_that_request_nothing_are_not_scored() {
        let cluster = Cluster::new([make_node("n")]).with_pod(&make_pod("p"));
        let verdict = plugin().pre_score(&mut CycleState::default(), &cluster.view(), &[]);
        assert_eq!(verdict, PreScoreVerdict::Skip);
        // Where the profile enables Score alone nothing skips it.
        assert_eq!(cluster.scores(&plugin()), (vec![0], vec![0]));
    }

    #[test]
    fn three_resources_deviate_from_their_mean() {
        let of = |used: &[i64]| {
            let amounts = used.iter().map(|used| Amount {
                allocated: 0,
                requested: *used,
                allocatable: 10,
                weight: 1,
            });
            balance(&amounts.collect::<Vec<_>>(), |amount| amount.requested)
        };
        assert_eq!(of(&[0, 5, 10]), 59);
        assert_eq!(of(&[3]), 100);
        assert_eq!(of(&[0, 10]), 50);
    }
}
