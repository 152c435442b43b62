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

/// Storms at most. What the API server tells when differs from storm to storm and may cost either
/// of them a victim (kube-scheduler took 100 to 104 in the same one); who takes more as a rule does
/// so in the sum.
const STORMS: usize = 3;

#[tokio::test]
async fn a_storm_costs_no_more_victims_than_kube_scheduler_takes() -> anyhow::Result<()> {
    let given = std::env::var("STORM_NODES").ok();
    let nodes = given.and_then(|text| text.parse().ok()).unwrap_or(NODES);
    let size = Size { nodes };
    println!("{size}\n{}", Damage::HEADER);
    let (mut upstream_victims, mut victims) = (0, 0);
    for _ in 0..STORMS {
        let upstream = weather(Captain::KubeScheduler, size).await?;
        println!("{:<15} {upstream}", "kube-scheduler");
        let bayplan = weather(Captain::Bayplan, size).await?;
        println!("{:<15} {bayplan}", "Bayplan");
        assert_eq!(
            bayplan.placed,
            size.high(),
            "pods with room were not placed"
        );
        // There is room enough outside the budgets.
        assert_eq!(bayplan.violations, 0, "budgets were broken");
        upstream_victims += upstream.victims;
        victims += bayplan.victims;
        if victims <= upstream_victims {
            return Ok(());
        }
    }
    panic!("{victims} victims, and kube-scheduler took {upstream_victims}");
}
