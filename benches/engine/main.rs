//! The engine alone, on one core: decisions a second by workload and size of the cluster, against a
//! bare loop over the nodes in the same run. Seconds are those that the thread ran, since machines
//! are shared.
//!
//! `make bench [NODES="100 1000 5000"] [RUNNING=30] [WORKLOADS="plain host-ports"]`

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod cluster;
mod profiled;
mod workload;

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bayplan::engine::Engine;
use bayplan::engine::decision::Outcome;
use bayplan::engine::effect::{EffectAction, EffectOutcome};
use bayplan::engine::event::ClusterEvent;

use crate::workload::Workload;

/// A workload is measured at most this long on one size.
const MEASURE: Duration = Duration::from_secs(4);
/// The bare loop is measured this long.
const BARE: Duration = Duration::from_millis(500);
/// Pods that are decided for each node at most, so that they fit.
const PODS_PER_NODE: usize = 8;
/// Pods that are decided at most.
const PODS_MAX: usize = 20_000;

/// What one measurement gave.
#[derive(Debug, Default)]
struct Measured {
    placed: u32,
    refused: u32,
    spent: Duration,
}

fn main() {
    let arguments = Arguments::read();
    let workloads = Workload::all();
    println!(
        "{:<26} {:>9} {:>9} {:>12} {:>10} {:>8} {:>8} {:>10}",
        "WORKLOAD", "NODES", "RUNNING", "DECISIONS/S", "US EACH", "PLACED", "REFUSED", "BARE LOOPS"
    );
    for nodes in arguments.nodes {
        let bare = bare_loops_per_second(nodes);
        let wanted = |workload: &&Workload| {
            arguments.workloads.is_empty() || arguments.workloads.contains(&workload.name)
        };
        for workload in workloads.iter().filter(wanted) {
            let measured = measure(workload, nodes, arguments.running);
            let decided = f64::from(measured.placed + measured.refused);
            let each = measured.spent.as_secs_f64() / decided;
            println!(
                "{:<26} {nodes:>9} {:>9} {:>12.0} {:>10.2} {:>8} {:>8} {:>10.3}",
                workload.name,
                nodes * arguments.running,
                1.0 / each,
                each * 1e6,
                measured.placed,
                measured.refused,
                each * bare,
            );
        }
    }
}

/// What was asked for: `NODES…`, `running=N`, names of workloads.
struct Arguments {
    nodes: Vec<usize>,
    running: usize,
    workloads: Vec<String>,
}

impl Arguments {
    fn read() -> Self {
        let mut arguments = Self {
            nodes: Vec::new(),
            running: 30,
            workloads: Vec::new(),
        };
        for argument in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
            if let Ok(nodes) = argument.parse() {
                arguments.nodes.push(nodes);
            } else if let Some(running) = argument.strip_prefix("running=") {
                arguments.running = running.parse().expect("running=N must be a number");
            } else {
                arguments.workloads.push(argument);
            }
        }
        if arguments.nodes.is_empty() {
            arguments.nodes = vec![100, 1_000, 5_000];
        }
        arguments
    }
}

fn measure(workload: &Workload, nodes: usize, running: usize) -> Measured {
    let mut engine = cluster::engine(nodes, running);
    for event in workload.objects() {
        engine.handle(event);
    }
    for number in 0..(nodes * PODS_PER_NODE).min(PODS_MAX) {
        let pod = workload.pod(number, nodes);
        engine.handle(ClusterEvent::PodApplied(pod));
    }
    drain(&mut engine);
    let mut measured = Measured::default();
    let (started, ran) = (Instant::now(), time_run());
    while let Some(decision) = engine.schedule_one() {
        match decision.outcome {
            Outcome::Scheduled { .. } => measured.placed += 1,
            _ => measured.refused += 1,
        }
        drain(&mut engine);
        if started.elapsed() > MEASURE {
            break;
        }
    }
    measured.spent = time_run().saturating_sub(ran);
    measured
}

/// Takes the effects; bindings are carried out at once.
fn drain(engine: &mut Engine) {
    let effects = engine.drain_effects();
    let bound: Vec<_> = effects
        .filter(|effect| matches!(effect.action, EffectAction::Bind { .. }))
        .map(|effect| effect.id)
        .collect();
    for id in bound {
        let outcome = EffectOutcome::Done {
            resource_version: None,
        };
        engine.handle(ClusterEvent::EffectCompleted { id, outcome });
    }
}

/// What no scheduler can beat that looks at every node once.
fn bare_loops_per_second(nodes: usize) -> f64 {
    let mut room = vec![64_000_i64; nodes];
    let (mut loops, started, ran) = (0_u32, Instant::now(), time_run());
    while started.elapsed() < BARE {
        for _ in 0..100 {
            let nodes = room.iter().enumerate();
            let best = nodes.max_by_key(|(_, room)| **room).map(|(i, _)| i);
            if let Some(best) = best {
                room[best] -= 1;
            }
            black_box(&mut room);
        }
        loops += 100;
    }
    f64::from(loops) / time_run().saturating_sub(ran).as_secs_f64()
}

/// How long this thread has run so far.
fn time_run() -> Duration {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat");
    let statistics = statistics.expect("Linux must tell how long a thread ran");
    let nanoseconds = statistics.split(' ').next().unwrap_or_default();
    Duration::from_nanos(nanoseconds.parse().expect("it must be a number"))
}
