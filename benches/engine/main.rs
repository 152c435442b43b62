//! The engine alone, on one core: decisions a second by workload and size of the cluster, what
//! events cost, bytes for nodes and pods, and how costs grow.
//!
//! Seconds are those that the thread ran, since machines are shared. Tables are printed, and kept
//! as `target/bench/engine.md` and `engine.json`.
//!
//! `make bench-engine [SIZES="5000x30"] [SECTIONS="decisions events memory growth"] [WORKLOADS=]`

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![allow(
    clippy::print_stderr,
    reason = "a benchmark says what is wrong with its arguments"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![allow(
    clippy::cast_precision_loss,
    reason = "no measurement is as exact as that"
)]

mod arguments;
mod bindings;
mod cluster;
mod decisions;
mod events;
mod growth;
#[path = "../line.rs"]
#[allow(dead_code, reason = "exponents are slopes")]
mod line;
mod memory;
mod profiled;
mod report;
mod stopwatch;
mod workload;
#[path = "../workload_file.rs"]
mod workload_file;

use std::process::ExitCode;

use crate::arguments::{Arguments, Section};
use crate::cluster::Size;
use crate::events::Events;
use crate::growth::Costs;
use crate::report::{Table, whole};
use crate::stopwatch::Stopwatch;
use crate::workload::Workload;

/// The workloads whose growth is fitted against pods and terms.
const FITTED: [&str; 4] = [
    "plain",
    "spread-zone-hard",
    "anti-affinity-host",
    "unique-labels",
];

fn main() -> ExitCode {
    let workloads = Workload::all();
    match Arguments::read().and_then(|arguments| run(&arguments, &workloads)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-engine: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, workloads: &[Workload]) -> Result<(), String> {
    let names: Vec<_> = workloads.iter().map(|w| w.name.as_str()).collect();
    if let Some(unknown) = arguments.unknown_workloads(&names).first() {
        return Err(format!(
            "there is no workload {unknown:?} in benches/workloads"
        ));
    }
    let mut tables = Vec::new();
    if arguments.wants(Section::Memory) {
        let mut table = Table::new(
            "memory",
            "Memory",
            &["what", "how many", "bytes each", "allocations each"],
        );
        memory::measure(&mut table);
        tables.push(table);
    }
    tables.extend(by_size(arguments, workloads));
    if arguments.wants(Section::Growth) {
        tables.push(growth(arguments, workloads));
    }
    let path = report::save("engine", &tables).map_err(|error| error.to_string())?;
    println!("\nkept in {} and beside it as JSON", path.display());
    Ok(())
}

/// Decisions and events at each size; the exponents of decisions.
fn by_size(arguments: &Arguments, workloads: &[Workload]) -> Vec<Table> {
    let mut clusters = Table::new(
        "clusters",
        "Clusters",
        &[
            "nodes",
            "running pods",
            "seconds to take in",
            "MiB held",
            "MiB resident",
        ],
    );
    let mut decisions = Vec::new();
    let mut events = Vec::new();
    let mut fits: Vec<_> = workloads.iter().map(|_| Costs::default()).collect();
    for &size in &arguments.sizes {
        if !arguments.wants(Section::Decisions) && !arguments.wants(Section::Events) {
            continue;
        }
        let before = memory::held();
        let watch = Stopwatch::start();
        let mut engine = cluster::engine(size);
        let held = memory::held().bytes - before.bytes;
        clusters.row([
            size.nodes.into(),
            size.pods().into(),
            watch.elapsed().as_secs_f64().into(),
            (held >> 20).into(),
            (memory::resident() >> 20).into(),
        ]);
        if arguments.wants(Section::Decisions) {
            decisions.push(decide(arguments, workloads, size, &mut engine, &mut fits));
        }
        if arguments.wants(Section::Events) {
            let title = format!("Events, {size}");
            let columns = &["event", "nodes", "running pods", "µs each"];
            let mut table = Table::new("events", title, columns);
            events::count_terms(&mut engine, workloads, size.nodes);
            Events::new(&mut engine, size, &mut table).measure();
            events.push(table);
        }
    }
    let mut tables = vec![clusters];
    tables.extend(decisions);
    tables.extend(events);
    if arguments.wants(Section::Decisions) && arguments.sizes.len() > 1 {
        let mut table = Table::new("growth-nodes", "Growth with nodes", GROWTH);
        for (workload, costs) in workloads.iter().zip(&fits) {
            if arguments.wants_workload(&workload.name) {
                costs.note(&mut table, &workload.name, "nodes");
            }
        }
        tables.push(table);
    }
    tables
}

/// The columns of tables about growth.
const GROWTH: &[&str] = &["workload", "against", "sizes", "µs each", "exponent"];

fn decide(
    arguments: &Arguments,
    workloads: &[Workload],
    size: Size,
    engine: &mut bayplan::engine::Engine,
    fits: &mut [Costs],
) -> Table {
    let bare = decisions::seconds_of_a_bare_loop(size.nodes);
    let mut table = Table::new(
        "decisions",
        format!(
            "Decisions, {} nodes, {} running pods",
            size.nodes,
            size.pods()
        ),
        &[
            "workload",
            "decisions/s",
            "µs each",
            "placed",
            "refused",
            "bare loops each",
            "first of its class, µs",
        ],
    );
    for (workload, costs) in workloads.iter().zip(fits) {
        if !arguments.wants_workload(&workload.name) {
            continue;
        }
        let measured = decisions::measure(engine, workload, size.nodes);
        let first = decisions::measure_first(engine, workload, size.nodes);
        let each = measured.seconds_each();
        costs.push(size.nodes, each);
        table.row([
            workload.name.as_str().into(),
            whole(1.0 / each),
            (each * 1e6).into(),
            measured.placed.into(),
            measured.refused.into(),
            (each / bare).into(),
            (first.seconds_each() * 1e6).into(),
        ]);
    }
    table
}

fn growth(arguments: &Arguments, workloads: &[Workload]) -> Table {
    let wanted = |workload: &&Workload| {
        FITTED.contains(&workload.name.as_str()) && arguments.wants_workload(&workload.name)
    };
    let workloads: Vec<_> = workloads.iter().filter(wanted).collect();
    let mut table = Table::new("growth", "Growth with pods and terms", GROWTH);
    growth::against_running_pods(&workloads, &mut table);
    growth::against_terms(&workloads, &mut table);
    table
}
