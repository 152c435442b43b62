//! Schedulers end to end, on a real control plane: pods a second, CPU, memory, and the time from
//! start to the first binding and from a pod's creation to its binding; next to loops that only
//! write, which are the limit.
//!
//! A backlog of pods is made before the scheduler starts, and drained from a cold start.
//!
//! `make bench [NODES=5000] [RUNNING=0] [WORKLOADS="plain churn"] [BENCH="pods=2000 window=10"]`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints what it measured"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures of a benchmark are small"
)]

mod arena;
mod arguments;
mod arrivals;
mod bare_loop;
mod bindings;
mod contestant;
#[path = "../../tests/harness/mod.rs"]
mod harness;
mod measurement;
mod output;
mod report;
mod requests;
mod running_pod;
mod words;
mod workload;
#[path = "../workload_file.rs"]
mod workload_file;

use std::process::ExitCode;
use std::time::Instant;

use crate::arena::Arena;
use crate::arguments::Arguments;
use crate::contestant::Contestant;
use crate::harness::interruptible;
use crate::measurement::{Course, Measurement};
use crate::report::Report;
use crate::running_pod::running_pod;
use crate::workload::Workload;

#[tokio::main]
async fn main() -> ExitCode {
    interruptible::run("bench", bench()).await
}

async fn bench() -> anyhow::Result<bool> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let workloads = Workload::all();
    let names: Vec<String> = workloads.iter().map(|known| known.name.clone()).collect();
    let arguments = Arguments::read(&words, &names)?;
    let began = Instant::now();
    eprintln!(
        "bench: starting a control plane with {} nodes",
        arguments.nodes
    );
    let mut arena = Arena::open(arguments.nodes, &arguments.binary).await?;
    let mut report = Report::new(&arguments);
    for (running, names) in &arguments.rounds {
        let size = arguments.running_kib;
        let pod = move |number, node: &str| running_pod(number, node, size);
        arena.fill(*running, pod).await?;
        for _ in 0..arguments.repeat {
            for name in names {
                let workload = workloads.iter().find(|known| known.name == *name);
                if let Some(workload) = workload {
                    measure_all(&mut arena, &arguments, workload, *running, &mut report).await?;
                }
            }
        }
    }
    arena.close()?;
    println!("{}", report.markdown());
    eprintln!(
        "bench: done in {} s; figures are in {}",
        began.elapsed().as_secs(),
        arguments.output.display()
    );
    Ok(true)
}

/// Lets everybody drain the same backlog, one after the other.
async fn measure_all(
    arena: &mut Arena,
    arguments: &Arguments,
    workload: &Workload,
    running: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut rate = None;
    for &contestant in &arguments.contestants {
        let at_defaults = contestant == Contestant::KubeSchedulerDefaults;
        // A limit of 50 pods a second says the same of every workload.
        if at_defaults && !(arguments.defaults && workload.name == "plain" && running == 0) {
            continue;
        }
        let course = Course {
            arena: &mut *arena,
            arguments,
            workload,
            contestant,
            running,
            rate,
        };
        let measurement = course.run().await?;
        say(&measurement);
        if contestant == Contestant::BindEventLoop {
            rate = measurement.with_events_per_second.map(|limit| limit / 2.0);
        }
        report.add(measurement);
        report.save(&arguments.output)?;
    }
    Ok(())
}

fn say(measured: &Measurement) {
    let Measurement {
        workload,
        running,
        contestant,
        pods,
        bound,
        pods_per_second,
        ..
    } = measured;
    eprintln!(
        "bench: {workload}, {running} running, {}: {bound} of {pods} pods, {pods_per_second:.0}/s",
        contestant.name()
    );
}
