//! What one event costs, by kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::cache::listers::{Listed, ObjectEvent};
use bayplan::engine::effect::{EffectAction, EffectOutcome};
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::bindings::carry_out;
use crate::cluster::{Nodes, RunningPods, Size};
use crate::profiled::decode;
use crate::report::Table;
use crate::stopwatch::Stopwatch;
use crate::workload::Workload;

/// Events of a kind that are measured.
const EVENTS: usize = 1_000;

/// A cluster, and the table in which its events are noted.
pub(crate) struct Events<'a> {
    engine: &'a mut Engine,
    size: Size,
    table: &'a mut Table,
    nodes: Nodes,
    pods: RunningPods,
}

impl<'a> Events<'a> {
    pub(crate) fn new(engine: &'a mut Engine, size: Size, table: &'a mut Table) -> Self {
        Self {
            engine,
            size,
            table,
            nodes: Nodes::new(),
            pods: RunningPods::new(),
        }
    }

    /// Measures every kind. The cluster is the same after it.
    pub(crate) fn measure(&mut self) {
        self.of_nodes();
        self.of_pods_on_nodes();
        self.of_waiting_pods();
        self.of_bindings();
        self.of_listed_objects();
    }

    fn of_nodes(&mut self) {
        let (first, size) = (self.size.nodes, self.size.nodes.min(EVENTS));
        let new = |nodes: &Nodes| (first..first + size).map(|i| nodes.node(i)).collect();
        let old = |nodes: &Nodes| (0..size).map(|i| nodes.node(i)).collect::<Vec<_>>();
        let added: Vec<Node> = new(&self.nodes);
        self.time("node added", added.iter().map(node_applied));
        self.time("node removed", added.iter().map(node_deleted));
        let known = old(&self.nodes);
        let changed = |change: fn(&mut Node)| {
            let changed = known.iter().cloned().map(|mut node| {
                change(&mut node);
                node
            });
            changed.collect::<Vec<_>>()
        };
        let labelled = changed(|node| {
            let labels = node.metadata.labels.get_or_insert_default();
            labels.insert("rack".to_owned(), "r1".to_owned());
        });
        let tainted = changed(|node| node.spec.taints = taints());
        let larger = changed(|node| {
            node.status
                .allocatable
                .insert("cpu".to_owned(), "5".to_owned());
        });
        self.time(
            "node updated: nothing that counts",
            known.iter().map(node_applied),
        );
        self.time("node updated: label", labelled.iter().map(node_applied));
        self.time("node updated: taint", tainted.iter().map(node_applied));
        self.time("node updated: allocatable", larger.iter().map(node_applied));
        self.time("node with its pods removed", known.iter().map(node_deleted));
        self.time("node with its pods added", known.iter().map(node_applied));
    }

    fn of_pods_on_nodes(&mut self) {
        let pods = self.running_pods();
        let labelled: Vec<Pod> = pods.iter().cloned().map(with_label).collect();
        let updated = || pods.iter().cloned().map(with_generation);
        self.time("pod on a node added", pods.iter().map(pod_applied));
        self.time(
            "pod on a node updated: nothing that counts",
            updated().map(|pod| pod_applied(&pod)),
        );
        self.time(
            "pod on a node updated: label",
            labelled.iter().map(pod_applied),
        );
        self.time("pod on a node removed", labelled.iter().map(pod_deleted));
    }

    fn running_pods(&self) -> Vec<Pod> {
        let on = |i: usize| {
            self.pods
                .pod(i % self.size.nodes, 200 + i / self.size.nodes)
        };
        (0..EVENTS).map(on).collect()
    }

    fn of_waiting_pods(&mut self) {
        let pods: Vec<Pod> = self.running_pods().into_iter().map(unbound).collect();
        let labelled: Vec<Pod> = pods.iter().cloned().map(with_label).collect();
        self.time("waiting pod added", pods.iter().map(pod_applied));
        self.time(
            "waiting pod updated: label",
            labelled.iter().map(pod_applied),
        );
        self.time("waiting pod removed", labelled.iter().map(pod_deleted));
    }

