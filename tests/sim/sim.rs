//! Random histories of a cluster with a scheduler in it: any seeds.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program talks to a person"
)]

mod api_server;
mod bomb;
#[path = "../conformance"]
mod conformance {
    #[expect(dead_code, reason = "the conformance tests use the rest of it")]
    pub(crate) mod generator;
}
mod controllers;
mod doorkeeper;
mod executor;
mod extenders;
mod judge;
mod nominations;
mod pool;
mod replica;
mod run;
mod steps;
mod store;
mod traced;
mod watches;
mod world;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;
use conformance::generator;

use crate::run::{brief, report, run, run_steps};
use crate::world::{Step, Tally, steps_of};

/// What the run is asked to do.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Go on after a history that shows a fault, and look for no shorter ones.
    #[arg(long)]
    keep_going: bool,
    /// Take only these steps of the first seed, by number and joined by commas.
    #[arg(long, value_delimiter = ',')]
    steps: Option<Vec<u64>>,
    /// Write down everything that happens in the history of the first seed.
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let first = arguments.first;
    if arguments.trace || arguments.steps.is_some() {
        let steps = match &arguments.steps {
            Some(indices) => chosen(first, indices),
            None => steps_of(first),
        };
        let verdict = run_steps(first, steps, arguments.trace);
        for finding in &verdict.findings {
            println!("{finding}");
        }
        println!("sim: {:?}", verdict.tally);
        return ExitCode::from(u8::from(!verdict.findings.is_empty()));
    }
    let (tally, failed) = run_all(&arguments);
    println!("sim: {tally:?}");
    println!("sim: {failed} histories show a fault");
    ExitCode::from(u8::from(failed > 0))
}

/// The steps of `seed` whose index is among `indices`, each at its time.
fn chosen(seed: u64, indices: &[u64]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut waited = Duration::ZERO;
    for mut step in steps_of(seed) {
        waited += step.wait;
        if indices.contains(&step.index) {
            step.wait = waited;
            waited = Duration::ZERO;
            steps.push(step);
        }
    }
    steps
}

/// Runs all seeds, on all cores. Gives what happened, and how many histories show a fault.
fn run_all(arguments: &Arguments) -> (Tally, u64) {
    let next = AtomicU64::new(arguments.first);
    let end = arguments.first.saturating_add(arguments.seeds);
    let sum = Mutex::new((Tally::default(), 0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let verdict = run(seed);
            let text = (!verdict.findings.is_empty()).then(|| {
                if arguments.keep_going {
                    brief(seed, &verdict)
                } else {
                    report(seed, &verdict)
                }
            });
            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
            sum.0.add(&verdict.tally);
            if let Some(text) = text {
                sum.1 += 1;
                println!("{text}");
                if !arguments.keep_going {
                    next.store(end, Ordering::Relaxed);
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    sum.into_inner().unwrap_or_else(PoisonError::into_inner)
}
