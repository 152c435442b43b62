//! `InterPodAffinity`: pods that want to be, or not to be, where other pods are.
//!
//! Upstream searches all pods of all nodes in each attempt. Here the cache counts them by domain
//! (`engine/cache/topology.rs`), and an attempt reads the counts.

mod filtering;
mod places;
mod scoring;
mod terms;

use crate::apis::plugin_args::InterPodAffinityArgs;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::counted_terms::CountedTerm;
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin,
    TopologyReader,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, EventResource, HintScope, Plugin, PluginName, QueueingHint,
};
use crate::model::node_selector::NodeLabels;
use crate::model::object_key::ObjectKey;
use crate::model::pod_affinity::PodAffinity;

pub(crate) const NAME: &str = "InterPodAffinity";

/// The plugin.
#[derive(Clone, Copy, Debug)]
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

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
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
        const NAMESPACE: ActionType = ActionType::ADD
            .or(ActionType::UPDATE)
            .or(ActionType::DELETE);
        const NODE: ActionType = ActionType::ADD
            .or(ActionType::UPDATE_NODE_LABEL)
            .or(ActionType::DELETE);
        const EVENTS: [ClusterEventKind; 4] = [
            ClusterEventKind::new(EventResource::AssignedPod, POD),
            ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL),
            ClusterEventKind::new(EventResource::Node, NODE),
            ClusterEventKind::new(EventResource::Namespace, NAMESPACE),
        ];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Labels
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let affinity = &pod.class.affinity;
        if affinity.invalid.is_some() {
            return QueueingHint::Queue;
        }
        let action = change.event.action;
        QueueingHint::queue_if(match (change.event.resource, &change.other, &change.node) {
            (EventResource::AssignedPod, Some(other), _) if action == ActionType::DELETE => {
                departure_may_help(affinity, pod, other, change.cluster)
            }
            (EventResource::AssignedPod, Some(other), _) => {
                terms::all_select(&affinity.required, other, change.cluster)
                    || (!action.intersects(ActionType::ADD)
                        && relabelling_may_help(affinity, pod, other, change.cluster))
            }
            (EventResource::Node, _, Some(node)) if action.intersects(ActionType::ADD) => {
                new_node_may_help(affinity, node)
            }
            (EventResource::Namespace, ..) => namespace_may_matter(affinity, pod, change.object),
            // Which labels a node had, or which pods went with it, is not known.
            _ => true,
        })
    }
}

/// Whether a pod that is gone stood in the way. Upstream forgets the pod that was the last of its
/// own kind: without it the next one may be the first.
fn departure_may_help(
    affinity: &PodAffinity,
    pod: &PodView<'_>,
    gone: &PodView<'_>,
    cluster: Snapshot<'_>,
) -> bool {
    let mut anti = affinity.required_anti.iter();
    let mut carried = gone.class.affinity.required_anti.iter();
    anti.any(|term| terms::selects(term, gone, cluster))
        || carried.any(|term| terms::selects_incoming(term, pod, cluster))
        || (terms::all_select(&affinity.required, gone, cluster)
            && terms::all_select(&affinity.required, pod, cluster))
}

/// Whether a pod that has other labels now may have stood in the way before; they are not known.
fn relabelling_may_help(
    affinity: &PodAffinity,
    pod: &PodView<'_>,
    other: &PodView<'_>,
    cluster: Snapshot<'_>,
) -> bool {
    let mut anti = affinity.required_anti.iter();
    (!affinity.required_anti.is_empty() && !anti.any(|term| terms::selects(term, other, cluster)))
        || terms::all_select(&affinity.required, pod, cluster)
}

/// Whether terms look at the labels of a namespace that are others now, or gone: own terms at those of any,
/// terms of other pods at those of the pod's own. Upstream does not hear of namespaces.
fn namespace_may_matter(
    affinity: &PodAffinity,
    pod: &PodView<'_>,
    namespace: Option<&ObjectKey>,
) -> bool {
    let mut own = affinity.required.iter().chain(&affinity.required_anti);
    own.any(|term| term.selector.reads_namespace_labels())
        || namespace.is_none_or(|namespace| namespace.name == pod.info.key.namespace)
}

/// Whether a new node may be one for the pod, or bring pods that it wants to be near to. Upstream
/// forgets pods without terms, which others keep away.
fn new_node_may_help(affinity: &PodAffinity, node: &NodeView<'_>) -> bool {
    let mut wanted = affinity.required.iter();
    affinity.required.is_empty()
        || !affinity.required_anti.is_empty()
        || wanted.any(|term| node.label(term.topology_key).is_some())
}

#[cfg(test)]
mod tests;
