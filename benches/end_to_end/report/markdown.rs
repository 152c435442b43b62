//! Tables for people.

use std::fmt::Write as _;

use crate::contestant::Contestant::{self, Bayplan, BindEventLoop, BindLoop, KubeScheduler};
use crate::measurement::Measurement;
use crate::report::{Row, goals};

/// A figure and how it is written.
type Figure = (fn(&Measurement) -> Option<f64>, usize);

/// One table: what is above a column, who it is of, and which figure.
struct Table {
    title: &'static str,
    columns: &'static [(&'static str, Contestant, Figure)],
}

const RATE: Figure = (|m| Some(m.pods_per_second), 0);
const WITH_EVENTS: Figure = (|m| m.with_events_per_second, 0);
const BEHIND: Figure = (|m| m.events_behind_seconds, 1);
const CPU: Figure = (|m| m.scheduler_ms_per_pod, 3);
const APISERVER_CPU: Figure = (|m| Some(m.apiserver_ms_per_pod), 2);
const START: Figure = (|m| m.start_seconds, 2);
const PEAK: Figure = (|m| m.peak_rss.map(mebibytes), 0);
const STEADY: Figure = (|m| m.steady_rss.map(mebibytes), 0);
const P50: Figure = (|m| m.latency.as_ref()?.p50, 1);
const P99: Figure = (|m| m.latency.as_ref()?.p99, 1);
const ARRIVALS: Figure = (|m| m.latency.as_ref().map(|latency| latency.rate), 0);

const TABLES: [Table; 5] = [
    Table {
        title: "Pods bound each second",
        columns: &[
            ("bind loop", BindLoop, RATE),
            ("bind + event loop", BindEventLoop, WITH_EVENTS),
            ("kube-scheduler", KubeScheduler, RATE),
            ("Bayplan, burst", Bayplan, RATE),
            ("Bayplan, until the last event", Bayplan, WITH_EVENTS),
            ("events behind, s", Bayplan, BEHIND),
        ],
    },
    Table {
        title: "CPU time for each pod, ms",
        columns: &[
            ("kube-scheduler", KubeScheduler, CPU),
            ("Bayplan", Bayplan, CPU),
            ("API server: bind loop", BindLoop, APISERVER_CPU),
            ("bind + event loop", BindEventLoop, APISERVER_CPU),
            ("kube-scheduler", KubeScheduler, APISERVER_CPU),
            ("Bayplan", Bayplan, APISERVER_CPU),
        ],
    },
    Table {
        title: "Resident memory, MiB",
        columns: &[
            ("kube-scheduler, peak", KubeScheduler, PEAK),
            ("steady", KubeScheduler, STEADY),
            ("Bayplan, peak", Bayplan, PEAK),
            ("steady", Bayplan, STEADY),
        ],
    },
    Table {
        title: "From the start of the process to the first binding, s",
        columns: &[
            ("kube-scheduler", KubeScheduler, START),
            ("Bayplan", Bayplan, START),
        ],
    },
    Table {
        title: "From a pod's creation to its binding, ms, at half the rate of the bind + event loop",
        columns: &[
            ("pods/s", Bayplan, ARRIVALS),
            ("kube-scheduler, p50", KubeScheduler, P50),
            ("p99", KubeScheduler, P99),
            ("Bayplan, p50", Bayplan, P50),
            ("p99", Bayplan, P99),
        ],
    },
];

/// All tables.
pub(crate) fn tables(nodes: usize, rows: &[Row<'_>]) -> String {
    let mut text = format!("{nodes} nodes.\n");
    for table in &TABLES {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}:\n\n| workload | running |", table.title);
        for (name, ..) in table.columns {
            let _ = write!(text, " {name} |");
        }
        let _ = write!(
            text,
            "\n|---|---:|{}\n",
            "---:|".repeat(table.columns.len())
        );
        for row in rows {
            let _ = write!(text, "| {} | {} |", row.workload, row.running);
            for &(_, contestant, (figure, digits)) in table.columns {
                match row.figure(contestant, figure) {
                    Some(value) => {
                        let _ = write!(text, " {value:.digits$} |");
                    }
                    None => text.push_str(" – |"),
                }
            }
            text.push('\n');
        }
    }
    limited(&mut text, rows);
    reached(&mut text, rows);
    text
}

/// kube-scheduler as it comes, where it was measured.
fn limited(text: &mut String, rows: &[Row<'_>]) {
    for row in rows {
        let rate = row.figure(Contestant::KubeSchedulerDefaults, RATE.0);
        if let Some(rate) = rate {
            let _ = write!(
                text,
                "\nkube-scheduler with the default limit of its client (50 requests a second) \
                 binds {rate:.0} {} pods a second.\n",
                row.workload
            );
        }
    }
}

fn reached(text: &mut String, rows: &[Row<'_>]) {
    text.push_str("\nGoals, as a share of each (1.00 or more is reached):\n\n");
    text.push_str("| workload | running | burst | sustained | CPU | latency | memory | start |\n");
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let goals = goals::of(row);
        let _ = write!(text, "| {} | {} |", row.workload, row.running);
        for name in ["burst", "sustained", "CPU", "latency", "memory", "start"] {
            let goal = goals.iter().find(|goal| goal.name == name);
            match goal.and_then(|goal| goal.reached) {
                Some(share) if share.is_infinite() => text.push_str(" falls behind |"),
                Some(share) => {
                    let _ = write!(text, " {share:.2} |");
                }
                None => text.push_str(" – |"),
            }
        }
        text.push('\n');
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
