//! `NodePorts`: host ports are taken once per node.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterVerdict, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginName,
    QueueingHint, Rejection,
};

pub(crate) const NAME: &str = "NodePorts";
pub(crate) const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// The plugin.
#[derive(Debug)]
pub(crate) struct NodePorts;

fn fits(pod: &PodView<'_>, node: &NodeView<'_>) -> bool {
    pod.class
        .host_ports
        .iter()
        .all(|port| !node.used_ports().conflicts_with(port))
}

impl Plugin for NodePorts {
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

impl ClassPlugin for NodePorts {}

impl PreFilterPlugin for NodePorts {
    fn pre_filter(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        if pod.class.host_ports.is_empty() {
            PreFilterVerdict::Skip
        } else {
            PreFilterVerdict::Proceed
        }
    }
}

impl FilterPlugin for NodePorts {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        if fits(pod, node) {
            FilterVerdict::Fits
        } else {
            FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON))
        }
    }
}

impl EnqueueExtensions for NodePorts {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 2] = [
            ClusterEventKind::new(EventResource::AssignedPod, ActionType::DELETE),
            ClusterEventKind::new(EventResource::Node, ActionType::ADD),
        ];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Class
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let had_a_port = |other: PodView<'_>| {
            let mut ports = other.class.host_ports.iter();
            ports.any(|port| {
                pod.class
                    .host_ports
                    .iter()
                    .any(|own| own.conflicts_with(port))
            })
        };
        match change.event.resource {
            EventResource::AssignedPod => {
                QueueingHint::queue_if(change.other.is_none_or(had_a_port))
            }
            _ => QueueingHint::Queue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    fn fit(running: &[(&str, &str, i32)], wanted: (&str, &str, i32)) -> bool {
        let mut cluster = Cluster::new([make_node("n")]);
        for (ip, protocol, port) in running {
            cluster = cluster.with_running(
                &make_pod(&format!("r-{ip}-{protocol}-{port}"))
                    .host_port(ip, protocol, *port)
                    .on("n"),
            );
        }
        let (ip, protocol, port) = wanted;
        let cluster = cluster.with_pod(&make_pod("p").host_port(ip, protocol, port));
        cluster.filter(&NodePorts) == [FilterVerdict::Fits]
    }

    #[test]
    fn ports_conflict_by_address_protocol_and_number() {
        assert!(!fit(&[("", "TCP", 8080)], ("", "TCP", 8080)));
        assert!(fit(&[("", "TCP", 8080)], ("", "UDP", 8080)));
        assert!(fit(&[("", "TCP", 8080)], ("", "TCP", 8081)));
        assert!(fit(&[("10.1.1.1", "TCP", 8080)], ("10.1.1.2", "TCP", 8080)));
        assert!(!fit(&[("10.1.1.1", "TCP", 8080)], ("0.0.0.0", "TCP", 8080)));
        assert!(!fit(&[("0.0.0.0", "", 8080)], ("10.1.1.1", "TCP", 8080)));
        assert!(fit(&[("", "TCP", 0)], ("", "TCP", 0)));
    }

    #[test]
    fn sidecars_hold_their_ports_and_other_init_containers_do_not() {
        for (restart_policy, fits) in [(Some("Always"), false), (None, true)] {
            let running = make_pod("r")
                .spec(serde_json::json!({"initContainers": [
                    {"name": "i", "restartPolicy": restart_policy, "ports": [{"hostPort": 8081}]}]}))
                .on("n");
            let cluster = Cluster::new([make_node("n")])
                .with_running(&running)
                .with_pod(&make_pod("p").host_port("", "TCP", 8081));
            assert_eq!(cluster.filter(&NodePorts) == [FilterVerdict::Fits], fits);
        }
    }
}
