//! Which changes may help pods that the plugin rejected.

use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::extension_points::{Change, EnqueueExtensions};
use crate::engine::framework::{ActionType, ClusterEventKind, EventResource, QueueingHint};
use crate::model::topology_spread::Strictness;
use crate::plugins::pod_topology_spread::PodTopologySpread;
use crate::plugins::pod_topology_spread::constraint::{Constraint, has_all_keys};

impl EnqueueExtensions for PodTopologySpread {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 3] = [
            ClusterEventKind::new(
                EventResource::AssignedPod,
                ActionType::ADD
                    .or(ActionType::UPDATE_POD_LABEL)
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

/// A new pod matters if it is of the kind that is spread.
fn pod_may_help(change: &Change<'_>, constraints: &[Constraint]) -> bool {
    change.event.action.intersects(ActionType::UPDATE_POD_LABEL)
        || change.other.is_none_or(|other| {
            constraints
                .iter()
                .any(|constraint| constraint.selects(other.labels))
        })
}

/// A node that is new, or whose taints changed, matters if it is part of the domains.
fn node_may_help(change: &Change<'_>, constraints: &[Constraint]) -> bool {
    change
        .event
        .action
        .intersects(ActionType::UPDATE_NODE_LABEL)
        || change
            .node
            .is_none_or(|node| has_all_keys(&node, constraints))
}
