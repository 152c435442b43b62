//! How the cost of a decision grows: the exponent of a power of the size, by least squares.

use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::Pod;
use serde_json::json;

use crate::cluster::{self, RunningPods, Size, node_name};
use crate::decisions;
use crate::line::Line;
use crate::profiled::decode;
use crate::report::Table;
use crate::workload::Workload;

/// Pods on each node against which the cost is fitted.
const RUNNING: [usize; 4] = [3, 10, 30, 90];
/// The nodes on which they run.
const NODES: usize = 2_000;
/// Terms of other pods against which the cost is fitted.
const TERMS: [usize; 4] = [10, 100, 1_000, 10_000];

/// Costs of one workload, by size.
#[derive(Debug, Default)]
pub(crate) struct Costs(Vec<(f64, f64)>);

// === impl Costs ===

impl Costs {
    /// At `size` something takes `seconds`.
    pub(crate) fn push(&mut self, size: usize, seconds: f64) {
        self.0.push((size as f64, seconds));
    }

    /// The k of cost ~ size^k that fits best; none with fewer than two sizes.
    pub(crate) fn exponent(&self) -> Option<f64> {
        let points = self.0.iter().map(|(size, cost)| (size.ln(), cost.ln()));
        let line = Line::fit(&points.collect::<Vec<_>>())?;
        Some(line.slope)
    }

    /// Adds a row with the sizes, the costs in microseconds and the exponent.
    pub(crate) fn note(&self, table: &mut Table, workload: &str, axis: &str) {
        let list = |part: &dyn Fn(&(f64, f64)) -> String| {
            self.0.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        table.row([
            workload.into(),
            axis.into(),
            list(&|(size, _)| format!("{size:.0}")).into(),
            list(&|(_, cost)| format!("{:.1}", cost * 1e6)).into(),
            self.exponent().into(),
        ]);
    }
}

/// Fits the cost of each workload against running pods.
pub(crate) fn against_running_pods(workloads: &[&Workload], table: &mut Table) {
    let mut costs: Vec<_> = workloads.iter().map(|_| Costs::default()).collect();
    for running in RUNNING {
        let size = Size {
            nodes: NODES,
            running,
        };
        let mut engine = cluster::engine(size);
        for (workload, costs) in workloads.iter().zip(&mut costs) {
            let measured = decisions::measure(&mut engine, workload, NODES);
            costs.push(size.pods(), measured.seconds_each());
        }
    }
    for (workload, costs) in workloads.iter().zip(&costs) {
        costs.note(table, &workload.name, "running pods");
    }
}

/// Fits the cost of each workload against the terms of pods that run, each of which keeps away
/// from others of its own kind and prefers zones of its own kind.
pub(crate) fn against_terms(workloads: &[&Workload], table: &mut Table) {
    let mut costs: Vec<_> = workloads.iter().map(|_| Costs::default()).collect();
    for terms in TERMS {
        let mut engine = cluster::engine(Size {
            nodes: NODES,
            running: 3,
        });
        add_terms(&mut engine, terms);
        for (workload, costs) in workloads.iter().zip(&mut costs) {
            let measured = decisions::measure(&mut engine, workload, NODES);
            costs.push(terms, measured.seconds_each());
        }
    }
    for (workload, costs) in workloads.iter().zip(&costs) {
        costs.note(table, &workload.name, "terms of other pods");
    }
}

fn add_terms(engine: &mut Engine, terms: usize) {
    let pods = RunningPods::new();
    for number in 0..terms {
        let mut pod: Pod = pods.pod(number % NODES, 100 + number / NODES);
        let labels = json!({"kind": format!("kind-{number}")});
        let term = |key| json!({"topologyKey": key, "labelSelector": {"matchLabels": labels}});
        pod.spec.affinity = Some(decode(json!({
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                term("kubernetes.io/hostname")]},
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term("topology.kubernetes.io/zone")}]}})));
        pod.metadata.labels = Some(decode(labels));
        pod.spec.node_name = Some(node_name(number % NODES));
        engine.handle(ClusterEvent::PodApplied(Arc::new(pod)));
    }
}
