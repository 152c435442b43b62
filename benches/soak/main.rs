//! Bayplan's memory over an hour of churn, on a real control plane: pods, namespaces and nodes come
//! and go at a fixed rate while two replicas run, and neither the leader nor the standby may grow.
//!
//! `make soak [MINUTES=60] [NODES=1000] [RUNNING=10000] [RATE=20]`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints what it measured"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![allow(
    clippy::cast_precision_loss,
    reason = "figures of a benchmark are small"
)]

#[path = "../end_to_end/arena.rs"]
#[allow(dead_code, reason = "nobody competes here")]
mod arena;
mod arguments;
mod churn;
#[path = "../../tests/harness/mod.rs"]
mod harness;
mod judgement;
#[path = "../line.rs"]
mod line;
mod nodes;
#[path = "../end_to_end/output.rs"]
mod output;
mod population;
mod replicas;
mod report;
#[path = "../end_to_end/requests.rs"]
#[allow(dead_code, reason = "nothing is cleared here")]
mod requests;
mod samples;
#[path = "../end_to_end/words.rs"]
mod words;
#[path = "../workload_file.rs"]
mod workload_file;
mod writes;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use kube::Client;

use crate::arena::Arena;
use crate::arguments::Arguments;
use crate::churn::Churn;
use crate::harness::interruptible;
use crate::harness::kubelet::FakeKubelet;
use crate::population::Population;
use crate::replicas::Replicas;
use crate::report::Report;
use crate::samples::{INTERVAL, Sampler};

/// After the churn, for pods that still wait.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks at them.
const POLL: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> ExitCode {
    interruptible::run("soak", soak()).await
}

/// Whether nothing was found.
async fn soak() -> anyhow::Result<bool> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let arguments = Arguments::read(&words)?;
    let Arguments { nodes, running, .. } = arguments;
    eprintln!("soak: starting a control plane with {nodes} nodes and {running} pods on them");
    let arena = Arena::open(nodes, &arguments.binary).await?;
    let kubelet = FakeKubelet::start(arena.admin().clone());
    let mut population = Population::new(running, arguments.rate);
    churn::fill(&arena, &mut population).await?;
    let mut replicas = Replicas::start(&arena).await?;
    eprintln!(
        "soak: {} pods a second for {} minutes",
        arguments.rate, arguments.minutes
    );
    let mut report = Report::new(&arguments);
    let outcome = observe(&arena, &arguments, population, &mut replicas, &mut report).await;
    // What was seen until something went wrong is worth reading.
    if let Err(error) = outcome {
        report.found(format!("{error:#}"));
    }
    drop((replicas, kubelet));
    report.conclude();
    report.save(&arguments.output)?;
    println!("{}", report.markdown());
    eprintln!("soak: figures are in {}", arguments.output.display());
    arena.close()?;
    Ok(report.passed())
}

/// Lets everything come and go, and takes samples meanwhile.
async fn observe(
    arena: &Arena,
    arguments: &Arguments,
    population: Population,
    replicas: &mut Replicas,
    report: &mut Report,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let end = began + arguments.duration();
    let mut sampler = Sampler::start(arena.admin(), replicas, began)?;
    let mut churn = Churn::start(arena, population, arguments.rate, end);
    for number in 1.. {
        let due = began + INTERVAL * number;
        if due > end {
            break;
        }
        tokio::time::sleep_until(due.into()).await;
        replicas.ensure_running()?;
        churn.ensure_running()?;
        report.add(sampler.take(replicas).await?);
        report.save(&arguments.output)?;
    }
    churn.finish().await?;
    let unbound = wait_for_the_last(arena.admin()).await?;
    replicas.ensure_running()?;
    if !unbound.is_empty() {
        report.found(format!(
            "{} pods that fit had no node {PATIENCE:?} after the churn, among them {}",
            unbound.len(),
            unbound[0]
        ));
    }
    replicas
        .check_hints(&arena.control_plane().kubeconfig())
        .await
}

/// The pods that have no node in the end although they fit.
async fn wait_for_the_last(client: &Client) -> anyhow::Result<Vec<String>> {
    let asked = Instant::now();
    loop {
        let mut unbound = samples::unbound(client).await?;
        unbound.retain(|name| population::fits(name));
        if unbound.is_empty() || asked.elapsed() > PATIENCE {
            return Ok(unbound);
        }
        tokio::time::sleep(POLL).await;
    }
}
