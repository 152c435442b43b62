//! The simulator: the same engine, driven from cluster files instead of an API server.
//!
//! Documents go in, completed and checked as the API server would; each pending pod is decided
//! once, in queue order; decision records come out. The same documents and options give the same
//! records, byte for byte.

mod cluster;
mod defaulting;
mod details;
mod document;
mod error;
pub mod generated;
mod profiles;
mod record;
mod simulation;
mod table;

pub use document::{NamedDocument, Place};
pub use error::SimError;
pub use record::{DecisionRecord, NodeScore, PluginScore, RecordOutcome, RejectionRecord};
pub use table::table;

use serde_json::Value;

use crate::engine::cache::tie_break::TieBreak;
use crate::sim::cluster::Cluster;
use crate::sim::profiles::Choice;
use crate::sim::simulation::Simulation;

/// How a simulation is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulateOptions {
    /// The profile that decides for every pending pod, by the name of its object or by its
    /// `schedulerName`. Without it each pod is decided by the profile that it names.
    pub profile: Option<String>,
    /// Which of equally good nodes wins.
    pub tie_break: TieBreak,
    /// Keys the ring of ties.
    pub seed: u64,
    /// Decide each pod against the files alone, as if no other pending pod were placed.
    pub stateless: bool,
}

/// Decides every pending pod of `documents` once, in queue order.
///
/// Pods that no profile of the files answers for, that have ended or that are being deleted get no
/// record, as they get no attempt in a cluster.
///
/// # Errors
/// The first thing that is wrong with the documents or with the choice of the profile.
pub fn run(
    documents: Vec<NamedDocument>,
    options: &SimulateOptions,
) -> Result<Vec<DecisionRecord>, SimError> {
    run_noting(documents, options, |_| ())
}

/// As [`run`], but as a cluster's scheduler decides: by what it keeps of each class of pods where
/// it keeps something. The records hold nothing about single nodes; otherwise they are the same.
///
/// # Errors
/// As [`run`].
pub fn run_live(
    documents: Vec<NamedDocument>,
    options: &SimulateOptions,
) -> Result<Vec<DecisionRecord>, SimError> {
    Ok(simulation(documents, options, |_| ())?.run_live())
}

/// As [`run`]; `note` is told what a person should know beside the records, in sentences.
///
/// # Errors
/// As [`run`].
pub fn run_noting(
    documents: Vec<NamedDocument>,
    options: &SimulateOptions,
    note: impl FnMut(String),
) -> Result<Vec<DecisionRecord>, SimError> {
    Ok(simulation(documents, options, note)?.run())
}

fn simulation(
    documents: Vec<NamedDocument>,
    options: &SimulateOptions,
    note: impl FnMut(String),
) -> Result<Simulation, SimError> {
    let cluster = Cluster::read(documents)?;
    let choice = Choice::among(&cluster.profiles, options.profile.as_deref())?;
    note_extenders(&choice, note);
    Simulation::new(cluster, &choice, options)
}

/// Tells which profiles have extenders, which nobody asks here.
fn note_extenders(choice: &Choice, mut note: impl FnMut(String)) {
    for profile in choice.profiles() {
        let count = profile.extenders.len();
        if count > 0 {
            note(format!(
                "the profile for {:?} has {count} HTTP extender(s), which are not asked here: what \
                 they would refuse or prefer is left out, and resources that they manage are not \
                 checked",
                profile.scheduler_name
            ));
        }
    }
}

/// The objects of `documents` as an API server would have stored them: defaults are written out.
///
/// # Errors
/// The first thing that is wrong with the documents.
pub fn complete(documents: Vec<NamedDocument>) -> Result<Vec<Value>, SimError> {
    let objects = cluster::complete(documents)?;
    Ok(objects.into_iter().map(|object| object.value).collect())
}

#[cfg(test)]
mod tests;
