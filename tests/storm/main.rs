//! A storm of preemptions: full nodes, and important pods that come all at once. kube-scheduler and
//! Bayplan weather the same one, each in a cluster of its own.
//!
//! `make storm` plays the full size.
#![cfg(feature = "live")]
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "real clusters live in real time, and a test has no command line"
)]

mod damage;
#[path = "../harness/mod.rs"]
mod harness;
mod sea;

use crate::damage::Damage;
use crate::sea::{Captain, Size, weather};

/// Nodes without `STORM_NODES`: small enough for every run of the tests.
const NODES: usize = 20;

#[tokio::test]
async fn a_storm_costs_no_more_victims_than_kube_scheduler_takes() -> anyhow::Result<()> {
    let given = std::env::var("STORM_NODES").ok();
    let nodes = given.and_then(|text| text.parse().ok()).unwrap_or(NODES);
    let size = Size { nodes };
    println!("{size}\n{}", Damage::HEADER);
    let upstream = weather(Captain::KubeScheduler, size).await?;
    println!("{:<15} {upstream}", "kube-scheduler");
    let bayplan = weather(Captain::Bayplan, size).await?;
    println!("{:<15} {bayplan}", "Bayplan");
    assert_eq!(
        bayplan.placed,
        size.high(),
        "pods with room were not placed"
    );
    assert!(bayplan.victims <= upstream.victims, "more victims");
    // There is room enough outside the budgets.
    assert_eq!(bayplan.violations, 0, "budgets were broken");
    Ok(())
}
