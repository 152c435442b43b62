//! `NodeName`: a pod that names a node goes there and nowhere else.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    EnqueueExtensions, FilterPlugin, FilterScope, FilterVerdict, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginName,
    Rejection,
};

pub(crate) const NAME: &str = "NodeName";
pub(crate) const REASON: &str = "node(s) didn't match the requested node name";

/// The plugin.
#[derive(Debug)]
pub(crate) struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for NodeName {
    /// Nothing is kept of a pod that is for one node.
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        pod.info.node_name.is_none().then(Vec::new)
    }
}

impl PreFilterPlugin for NodeName {
    fn pre_filter(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        match &pod.info.node_name {
            Some(name) => PreFilterVerdict::Nodes(BTreeSet::from([Arc::clone(name)])),
            None => PreFilterVerdict::Proceed,
        }
    }
}

impl FilterPlugin for NodeName {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        match &pod.info.node_name {
            Some(name) if name != node.name() => {
                FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON))
            }
            _ => FilterVerdict::Fits,
        }
    }

    fn scope(&self, pod: &PodView<'_>) -> FilterScope {
        match pod.info.node_name {
            Some(_) => FilterScope::Node,
            None => FilterScope::NodeClass,
        }
    }
}

impl EnqueueExtensions for NodeName {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 1] =
            [ClusterEventKind::new(EventResource::Node, ActionType::ADD)];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    #[test]
    fn a_pod_that_names_a_node_fits_only_there() {
        let cluster = Cluster::new([make_node("n1"), make_node("n2")])
            .with_pod(&make_pod("p").node_name("n2"));
        let verdicts = cluster.filter(&NodeName);
        assert_eq!(
            verdicts,
            [
                FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON)),
                FilterVerdict::Fits,
            ]
        );
        let names = NodeName.pre_filter(
            &mut CycleState::default(),
            &cluster.view(),
            &cluster.snapshot(),
        );
        assert_eq!(
            names,
            PreFilterVerdict::Nodes(BTreeSet::from(["n2".into()]))
        );
    }
}
