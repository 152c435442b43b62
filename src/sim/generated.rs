//! Clusters that nobody has to write: for questions about size.
//!
//! The same options and seed give the same cluster. Nodes are of three sizes, in zones, one in
//! fifty is reserved by a taint; pods belong to deployments of a hundred. Decisions are handed over
//! one by one and counted, since records with every node in them would be larger than the cluster.

mod objects;
mod options;
mod summary;

pub use options::{GenerateOptions, InvalidGenerateOptions, Shape};
pub use summary::{GeneratedSummary, ShapeSummary};

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;

use crate::engine::decision::{Decision, Outcome};
use crate::engine::event::ClusterEvent;
use crate::sim::cluster::Cluster;
use crate::sim::document::NamedDocument;
use crate::sim::error::SimError;
use crate::sim::generated::objects::Objects;
use crate::sim::profiles::Choice;
use crate::sim::record::RecordOutcome;
use crate::sim::simulation::Simulation;
use crate::sim::{SimulateOptions, note_extenders};

/// What became of a generated pod: the part of a decision record that is not about each node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GeneratedDecision {
    /// `namespace/name` of the pod.
    pub pod: String,
    /// What came out.
    pub outcome: RecordOutcome,
    /// The node that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The text of the pod's condition; none for a scheduled pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Generates a cluster, decides its pending pods in order, and hands each decision to `each`, which
/// may end the run. `documents` may hold profiles and what else is not a node or a pod.
///
/// # Errors
/// The first thing that is wrong with the documents or with the choice of the profile.
pub fn run(
    documents: Vec<NamedDocument>,
    options: &SimulateOptions,
    generate: &GenerateOptions,
    note: impl FnMut(String),
    mut each: impl FnMut(&GeneratedDecision) -> ControlFlow<()>,
) -> Result<GeneratedSummary, SimError> {
    let cluster = Cluster::read(documents)?;
    refuse_nodes_and_pods(&cluster)?;
    let choice = Choice::among(&cluster.profiles, options.profile.as_deref())?;
    note_extenders(&choice, note);
    let scheduler_name = choice.profiles().first().map(|p| p.scheduler_name.clone());
    let objects = Objects::new(*generate, options.seed, scheduler_name.unwrap_or_default());
    let mut simulation = Simulation::new(cluster, &choice, options)?;
    for node in objects.nodes() {
        simulation.handle(ClusterEvent::NodeApplied(Arc::new(node)));
    }
    for pod in objects.running_pods() {
        simulation.handle(ClusterEvent::PodApplied(Arc::new(pod)));
    }
    let mut summary = GeneratedSummary::new(*generate);
    for number in 0..generate.pods {
        let (shape, pod) = objects.pending_pod(number);
        let Some(decision) = simulation.decide(Arc::new(pod)) else {
            continue;
        };
        let decision = GeneratedDecision::from(&decision);
        summary.add(shape, &decision);
        if each(&decision).is_break() {
            break;
        }
    }
    Ok(summary)
}

fn refuse_nodes_and_pods(cluster: &Cluster) -> Result<(), SimError> {
    let nodes = cluster.nodes.iter().map(|node| &node.place);
    let pods = cluster.pods.iter().map(|pod| &pod.place);
    match nodes.chain(pods).next() {
        None => Ok(()),
        Some(place) => Err(SimError::document(
            place.clone(),
            "nodes and pods cannot be given when they are generated",
            "leave them out, or leave --generate out",
        )),
    }
}

impl From<&Decision> for GeneratedDecision {
    fn from(decision: &Decision) -> Self {
        let (outcome, node, message) = match &decision.outcome {
            Outcome::Scheduled { node } => (RecordOutcome::Scheduled, Some(node), ""),
            Outcome::Unschedulable { message } => (RecordOutcome::Unschedulable, None, &**message),
            Outcome::Error { message } => (RecordOutcome::Error, None, &**message),
            Outcome::Suspended | Outcome::Skipped => (RecordOutcome::Error, None, "not decided"),
        };
        Self {
            pod: decision.pod.to_string(),
            outcome,
            node: node.map(ToString::to_string),
            message: message.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
