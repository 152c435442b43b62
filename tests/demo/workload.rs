//! Nodes and pods of all kinds, and what must become of each pod.

use k8s_openapi::api::core::v1::{Node, Pod};

use crate::harness::builders::{PodBuilder, make_node, make_pod};

/// The profile that the chart installs.
pub(crate) const SCHEDULER: &str = "bayplan";
/// A priority class of the workload, with its value.
pub(crate) const HIGH_PRIORITY: (&str, i32) = ("demo-high", 1000);

/// What must become of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It gets a node.
    Bound,
    /// It gets none, and the reason is said as kube-scheduler says it.
    Unschedulable,
    /// It waits for its gates.
    Gated,
}

/// A pod and what must become of it.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// The pod.
    pub(crate) pod: PodBuilder,
    /// Its name.
    pub(crate) name: String,
    /// What must become of it.
    pub(crate) expected: Expected,
}

/// `count` nodes in three zones; every tenth is tainted, every fourth is in the pool `fast`.
pub(crate) fn nodes(count: usize) -> Vec<Node> {
    let node = |i: usize| {
        let mut node = make_node(&format!("node-{i:05}"))
            .label("topology.kubernetes.io/zone", &format!("zone-{}", i % 3))
            .label("pool", if i.is_multiple_of(4) { "fast" } else { "plain" });
        if i % 10 == 9 {
            node = node.taint("dedicated", "batch", "NoSchedule");
        }
        node.build()
    };
    (0..count).map(node).collect()
}

/// `count` pods: of every forty, one is gated, three fit nowhere, and the others fit and are
/// plain, pinned to a zone, tolerant, of high priority, or want a host port.
///
/// Sizes leave room for all that fit: ten pods a node of 4 CPUs.
pub(crate) fn pods(nodes: usize, batch: &str, count: usize) -> Vec<Planned> {
    let ports = nodes / 2;
    (0..count).map(|i| planned(batch, i, ports)).collect()
}

fn planned(batch: &str, i: usize, ports: usize) -> Planned {
    let name = format!("{batch}-{i:05}");
    let pod = make_pod(&name)
        .scheduler(SCHEDULER)
        .requests("100m", "128Mi");
    let (pod, expected) = match i % 40 {
        0 => (pod.gate("demo/hold"), Expected::Gated),
        1 => (pod.requests("64", "128Mi"), Expected::Unschedulable),
        2 => (
            pod.node_selector("pool", "nowhere"),
            Expected::Unschedulable,
        ),
        3 => (
            pod.requests("64", "1Ti")
                .node_affinity_in("pool", &["fast"]),
            Expected::Unschedulable,
        ),
        4..=9 => (
            pod.node_affinity_in("topology.kubernetes.io/zone", &["zone-1"]),
            Expected::Bound,
        ),
        10..=13 => (pod.toleration("dedicated", "batch"), Expected::Bound),
        14..=17 => (pod.priority_class(HIGH_PRIORITY.0), Expected::Bound),
        18 if i / 40 < ports => (pod.host_port(18_080), Expected::Bound),
        19..=21 => (pod.init_container("200m", "64Mi", true), Expected::Bound),
        22..=24 => (pod.node_selector("pool", "fast"), Expected::Bound),
        _ => (pod, Expected::Bound),
    };
    Planned {
        pod,
        name,
        expected,
    }
}

/// The same pod for another scheduler, under another name.
pub(crate) fn twin(planned: &Planned, scheduler: &str) -> Pod {
    let mut pod = planned.pod.clone().scheduler(scheduler).build();
    pod.metadata.name = Some(format!("twin-{}", planned.name));
    pod
}
