//! Bytes for a node, for a pod: what the allocator gave out, counted.
//!
//! The bytes that were asked for; what the allocator itself needs comes on top, some 8 to 16 bytes
//! for each allocation.

use std::alloc::System;
use std::fs;
use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::Pod;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::cluster::{Nodes, RunningPods, uid};
use crate::profiled::{self, decode};
use crate::report::{Table, whole};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Nodes of the cluster that is filled.
const NODES: usize = 5_000;
/// Pods that are added to it.
const PODS: usize = 150_000;
/// Deployments that the pods with a controller belong to.
const DEPLOYMENTS: usize = 500;

/// What is held at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) bytes: usize,
    pub(crate) allocations: usize,
}

/// A kind of pod.
struct Kind {
    name: &'static str,
    pod: fn(&RunningPods, usize) -> Pod,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "pod on a node, all alike",
        pod: |pods, number| pods.pod(number % NODES, number / NODES),
    },
    Kind {
        name: "pod on a node, labels of its own",
        pod: |pods, number| {
            let mut pod = pods.pod(number % NODES, number / NODES);
            let name = pod.metadata.name.clone().unwrap_or_default();
            let labels = pod.metadata.labels.get_or_insert_default();
            labels.insert("statefulset.kubernetes.io/pod-name".to_owned(), name);
            pod
        },
    },
    Kind {
        name: "pod on a node, of one of 500 deployments",
        pod: deployed,
    },
    Kind {
        name: "waiting pod, all alike",
        pod: |pods, number| {
            let mut pod = pods.pod(number % NODES, number / NODES);
            pod.spec.node_name = None;
            pod.status = decode(json!({"phase": "Pending"}));
            pod
        },
    },
];

/// What is held now.
pub(crate) fn held() -> Held {
    let stats = ALLOCATOR.stats();
    let allocations = stats.allocations - stats.deallocations;
    let bytes = stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated);
    Held { bytes, allocations }
}

/// Measures nodes and all kinds of pods.
pub(crate) fn measure(table: &mut Table) {
    let engine = profiled::engine();
    filled(table, "node, two labels", engine, NODES, |number, nodes| {
        ClusterEvent::NodeApplied(Arc::new(nodes.0.node(number)))
    });
    let engine = profiled::engine();
    filled(
        table,
        "node, 20 labels, 50 images",
        engine,
        NODES,
        |number, nodes| ClusterEvent::NodeApplied(Arc::new(laden(&nodes.0, number))),
    );
    for kind in &KINDS {
        let mut engine = profiled::engine();
        let nodes = Nodes::new();
        for number in 0..NODES {
            engine.handle(ClusterEvent::NodeApplied(Arc::new(nodes.node(number))));
        }
        filled(table, kind.name, engine, PODS, |number, makers| {
            ClusterEvent::PodApplied(Arc::new((kind.pod)(&makers.1, number)))
        });
    }
}

/// What the process has in memory, in bytes.
pub(crate) fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.unwrap_or(0_usize) * 1024
}

/// Hands `count` events to the engine and notes what it holds more for each.
fn filled(
    table: &mut Table,
    name: &str,
    mut engine: Engine,
    count: usize,
    event: impl Fn(usize, &(Nodes, RunningPods)) -> ClusterEvent,
) {
    let makers = (Nodes::new(), RunningPods::new());
    let before = held();
    for number in 0..count {
        engine.handle(event(number, &makers));
    }
    let after = held();
    let each = |after: usize, before: usize| after.saturating_sub(before) as f64 / count as f64;
    table.row([
        name.into(),
        count.into(),
        whole(each(after.bytes, before.bytes)),
        each(after.allocations, before.allocations).into(),
    ]);
}

/// A node as clouds make them.
fn laden(nodes: &Nodes, number: usize) -> bayplan::model::objects::Node {
    let mut node = nodes.node(number);
    let labels = node.metadata.labels.get_or_insert_default();
    for label in 0..18 {
        let value = format!("value-{}", number % (label + 1));
        labels.insert(format!("cloud.example.com/label-{label}"), value);
    }
    let images = (0..50).map(|image| {
        let name = format!(
            "registry.example.com/team/image-{}:v1",
            (image + number) % 200
        );
        json!({"names": [name], "sizeBytes": 50_000_000 + image})
    });
    node.status.images = decode(images.collect::<Vec<_>>().into());
    node
}

/// A pod as the controller of a deployment makes them.
fn deployed(pods: &RunningPods, number: usize) -> Pod {
    let mut pod = pods.pod(number % NODES, number / NODES);
    let deployment = number % DEPLOYMENTS;
    let set = format!("web-{deployment}-7d4b9c6f5d");
    pod.metadata = decode(json!({
        "name": format!("{set}-{:05x}", number), "namespace": format!("team-{}", deployment % 50),
        "uid": uid(4, number), "creationTimestamp": "2024-01-01T00:00:00Z",
        "labels": {"app": format!("web-{deployment}"), "pod-template-hash": "7d4b9c6f5d"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set,
            "uid": uid(5, deployment), "controller": true}]}));
    pod
}
