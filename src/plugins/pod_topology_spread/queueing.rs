//! Which changes may help pods that the plugin rejected.

use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::extension_points::{Change, EnqueueExtensions};
use crate::engine::framework::{
    ActionType, ClusterEventKind, EventResource, HintScope, QueueingHint,
};
use crate::model::topology_spread::Strictness;
use crate::plugins::pod_topology_spread::PodTopologySpread;
use crate::plugins::pod_topology_spread::constraint::{Constraint, has_all_keys};

impl EnqueueExtensions for PodTopologySpread {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 3] = [
            ClusterEventKind::new(
                EventResource::AssignedPod,
                // Any update, so that the one that begins a deletion is among them.
                ActionType::ADD
                    .or(ActionType::UPDATE)
                    .or(ActionType::DELETE),
            ),
            ClusterEventKind::new(
                EventResource::TargetPod,
                ActionType::UPDATE_POD_TOLERATION.or(ActionType::UPDATE_POD_LABEL),
            ),
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD
                    .or(ActionType::DELETE)
                    .or(ActionType::UPDATE_NODE_LABEL)
                    .or(ActionType::UPDATE_NODE_TAINT),
            ),
        ];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Labels
    }

    /// What was before is not known: labels that changed or went may have counted.
    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let elsewhere = change
            .other
            .is_some_and(|other| other.namespace != pod.namespace);
        if change.event.resource == EventResource::AssignedPod && elsewhere {
            return QueueingHint::Skip;
        }
        let listers = change.cluster.listers();
        let Ok(constraints) = self.constraints(Strictness::Hard, pod, listers) else {
            return QueueingHint::Queue;
        };
        QueueingHint::queue_if(match change.event.resource {
            EventResource::AssignedPod => pod_may_help(change, &constraints),
            EventResource::TargetPod => {
                change.event.action.intersects(ActionType::UPDATE_POD_LABEL)
                    || constraints.iter().any(|c| c.honors_node_taints)
            }
            _ => node_may_help(change, &constraints),
        })
    }
}

/// A pod that came, went or is about to go matters if it is of the kind that is spread. Upstream
/// waits until a terminating pod is gone, though it is no longer counted.
fn pod_may_help(change: &Change<'_>, constraints: &[Constraint]) -> bool {
    let action = change.event.action;
    let is_counted = |other: PodView<'_>| {
        let mut constraints = constraints.iter();
        constraints.any(|constraint| constraint.selects(other.labels))
    };
    if action == ActionType::UPDATE {
        let other = change.other;
        return other.is_none_or(|other| other.info.is_terminating && is_counted(other));
    }
    let is_update = !action.intersects(ActionType::ADD.or(ActionType::DELETE));
    if is_update {
        return action.intersects(ActionType::UPDATE_POD_LABEL);
    }
    change.other.is_none_or(is_counted)
}

/// A node that is new matters if it is part of the domains, and so does one whose taints changed
/// if they are looked at.
fn node_may_help(change: &Change<'_>, constraints: &[Constraint]) -> bool {
    let action = change.event.action;
    let mut honoring = constraints.iter();
    let is_looked_at = action != ActionType::UPDATE_NODE_TAINT
        || honoring.any(|constraint| constraint.honors_node_taints);
    action.intersects(ActionType::UPDATE_NODE_LABEL)
        || (is_looked_at
            && change
                .node
                .is_none_or(|node| has_all_keys(&node, constraints)))
}
