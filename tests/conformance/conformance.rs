//! Bayplan against upstream's own scheduler on random clusters: any seeds.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program talks to a person"
)]

mod compare;
mod configuration;
mod deviations;
mod generator;
mod judge;
mod oracle;
mod report;
mod shrink;
mod statistics;
mod subject;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::generator::families::Families;
use crate::generator::{Size, generate};
use crate::judge::{Plan, judge};
use crate::statistics::Demand;
use crate::subject::Subject;

/// Every how many clusters one has odd objects, unless families are chosen.
const ODD_EACH: u64 = 10;

/// What the run is asked to do.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Nodes in a cluster at most.
    #[arg(long, default_value_t = 40)]
    nodes: usize,
    /// Pods in a cluster, those that run already included.
    #[arg(long, default_value_t = 60)]
    pods: usize,
    /// Families of features, joined by commas, or "all"; by default those whose plugins there are,
    /// and odd objects in every tenth cluster.
    #[arg(long)]
    features: Option<Families>,
    /// Upstream's scheduler; built from tests/controlplane by default.
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// Show every seed that differs, not only the first.
    #[arg(long)]
    keep_going: bool,
    /// Hold upstream against itself, with all its plugins: are its answers always the same, and what
    /// do the clusters exercise?
    #[arg(long)]
    upstream: bool,
    /// Print the cluster of the first seed instead of deciding it.
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let subject = if arguments.upstream {
        Subject::Upstream
    } else {
        Subject::Bayplan
    };
    let is_choice = arguments.features.is_some();
    let demand = Demand::on(arguments.seeds, is_choice);
    let families = arguments
        .features
        .unwrap_or_else(|| Families::of_plugins(&subject.plugins()));
    let plan = Plan {
        first: arguments.first,
        seeds: arguments.seeds,
        size: Size {
            nodes: arguments.nodes,
            pods: arguments.pods,
        },
        subject,
        families,
        odd_each: if is_choice { 0 } else { ODD_EACH },
        oracle: arguments.oracle,
        keep_going: arguments.keep_going,
    };
    if arguments.print {
        let cluster = generate(plan.first, plan.size, &plan.families, &subject.plugins());
        for object in cluster.objects {
            match serde_yaml::to_string(&object) {
                Ok(text) => print!("---\n{text}"),
                Err(error) => eprintln!("conformance: {error}"),
            }
        }
        return ExitCode::SUCCESS;
    }
    println!(
        "conformance: {} seeds from {}, families {}",
        plan.seeds,
        plan.first,
        plan.families.names()
    );
    match judge(&plan) {
        Ok(verdict) => {
            println!("{}", verdict.statistics);
            for difference in &verdict.differences {
                println!("{difference}");
            }
            // Where something differs the run ends early, and shares mean nothing.
            let shortfalls = if verdict.differences.is_empty() {
                verdict.statistics.shortfalls(&plan.families, demand)
            } else {
                Vec::new()
            };
            for sentence in &shortfalls {
                println!("conformance: {sentence}");
            }
            let count = verdict.differences.len();
            println!("conformance: {count} differences");
            if count == 0 && shortfalls.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}
