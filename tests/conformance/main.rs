//! Bayplan against upstream's own scheduler on random clusters: a fixed set of seeds.
//!
//! `make conformance` runs fresh ones.

mod compare;
mod configuration;
mod deviations;
mod generator;
#[cfg(feature = "live")]
#[path = "../harness/mod.rs"]
mod harness;
mod judge;
#[cfg(feature = "live")]
mod live;
mod oracle;
mod report;
mod shrink;
mod statistics;
mod subject;

use crate::generator::Size;
use crate::generator::families::Families;
use crate::judge::{Plan, judge};
use crate::statistics::Demand;
use crate::subject::Subject;

fn plan(seeds: u64, subject: Subject) -> Plan {
    Plan {
        first: 1,
        seeds,
        size: Size {
            nodes: 30,
            pods: 40,
        },
        subject,
        families: Families::of_plugins(&subject.plugins()),
        odd_each: 0,
        oracle: None,
        keep_going: false,
    }
}

#[test]
fn the_fixed_seeds_are_decided_as_upstream_decides_them() {
    let plan = plan(40, Subject::Bayplan);
    let verdict = judge(&plan).unwrap();
    println!("{}", verdict.statistics);
    assert!(verdict.differences.is_empty(), "{}", verdict.differences[0]);
    let demand = Demand::on(plan.seeds, false);
    let shortfalls = verdict.statistics.shortfalls(&plan.families, demand);
    assert_eq!(shortfalls, [""; 0]);
}

#[test]
fn odd_objects_are_decided_as_upstream_decides_them() {
    let plan = Plan {
        size: Size {
            nodes: 12,
            pods: 20,
        },
        odd_each: 1,
        ..plan(60, Subject::Bayplan)
    };
    let verdict = judge(&plan).unwrap();
    assert!(verdict.differences.is_empty(), "{}", verdict.differences[0]);
    // Clusters that both refuse to read would show nothing.
    let shortfalls = verdict
        .statistics
        .shortfalls(&plan.families, Demand::Traces);
    assert_eq!(shortfalls, [""; 0]);
}

#[test]
fn clusters_of_all_families_are_valid_and_upstream_decides_them_the_same_twice() {
    let verdict = judge(&plan(12, Subject::Upstream)).unwrap();
    assert!(verdict.differences.is_empty(), "{}", verdict.differences[0]);
}
