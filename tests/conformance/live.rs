//! The other way round: kube-scheduler and Bayplan run on a real API server, and each is given the
//! same pod in the same cluster, one after the other.
//!
//! Pods that fit nowhere must be told so in the same words. A node that one of them chose must be
//! among the best of the other, which the oracle and the simulator name. `make differential` plays
//! more clusters.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "real clusters live in real time, and a test has no command line"
)]

mod arena;
mod fate;
mod profiles;
mod referee;
mod stage;
mod tally;
mod volumes;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::generator::families::Families;
use crate::generator::{Size, generate};
use crate::live::arena::{Arena, Side};
use crate::live::profiles::live_plugins;
use crate::live::referee::Referee;
use crate::live::stage::{is_waiting, key};
use crate::live::tally::{Tally, families};
use crate::subject;

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(2);

const SIZE: Size = Size {
    nodes: 12,
    pods: 26,
};

/// What a cluster is made of, one after the other; each has a control plane of its own.
const PARTIES: [&str; 6] = [
    "taints,nodeaffinity,ports,images,gates",
    "podlevel,resize,priorities,gates,declaredfeatures",
    "spread,owners,podaffinity,priorities",
    "volumes,gates,images",
    "profiles,taints,nodeaffinity,podlevel",
    "preemption,priorities,podlevel",
];

/// The family whose pods are known by what becomes of them only.
const PREEMPTION: &str = "preemption";

/// Of each family of a party, so many pods are likely to be placed, and as many to be refused.
const FEWEST: usize = 2;

/// Seeds that are looked at for one cluster.
const SEEDS_TO_TRY: u64 = 10_000;

/// A number from the environment, which is how `make` speaks to a test.
fn given(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// One party from the environment, or all.
fn given_parties() -> Vec<String> {
    let given = std::env::var("FEATURES")
        .ok()
        .filter(|text| !text.is_empty());
    given.map_or_else(|| PARTIES.map(str::to_owned).into(), |party| vec![party])
}

/// The first cluster from `seed` on that is likely to have, of every family of the party, a pod that
/// is placed and one that is refused.
fn cluster(seed: u64, party: &str) -> anyhow::Result<(u64, Vec<Value>)> {
    let drawn: Families = party.parse().map_err(anyhow::Error::msg)?;
    let suits = |objects: &[Value]| {
        // Most are out before anything is simulated.
        let waiting = objects.iter().filter(|object| is_waiting(object));
        let shown: Vec<_> = waiting.flat_map(|pod| families(pod, objects)).collect();
        let count = |family| shown.iter().filter(|shown| **shown == family).count();
        let mut wanted = party.split(',').filter(|family| *family != PREEMPTION);
        if !wanted.all(|family| count(family) >= 2 * FEWEST) {
            return false;
        }
        let guesses = guess(objects);
        let mut wanted = party.split(',');
        wanted.all(|family| {
            guesses
                .get(family)
                .is_some_and(|counts| counts.iter().all(|count| *count >= FEWEST))
        })
    };
    (seed..seed + SEEDS_TO_TRY)
        .map(|seed| (seed, generate(seed, SIZE, &drawn, &live_plugins()).objects))
        .find(|(_, objects)| suits(objects))
        .with_context(|| format!("no cluster from seed {seed} on shows all of {party}"))
}

/// How many waiting pods of each family the simulator places and refuses, once gates are lifted. A
/// server differs from a file in what it takes, so it is a guess.
fn guess(objects: &[Value]) -> BTreeMap<&'static str, [usize; 2]> {
    let mut ungated = objects.to_vec();
    for spec in ungated
        .iter_mut()
        .filter_map(|object| object["spec"].as_object_mut())
    {
        spec.remove("schedulingGates");
    }
    let records = subject::bayplan(&ungated).unwrap_or_default();
    let mut counts = BTreeMap::<_, [usize; 2]>::new();
    for pod in objects.iter().filter(|object| is_waiting(object)) {
        let key = key(pod);
        let record = records.iter().find(|record| record["pod"] == key.as_str());
        let place = match record.and_then(|record| record["outcome"].as_str()) {
            Some("scheduled") => 0,
            Some("unschedulable") => 1,
            _ => continue,
        };
        for family in families(pod, objects) {
            counts.entry(family).or_default()[place] += 1;
        }
        if record.is_some_and(|record| record["victims"].is_array()) {
            // They are refused for now and placed later.
            let both = counts.entry(PREEMPTION).or_default();
            *both = both.map(|count| count + 1);
        }
    }
    counts
}

/// Leaves the cluster where somebody can give it to `simulate`.
fn keep(seed: u64, pod: &str, cluster: &[Value]) -> anyhow::Result<String> {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("differential-{seed}-{pod}.json"));
    std::fs::write(
        &path,
        serde_json::to_string(&json!({"apiVersion": "v1", "kind": "List", "items": cluster}))?,
    )?;
    Ok(path.display().to_string())
}

#[tokio::test]
async fn a_live_cluster_is_decided_as_kube_scheduler_decides_it() -> anyhow::Result<()> {
    let mut referee = Referee::start()?;
    let (mut tally, mut differences) = (Tally::new(), Vec::new());
    let mut next = given("FIRST", 1);
    let parties = given_parties();
    let clusters = given("SEEDS", parties.len() as u64);
    for party in parties.iter().cycle().take(usize::try_from(clusters)?) {
        let (seed, objects) = cluster(next, party)?;
        next = seed + 1;
        let (waiting, standing): (Vec<_>, Vec<_>) = objects.iter().partition(|o| is_waiting(o));
        let begun = tokio::time::Instant::now();
        let arena = Arena::start(standing).await?;
        let ready = begun.elapsed();
        let count = waiting.len();
        let ours = waiting.into_iter().filter(|pod| arena.answers_for(pod));
        let mut sides = [Side::Upstream, Side::Bayplan].into_iter().cycle();
        for pod in ours {
            // Each goes first now and then: the second finds what the first left behind.
            let first = sides.next().unwrap_or(Side::Upstream);
            let Some(played) = arena.give(pod, first).await? else {
                tally.not_taken += 1;
                continue;
            };
            tally.add(pod, &played.cluster, &played.bayplan);
            if let Some(difference) = referee.difference(&played)? {
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                let file = keep(seed, name, &played.cluster)?;
                differences.push(format!(
                    "seed {seed} of {party}, {name} ({first:?} first, {file}): {difference}"
                ));
            }
        }
        arena.stop()?;
        let all = begun.elapsed();
        println!("seed {seed} of {party}: {count} pods in {all:.1?}, set up in {ready:.1?}");
    }
    println!("{tally}");
    assert_eq!(differences, [""; 0]);
    if parties.len() == PARTIES.len() && clusters >= parties.len() as u64 {
        assert_eq!(tally.unseen(), [""; 0]);
    }
    Ok(())
}
