//! Short stories of pods that wait, played on a real API server: by kube-scheduler and then by
//! Bayplan, from the same beginning. They must end alike, and Bayplan's no later.
#![cfg(feature = "live")]
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "real clusters live in real time, and a test has no command line"
)]

mod ending;
#[path = "../harness/mod.rs"]
mod harness;
mod scripts;
mod stage;
mod theatre;

use std::time::Duration;

use crate::ending::Ending;
use crate::scripts::SCRIPTS;
use crate::stage::Stage;
use crate::theatre::{SCHEDULERS, Theatre};

/// Of kube-scheduler's time, what Bayplan may take: machines are noisy, and this may be a debug
/// build.
const FACTOR: f64 = 1.5;
const LEEWAY: Duration = Duration::from_secs(2);

#[tokio::test]
async fn every_script_ends_as_kube_scheduler_ends_it_and_no_later() -> anyhow::Result<()> {
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let theatre = Theatre::open().await?;
    let mut findings = Vec::new();
    println!(
        "{:<32} {:>15} {:>9}",
        "seconds", "kube-scheduler", "bayplan"
    );
    for (name, script) in SCRIPTS
        .iter()
        .filter(|(name, _)| only.split(',').any(|part| name.contains(part)))
    {
        let mut played = Vec::new();
        for scheduler in SCHEDULERS {
            let stage = Stage::new(theatre.client(), scheduler);
            match script(&stage).await {
                Ok(()) => {
                    let took = stage.elapsed();
                    let ending = match played.first() {
                        None => Ending::read(&stage).await?,
                        Some((upstream, _)) => Ending::read_expecting(&stage, upstream).await?,
                    };
                    played.push((ending, took));
                }
                Err(error) => {
                    let ending = Ending::read(&stage).await?;
                    findings.push(format!("{name}, {scheduler}: {error:#}; {ending:?}"));
                }
            }
            theatre.clear().await?;
        }
        let [(upstream, theirs), (bayplan, ours)] = &played[..] else {
            continue;
        };
        let [theirs, ours] = [theirs, ours].map(Duration::as_secs_f64);
        println!("{name:<32} {theirs:>15.2} {ours:>9.2}");
        let differences = upstream.differences(bayplan);
        findings.extend(
            differences
                .into_iter()
                .map(|text| format!("{name}: {text}")),
        );
        if ours > theirs * FACTOR + LEEWAY.as_secs_f64() {
            findings.push(format!("{name}: {ours:.2} s, kube-scheduler {theirs:.2} s"));
        }
    }
    theatre.close()?;
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(())
}