    /// The way of a pod after its decision: the answer to the binding, then the watch.
    fn of_bindings(&mut self) {
        let pods: Vec<Pod> = self.running_pods().into_iter().map(unbound).collect();
        pods.iter()
            .map(pod_applied)
            .for_each(|event| self.engine.handle(event));
        while self.engine.schedule_one().is_some() {}
        let effects: Vec<_> = self.engine.drain_effects().collect();
        let mut nodes = BTreeMap::new();
        let mut answers = Vec::new();
        for effect in effects {
            if let EffectAction::Bind { node } = effect.action {
                nodes.insert(effect.pod.name.to_string(), node.to_string());
                answers.push(ClusterEvent::EffectCompleted {
                    id: effect.id,
                    outcome: EffectOutcome::Done {
                        resource_version: None,
                    },
                });
            }
        }
        let bound: Vec<Pod> = pods
            .iter()
            .filter_map(|pod| {
                let mut bound = pod.clone();
                bound.spec.node_name = Some(nodes.get(pod.metadata.name.as_ref()?)?.clone());
                Some(bound)
            })
            .collect();
        self.time("binding answered", answers);
        self.time("binding seen by the watch", bound.iter().map(pod_applied));
        pods.iter()
            .map(pod_deleted)
            .for_each(|event| self.engine.handle(event));
        carry_out(self.engine);
    }

    fn of_listed_objects(&mut self) {
        self.of_kind::<Namespace>(
            "namespace",
            |name| json!({"metadata": {"name": name, "labels": {"team": name}}}),
        );
        self.of_kind::<Service>("service", |name| {
            json!({"metadata": {"name": name, "namespace": "default"},
                "spec": {"selector": {"app": name}}})
        });
        self.of_kind::<PersistentVolume>("volume", |name| {
            json!({"metadata": {"name": name}, "spec": {"capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "csi": {"driver": "csi.example.com", "volumeHandle": name}},
                "status": {"phase": "Available"}})
        });
        self.of_kind::<PersistentVolumeClaim>("claim", |name| {
            json!({"metadata": {"name": name, "namespace": "default"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}})
        });
    }

    fn of_kind<K: Listed + DeserializeOwned>(&mut self, word: &str, make: fn(&str) -> Value) {
        let objects: Vec<Arc<K>> = (0..EVENTS)
            .map(|number| Arc::new(decode(make(&format!("object-{number}")))))
            .collect();
        let applied = |object: &Arc<K>| ObjectEvent::Applied(Arc::clone(object));
        let deleted = |object: &Arc<K>| ObjectEvent::Deleted(Arc::clone(object));
        let listed = |event| ClusterEvent::Listed(K::event(event));
        self.time(
            &format!("{word} added"),
            objects.iter().map(applied).map(listed),
        );
        self.time(
            &format!("{word} removed"),
            objects.iter().map(deleted).map(listed),
        );
    }

    fn time(&mut self, kind: &str, events: impl IntoIterator<Item = ClusterEvent>) {
        let events: Vec<_> = events.into_iter().collect();
        let count = u32::try_from(events.len()).expect("few events must be measured");
        let watch = Stopwatch::start();
        for event in events {
            self.engine.handle(event);
        }
        let each = watch.elapsed().as_secs_f64() / f64::from(count);
        carry_out(self.engine);
        self.table.row([
            kind.into(),
            self.size.nodes.into(),
            self.size.pods().into(),
            (each * 1e6).into(),
        ]);
    }
}

/// Lets the engine count pods by domain, as it does where pods want to be apart.
pub(crate) fn count_terms(engine: &mut Engine, workloads: &[Workload], nodes: usize) {
    let counted = [
        "anti-affinity-host",
        "spread-zone-hard",
        "preferred-affinity-host",
    ];
    for workload in workloads
        .iter()
        .filter(|w| counted.contains(&w.name.as_str()))
    {
        engine.handle(ClusterEvent::PodApplied(workload.pod(0, nodes)));
        engine.schedule_one();
        carry_out(engine);
        engine.handle(ClusterEvent::PodDeleted(workload.pod(0, nodes)));
        carry_out(engine);
    }
}

fn taints() -> Vec<k8s_openapi::api::core::v1::Taint> {
    decode(json!([{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]))
}

fn node_applied(node: &Node) -> ClusterEvent {
    ClusterEvent::NodeApplied(Arc::new(node.clone()))
}

fn node_deleted(node: &Node) -> ClusterEvent {
    ClusterEvent::NodeDeleted(Arc::new(node.clone()))
}

fn pod_applied(pod: &Pod) -> ClusterEvent {
    ClusterEvent::PodApplied(Arc::new(pod.clone()))
}

fn pod_deleted(pod: &Pod) -> ClusterEvent {
    ClusterEvent::PodDeleted(Arc::new(pod.clone()))
}

fn unbound(mut pod: Pod) -> Pod {
    pod.spec.node_name = None;
    pod.status.phase = Some("Pending".to_owned());
    pod.status.start_time = None;
    pod
}

fn with_label(mut pod: Pod) -> Pod {
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert("version".to_owned(), "2".to_owned());
    pod
}

fn with_generation(mut pod: Pod) -> Pod {
    pod.metadata.generation = Some(2);
    pod
}
