//! Clusters to measure: nodes of 4 CPUs and 32 GiB in ten zones, with pods that run already.

use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{Node, Pod};
use serde_json::json;

use crate::profiled::{self, decode};

/// The zones of a cluster.
const ZONES: usize = 10;

/// An engine with the default profile that knows `nodes` nodes with `running` pods each.
pub(crate) fn engine(nodes: usize, running: usize) -> Engine {
    let mut engine = profiled::engine();
    for number in 0..nodes {
        engine.handle(ClusterEvent::NodeApplied(Arc::new(node(number))));
        for pod in 0..running {
            let pod = running_pod(number, pod);
            engine.handle(ClusterEvent::PodApplied(Arc::new(pod)));
        }
    }
    engine
}

/// The name of a node.
pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number}")
}

fn node(number: usize) -> Node {
    let name = node_name(number);
    decode(json!({
        "metadata": {"name": name, "uid": name, "labels": {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("zone-{}", number % ZONES)}},
        "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}}}))
}

fn running_pod(node: usize, number: usize) -> Pod {
    let name = format!("running-{node}-{number}");
    decode(json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": node_name(node), "schedulerName": "bayplan", "containers": [
            {"name": "c", "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}}}]},
        "status": {"phase": "Running"}}))
}
