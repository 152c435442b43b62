//! `InterPodAffinity`: pods that want to be, or not to be, where other pods are.
//!
//! Upstream searches all pods of all nodes in each attempt. Here the cache counts them by domain
//! (`engine/cache/topology.rs`), and an attempt reads the counts.

mod filtering;
mod scoring;
mod terms;

use crate::apis::plugin_args::InterPodAffinityArgs;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::counted_terms::CountedTerm;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin,
    TopologyReader,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, EventResource, Plugin, PluginName, QueueingHint,
};
use crate::model::node_selector::NodeLabels;
use crate::model::pod_affinity::PodAffinity;

pub(crate) const NAME: &str = "InterPodAffinity";

/// The plugin.
#[derive(Debug)]
pub(crate) struct InterPodAffinity {
    /// What a pod's required affinity counts in the score of others.
    hard_pod_affinity_weight: i64,
    /// Pods without preferences of their own are not scored by those of others.
    ignores_preferred_terms_of_existing_pods: bool,
}

impl InterPodAffinity {
    pub(crate) fn new(args: &InterPodAffinityArgs) -> Self {
        Self {
            hard_pod_affinity_weight: i64::from(args.hard_pod_affinity_weight),
            ignores_preferred_terms_of_existing_pods: args.ignore_preferred_terms_of_existing_pods,
        }
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_topology_reader(&self) -> Option<&dyn TopologyReader> {
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

impl TopologyReader for InterPodAffinity {
    fn counted_terms(&self, pod: &PodView<'_>, _: &Snapshot<'_>, terms: &mut Vec<CountedTerm>) {
        let affinity = &pod.class.affinity;
        terms.extend(terms::required(affinity));
        terms.extend(affinity.required_anti.iter().map(terms::single));
        let preferred = affinity.preferred.iter().chain(&affinity.preferred_anti);
        terms.extend(preferred.map(|preferred| terms::single(&preferred.term)));
    }
}

impl EnqueueExtensions for InterPodAffinity {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const POD: ActionType = ActionType::ADD
            .or(ActionType::UPDATE_POD_LABEL)
            .or(ActionType::DELETE);
        const EVENTS: [ClusterEventKind; 3] = [
            ClusterEventKind::new(EventResource::AssignedPod, POD),
            ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL),
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL),
            ),
        ];
        &EVENTS
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let affinity = &pod.class.affinity;
        if affinity.invalid.is_some() {
            return QueueingHint::Queue;
        }
        match (change.event.resource, &change.other, &change.node) {
            (EventResource::AssignedPod, Some(other), _) => {
                let added = change.event.action.intersects(ActionType::ADD);
                QueueingHint::queue_if(may_help(affinity, pod, other, added, change.cluster))
            }
            (EventResource::Node, _, Some(node)) => {
                QueueingHint::queue_if(may_offer_a_domain(affinity, node))
            }
            // A pod that is gone can no longer be looked at: it may have been the obstacle.
            _ => QueueingHint::Queue,
        }
    }
}

/// Whether a pod that came to a node, or whose labels changed, may let `pod` in.
fn may_help(
    affinity: &PodAffinity,
    pod: &PodView<'_>,
    other: &PodView<'_>,
    added: bool,
    cluster: Snapshot<'_>,
) -> bool {
    if terms::all_select(&affinity.required, other, cluster) {
        return true;
    }
    if added {
        return false;
    }
    // Labels that changed may have made the other pod one that nothing here objects to.
    let objects = |term| terms::selects(term, other, cluster);
    let mut carried = other.class.affinity.required_anti.iter();
    !affinity.required_anti.iter().any(objects)
        || carried.any(|term| terms::selects(term, pod, cluster))
}

/// Whether a node that is new, or whose labels changed, may be a domain for the pod.
fn may_offer_a_domain(affinity: &PodAffinity, node: &NodeView<'_>) -> bool {
    let mut wanted = affinity.required.iter();
    !affinity.required_anti.is_empty() || wanted.any(|term| node.label(term.topology_key).is_some())
}

#[cfg(test)]
mod tests;
