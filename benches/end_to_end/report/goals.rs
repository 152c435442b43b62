//! What is to be reached, and what was.

use crate::contestant::Contestant::{Bayplan, BindEventLoop, BindLoop, KubeScheduler};
use crate::measurement::Measurement;
use crate::report::Row;

/// A goal of a row: what it is, and how far Bayplan is; 1 is the goal, more is better.
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) reached: Option<f64>,
}

/// Of the loops, this share.
const SHARE_OF_LOOP: f64 = 0.95;
/// Milliseconds for a constrained pod that are good enough in any case.
const ENOUGH_MS: f64 = 0.25;
/// From so many running pods on, the cluster's size decides over memory and start.
const MANY: usize = 100_000;

/// The goals that a row has.
pub(crate) fn of(row: &Row<'_>) -> Vec<Goal> {
    let ratio = |over: Option<f64>, under: Option<f64>| Some(over? / under?);
    let goal = |name, reached| Goal { name, reached };
    let burst = |m: &Measurement| Some(m.pods_per_second);
    let sustained = |m: &Measurement| m.with_events_per_second;
    let cpu = |m: &Measurement| m.scheduler_ms_per_pod;
    let theirs = row.figure(KubeScheduler, cpu);
    let allowed = if row.workload == "plain" {
        theirs.map(|theirs| theirs / 10.0)
    } else {
        theirs.map(|theirs| (theirs / 30.0).max(ENOUGH_MS))
    };
    let p99 = |m: &Measurement| m.latency.as_ref()?.p99;
    // A scheduler that falls behind has no median; nobody can be slower.
    let p50 = |m: &Measurement| match &m.latency {
        Some(latency) => latency.p50,
        None => (m.bound < m.pods).then_some(f64::INFINITY),
    };
    let mut goals = vec![
        goal(
            "burst",
            ratio(row.figure(Bayplan, burst), row.figure(BindLoop, burst))
                .map(|share| share / SHARE_OF_LOOP),
        ),
        goal(
            "sustained",
            ratio(
                row.figure(Bayplan, sustained),
                row.figure(BindEventLoop, sustained),
            )
            .map(|share| share / SHARE_OF_LOOP),
        ),
        goal("CPU", ratio(allowed, row.figure(Bayplan, cpu))),
        goal(
            "latency",
            ratio(row.figure(KubeScheduler, p50), row.figure(Bayplan, p99)),
        ),
    ];
    if row.running >= MANY {
        let peak = |m: &Measurement| m.peak_rss.map(|bytes| bytes as f64);
        let start = |m: &Measurement| m.start_seconds;
        goals.push(goal(
            "memory",
            ratio(row.figure(KubeScheduler, peak), row.figure(Bayplan, peak))
                .map(|share| share / 8.0),
        ));
        goals.push(goal(
            "start",
            ratio(row.figure(KubeScheduler, start), row.figure(Bayplan, start))
                .map(|share| share / 3.0),
        ));
    }
    goals
}
