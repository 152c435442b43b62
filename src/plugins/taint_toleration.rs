//! `TaintToleration`: taints keep pods away that do not tolerate them, `PreferNoSchedule` ones if
//! possible.
//!
//! Numeric operators (gate `TaintTolerationComparisonOperators`, alpha and off) tolerate nothing.

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterScope, FilterVerdict, MAX_NODE_SCORE,
    PreScorePlugin, PreScoreVerdict, ScorePlugin, default_normalize,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginError,
    PluginName, QueueingHint, Rejection,
};
use crate::model::taints::{Taint, TaintEffect, Toleration, tolerated};

pub(crate) const NAME: &str = "TaintToleration";
/// Key and value of the taint are held to be sensitive and are left out since 1.35.
pub(crate) const REASON: &str = "node(s) had untolerated taint(s)";

/// The plugin.
#[derive(Debug)]
pub(crate) struct TaintToleration;

/// Tolerations that count for `PreferNoSchedule`.
#[derive(Clone, Debug)]
struct Preferred(Vec<Toleration>);

/// Whether the pod tolerates every taint of the node that keeps pods away.
pub(crate) fn tolerates_taints(pod: &PodView<'_>, node: &NodeView<'_>) -> bool {
    let keeps_away = |taint: &&Taint| {
        matches!(
            taint.effect,
            TaintEffect::NoSchedule | TaintEffect::NoExecute
        )
    };
    let taints = &node.class().taints;
    taints
        .iter()
        .filter(keeps_away)
        .all(|taint| tolerated(&pod.class.tolerations, taint))
}

impl Plugin for TaintToleration {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for TaintToleration {
    fn normalizes(&self) -> bool {
        true
    }
}

impl FilterPlugin for TaintToleration {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        if tolerates_taints(pod, node) {
            FilterVerdict::Fits
        } else {
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON))
        }
    }

    fn scope(&self, _: &PodView<'_>) -> FilterScope {
        FilterScope::NodeClass
    }
}

impl PreScorePlugin for TaintToleration {
    fn pre_score(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        _: &[NodeView<'_>],
    ) -> PreScoreVerdict {
        let counts = |toleration: &&Toleration| {
            toleration
                .effect
                .is_none_or(|effect| effect == TaintEffect::PreferNoSchedule)
        };
        state.write(Preferred(
            pod.class
                .tolerations
                .iter()
                .filter(counts)
                .copied()
                .collect(),
        ));
        PreScoreVerdict::Proceed
    }
}

impl ScorePlugin for TaintToleration {
    /// How many `PreferNoSchedule` taints are not tolerated.
    fn score(
        &self,
        state: &CycleState,
        _: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let Preferred(tolerations) = state.read().ok_or_else(|| PluginError::no_state(NAME))?;
        let taints = node.class().taints.iter();
        let count = taints
            .filter(|taint| taint.effect == TaintEffect::PreferNoSchedule)
            .filter(|taint| !tolerated(tolerations, taint))
            .count();
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn normalize(
        &self,
        _: &CycleState,
        _: &PodView<'_>,
        _: &[NodeView<'_>],
        scores: &mut [i64],
    ) -> Result<(), PluginError> {
        default_normalize(MAX_NODE_SCORE, true, scores);
        Ok(())
    }
}

impl EnqueueExtensions for TaintToleration {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 2] = [
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD.or(ActionType::UPDATE_NODE_TAINT),
            ),
            ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE_POD_TOLERATION),
        ];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Class
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        match (change.event.resource, &change.node) {
            // A new toleration may open any node.
            (EventResource::TargetPod, _) => QueueingHint::Queue,
            (_, node) => {
                QueueingHint::queue_if(node.is_some_and(|node| tolerates_taints(pod, &node)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    #[test]
    fn taints_that_are_not_tolerated_keep_pods_away() {
        let node = || make_node("n").taint("dedicated", "db", "NoSchedule");
        for (pod, fits) in [
            (make_pod("p"), false),
            (
                make_pod("p").toleration("dedicated", "Equal", "db", "NoSchedule"),
                true,
            ),
            (make_pod("p").toleration("dedicated", "", "db", ""), true),
            (
                make_pod("p").toleration("dedicated", "Equal", "web", "NoSchedule"),
                false,
            ),
            (
                make_pod("p").toleration("dedicated", "Exists", "", "NoExecute"),
                false,
            ),
            (make_pod("p").toleration("", "Exists", "", ""), true),
            (make_pod("p").toleration("dedicated", "Gt", "1", ""), false),
        ] {
            let cluster = Cluster::new([node()]).with_pod(&pod);
            let fitted = cluster.filter(&TaintToleration) == [FilterVerdict::Fits];
            assert_eq!(fitted, fits, "{pod:?}");
        }
    }

    #[test]
    fn a_preference_does_not_filter_but_scores() {
        let cluster = Cluster::new([
            make_node("a"),
            make_node("b").taint("k", "v", "PreferNoSchedule"),
            make_node("c")
                .taint("k", "v", "PreferNoSchedule")
                .taint("l", "", "PreferNoSchedule"),
        ])
        .with_pod(&make_pod("p").toleration("l", "Exists", "", "PreferNoSchedule"));
        assert!(
            cluster
                .filter(&TaintToleration)
                .iter()
                .all(|v| *v == FilterVerdict::Fits)
        );
        assert_eq!(
            cluster.scores(&TaintToleration),
            ([0, 1, 1].into(), [100, 0, 0].into())
        );
    }
}
