//! `NodeUnschedulable`: a cordoned node takes only pods that tolerate the cordon.

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterScope, FilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginName,
    QueueingHint, Rejection,
};
use crate::model::symbols::{Symbol, SymbolScope};
use crate::model::taints::{Taint, TaintEffect, tolerated};

pub(crate) const NAME: &str = "NodeUnschedulable";
pub(crate) const REASON: &str = "node(s) were unschedulable";

/// The taint that stands for the cordon (`v1.TaintNodeUnschedulable`).
const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

/// The plugin.
#[derive(Debug)]
pub(crate) struct NodeUnschedulable {
    cordon: Taint,
}

impl NodeUnschedulable {
    pub(crate) fn new(scope: &mut SymbolScope<'_>) -> Self {
        let key: Symbol = scope.intern(CORDON_TAINT);
        Self {
            cordon: Taint {
                key,
                value: scope.intern(""),
                effect: TaintEffect::NoSchedule,
            },
        }
    }

    fn fits(&self, pod: &PodView<'_>, node: &NodeView<'_>) -> bool {
        !node.class().unschedulable || tolerated(&pod.class.tolerations, &self.cordon)
    }
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for NodeUnschedulable {}

impl FilterPlugin for NodeUnschedulable {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        if self.fits(pod, node) {
            FilterVerdict::Fits
        } else {
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON))
        }
    }

    fn scope(&self, _: &PodView<'_>) -> FilterScope {
        FilterScope::NodeClass
    }
}

impl EnqueueExtensions for NodeUnschedulable {
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
        let may_help = match (change.event.resource, &change.node) {
            (EventResource::TargetPod, _) => tolerated(&pod.class.tolerations, &self.cordon),
            (_, Some(node)) => self.fits(pod, node),
            (_, None) => false,
        };
        QueueingHint::queue_if(may_help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    #[test]
    fn a_cordoned_node_takes_only_pods_that_tolerate_it() {
        for (pod, fits) in [
            (make_pod("p"), false),
            (
                make_pod("p").toleration(CORDON_TAINT, "Exists", "", "NoSchedule"),
                true,
            ),
            (
                make_pod("p").toleration(CORDON_TAINT, "Exists", "", "NoExecute"),
                false,
            ),
            (make_pod("p").toleration("", "Exists", "", ""), true),
        ] {
            let mut cluster =
                Cluster::new([make_node("n1").unschedulable(), make_node("n2")]).with_pod(&pod);
            let plugin = cluster.compile(NodeUnschedulable::new);
            let verdicts = cluster.filter(&plugin);
            assert_eq!(verdicts[0] == FilterVerdict::Fits, fits, "{pod:?}");
            assert_eq!(verdicts[1], FilterVerdict::Fits);
        }
    }
}
