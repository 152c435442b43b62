//! `NodeDeclaredFeatures`: pods that need features go to nodes that declare them.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterScope, FilterVerdict, PreFilterPlugin,
    PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginName,
    QueueingHint, Rejection,
};

pub(crate) const NAME: &str = "NodeDeclaredFeatures";
pub(crate) const REASON: &str = "node(s) didn't match Pod's required features";

/// The plugin.
#[derive(Debug)]
pub(crate) struct NodeDeclaredFeatures;

fn fits(pod: &PodView<'_>, node: &NodeView<'_>) -> bool {
    pod.class
        .required_features
        .is_subset(node.class().declared_features)
}

impl Plugin for NodeDeclaredFeatures {
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

impl ClassPlugin for NodeDeclaredFeatures {}

impl PreFilterPlugin for NodeDeclaredFeatures {
    fn pre_filter(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        if pod.class.required_features.is_empty() {
            PreFilterVerdict::Skip
        } else {
            PreFilterVerdict::Proceed
        }
    }
}

impl FilterPlugin for NodeDeclaredFeatures {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        if fits(pod, node) {
            FilterVerdict::Fits
        } else {
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON))
        }
    }

    fn scope(&self, _: &PodView<'_>) -> FilterScope {
        FilterScope::NodeClass
    }
}

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 2] = [
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD.or(ActionType::UPDATE_NODE_DECLARED_FEATURE),
            ),
            ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE),
        ];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Class
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        QueueingHint::queue_if(match change.event.resource {
            EventResource::Node => change.node.as_ref().is_some_and(|node| fits(pod, node)),
            // What it needed before is not known.
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    #[test]
    fn pods_go_where_their_features_are_declared() {
        let restart_all = make_pod("p").spec(json!({"containers": [{"name": "c",
            "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}));
        let declares = |name: &str, features: &[&str]| {
            make_node(name).status(json!({"declaredFeatures": features}))
        };
        let cluster = Cluster::new([
            make_node("none"),
            declares("other", &["VolumeBindMountOptions"]),
            declares(
                "both",
                &[
                    "RestartAllContainersOnContainerExits",
                    "VolumeBindMountOptions",
                ],
            ),
        ])
        .with_pod(&restart_all);
        let no = FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON));
        assert_eq!(
            cluster.filter(&NodeDeclaredFeatures),
            [no.clone(), no, FilterVerdict::Fits]
        );
    }

    #[test]
    fn pods_without_needs_are_not_judged() {
        let cluster = Cluster::new([make_node("n")]).with_pod(&make_pod("p"));
        assert_eq!(
            NodeDeclaredFeatures.pre_filter(
                &mut CycleState::default(),
                &cluster.view(),
                &cluster.snapshot()
            ),
            PreFilterVerdict::Skip
        );
    }
}
