//! Clusters to measure: nodes of 4 CPUs and 32 GiB in ten zones, with pods that run already.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{Node, Pod};
use serde_json::json;

use crate::profiled::{self, decode};

/// The zones of a cluster.
const ZONES: usize = 10;

/// How large a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Pods that run on each.
    pub(crate) running: usize,
}

/// Makes nodes.
pub(crate) struct Nodes(Node);

/// Makes pods that run.
pub(crate) struct RunningPods(Pod);

// === impl Size ===

impl Size {
    /// Pods that run on all nodes together.
    pub(crate) fn pods(self) -> usize {
        self.nodes * self.running
    }
}

impl FromStr for Size {
    type Err = String;

    /// `NODESxRUNNING`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('x').and_then(|(nodes, running)| {
            let (nodes, running) = (nodes.parse().ok()?, running.parse().ok()?);
            Some(Self { nodes, running })
        });
        parts.ok_or_else(|| format!("{text:?} is no size; write NODESxRUNNING, such as 5000x30"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.nodes, self.running)
    }
}

/// An engine with the default profile that knows a cluster of this size.
pub(crate) fn engine(size: Size) -> Engine {
    let mut engine = profiled::engine();
    let (nodes, pods) = (Nodes::new(), RunningPods::new());
    for number in 0..size.nodes {
        engine.handle(ClusterEvent::NodeApplied(Arc::new(nodes.node(number))));
        for pod in 0..size.running {
            let pod = pods.pod(number, pod);
            engine.handle(ClusterEvent::PodApplied(Arc::new(pod)));
        }
    }
    engine
}

/// The name of a node.
pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// A UID as the API server draws them, for the thing with this number of this kind.
pub(crate) fn uid(kind: u16, number: usize) -> String {
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (high, low) = (mixed >> 32, number as u64 & 0xffff_ffff_ffff);
    format!("{high:08x}-{kind:04x}-4000-8000-{low:012x}")
}

// === impl Nodes ===

impl Nodes {
    pub(crate) fn new() -> Self {
        Self(decode(json!({
            "metadata": {"labels": {}},
            "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}}})))
    }

    /// The node with this number.
    pub(crate) fn node(&self, number: usize) -> Node {
        let mut node = self.0.clone();
        let name = node_name(number);
        let labels = node.metadata.labels.get_or_insert_default();
        labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
        let zone = format!("zone-{}", number % ZONES);
        labels.insert("topology.kubernetes.io/zone".to_owned(), zone);
        node.metadata.uid = Some(uid(1, number));
        node.metadata.name = Some(name);
        node
    }
}

// === impl RunningPods ===

impl RunningPods {
    pub(crate) fn new() -> Self {
        Self(decode(json!({
            "metadata": {"namespace": "default", "creationTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {"schedulerName": "bayplan", "priority": 0, "containers": [
                {"name": "c", "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}}}]},
            "status": {"phase": "Running", "startTime": "2024-01-01T00:00:01Z"}})))
    }

    /// The pod with this number on the node with that number.
    pub(crate) fn pod(&self, node: usize, number: usize) -> Pod {
        let mut pod = self.0.clone();
        pod.metadata.name = Some(format!("running-{node}-{number}"));
        pod.metadata.uid = Some(uid(2, node << 8 | number));
        pod.spec.node_name = Some(node_name(node));
        pod
    }
}
