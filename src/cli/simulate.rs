//! `bayplan simulate`: what would be decided for the pods in cluster files, without a cluster.

mod generated;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::finding::Finding;
use crate::cli::{Exit, Failure, Output, input, yaml};
use crate::engine::cache::tie_break::TieBreak;
use crate::sim::generated::GenerateOptions;
use crate::sim::{self, NamedDocument, SimulateOptions};

/// Decide where the pending pods of cluster files go, without a cluster.
///
/// The files hold ordinary Kubernetes objects, as 'kubectl get -o yaml' prints them. Pods with a
/// node are taken as placed, the others are scheduled in the order of the queue. Without a
/// SchedulerProfile in the files kube-scheduler's default profile decides. HTTP extenders are not
/// asked: a profile that has some decides without them, and a note says so.
#[derive(Args, Debug)]
pub(super) struct SimulateArgs {
    /// Cluster files, YAML or JSON; - reads standard input.
    #[arg(value_name = "FILE", required_unless_present = "generate")]
    pub(super) files: Vec<PathBuf>,

    /// Generate nodes and pods: nodes=N,pods=M, optionally with running=R,zones=Z,workload=NAME.
    ///
    /// R pods run on each node already; M pods of deployments of a hundred wait. Workloads are
    /// plain, spread-zone, anti-affinity-host, affinity-zone and node-affinity-zone; without one the
    /// deployments take them in turn. The same options and --seed give the same cluster. The answer is
    /// a table of counts, or a line for each pod without what was found about each node. FILEs may
    /// hold profiles and whatever is not a node or a pod.
    #[arg(long, value_name = "OPTIONS", conflicts_with = "stateless")]
    pub(super) generate: Option<GenerateOptions>,

    /// Let the SchedulerProfile of this name decide for all pods, whatever their schedulerName.
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,

    /// Which of equally good nodes is taken.
    #[arg(long, value_enum, value_name = "RULE", default_value_t = TieBreakRule::Seeded)]
    pub(super) tie_break: TieBreakRule,

    /// The seed for --tie-break seeded.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,

    /// Decide each pod against the files alone, as if no other pod had been placed.
    #[arg(long)]
    pub(super) stateless: bool,

    /// Form of the answer: a table for people, or a decision record per line.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    pub(super) output: Format,
}

/// Which of equally good nodes is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TieBreakRule {
    /// One that follows from the seed: pods spread evenly
    Seeded,
    /// The one whose name comes first
    Name,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// One line a pod, with the reasons
    Table,
    /// One JSON object a line
    Jsonl,
}

pub(super) fn run(arguments: &SimulateArgs, output: &mut Output<'_>) -> Result<Exit, Failure> {
    let mut documents = Vec::new();
    for path in &arguments.files {
        read(path, &mut documents)?;
    }
    let options = SimulateOptions {
        profile: arguments.profile.clone(),
        tie_break: match arguments.tie_break {
            TieBreakRule::Seeded => TieBreak::Seeded,
            TieBreakRule::Name => TieBreak::Name,
        },
        seed: arguments.seed,
        stateless: arguments.stateless,
    };
    if let Some(generate) = &arguments.generate {
        return generated::run(documents, &options, generate, arguments.output, output);
    }
    let mut notes = Vec::new();
    let records = sim::run_noting(documents, &options, |note| notes.push(note))
        .map_err(|error| Failure::usage(error.to_string()))?;
    for note in notes {
        output.note(format!("note: {note}"));
    }
    match arguments.output {
        Format::Table => output.text(&sim::table(&records))?,
        Format::Jsonl => {
            for record in &records {
                let line = serde_json::to_string(record)
                    .map_err(|error| Failure::usage(format!("cannot print a record: {error}")))?;
                output.line(line)?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Reads the documents of one cluster file.
fn read(path: &Path, documents: &mut Vec<NamedDocument>) -> Result<(), Failure> {
    let (file, text) = (input::name(path), input::read(path)?);
    let read = yaml::documents(&text)
        .map_err(|error| Failure::usage(Finding::unreadable(&file, error).to_string()))?;
    documents.extend(
        read.into_iter()
            .enumerate()
            .map(|(index, document)| NamedDocument {
                file: file.clone(),
                index: index + 1,
                value: document.value,
            }),
    );
    Ok(())
}
