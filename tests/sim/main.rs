//! Random histories of a cluster with a scheduler in it: a fixed set of seeds.
//!
//! `make sim` runs others.

#![expect(
    clippy::print_stderr,
    reason = "a history is traced for people, when they ask for it"
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

use conformance::generator;

use crate::run::{report, run};
use crate::world::Tally;

/// Seconds each, without optimisation.
const SEEDS: u64 = 8;

#[test]
fn the_fixed_histories_end_with_every_pod_where_it_belongs() {
    let mut tally = Tally::default();
    for seed in 1..=SEEDS {
        let verdict = run(seed);
        assert!(verdict.findings.is_empty(), "{}", report(seed, &verdict));
        tally.add(&verdict.tally);
    }
    println!("{tally:?}");
    let busy = [tally.attempts, tally.bound, tally.faults];
    assert!(busy.iter().all(|count| *count > 0), "{tally:?}");
}
