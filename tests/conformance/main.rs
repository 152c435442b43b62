//! Bayplan against upstream's own scheduler on random clusters: a fixed set of seeds.
//!
//! `make conformance` runs fresh ones.

mod compare;
mod configuration;
mod deviations;
mod generator;
mod judge;
mod oracle;
mod report;
mod shrink;
mod statistics;

use crate::generator::Size;
use crate::generator::families::Families;
use crate::judge::{Plan, judge};

#[test]
fn the_fixed_seeds_are_decided_as_upstream_decides_them() {
    let plan = Plan {
        first: 1,
        seeds: 25,
        size: Size {
            nodes: 30,
            pods: 40,
        },
        families: Families::implemented(),
        oracle: None,
        keep_going: false,
    };
    let verdict = judge(&plan).unwrap();
    println!("{}", verdict.statistics);
    assert!(verdict.differences.is_empty(), "{}", verdict.differences[0]);
    assert_eq!(verdict.statistics.idle(&plan.families), [""; 0]);
}
