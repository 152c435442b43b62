//! A slow extender keeps nobody waiting but the pods that it is asked about.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arena::{Address, Arena, Fate, pod};
use crate::harness::wait;
use crate::{MANAGED, managed};

/// How long the extender takes for each of its pods, less than it may.
const DELAY: Duration = Duration::from_secs(8);

fn slow(at: &Address) -> Value {
    json!([{"urlPrefix": at.url, "filterVerb": "filter", "nodeCacheCapable": true,
        "httpTimeout": "1m",
        "managedResources": [{"name": MANAGED, "ignoredByScheduler": true}]}])
}

fn plain(_: &Address) -> Value {
    json!([])
}

#[tokio::test]
async fn a_slow_extender_delays_its_own_pods_only() -> anyhow::Result<()> {
    let arena = Arena::start(&["yes-1", "yes-2"], &[("slow", slow), ("plain", plain)]).await?;
    // Everything runs once this pod has its node.
    let first = arena.create("bayplan-plain", &pod("first")).await?;
    let placed =
        async |pod| Ok(matches!(arena.fate(pod).await?, Some(Fate::Placed(_))).then_some(()));
    wait::until("the first pod", Duration::from_mins(2), async || {
        placed(&first).await
    })
    .await?;

    let began = Instant::now();
    let mut slow = Vec::new();
    for number in 0..2 {
        let mut pod = managed(&format!("slow-{number}"));
        let delay = format!("{}s", DELAY.as_secs());
        pod["metadata"]["annotations"] = json!({"extender.test/delay": delay});
        slow.push(arena.create("bayplan-slow", &pod).await?);
    }
    let mut others = Vec::new();
    for number in 0..10 {
        // The extender is asked about neither: one is another profile's, one requests nothing of it.
        for profile in ["plain", "slow"] {
            let name = format!("quick-{profile}-{number}");
            others.push(
                arena
                    .create(&format!("bayplan-{profile}"), &pod(&name))
                    .await?,
            );
        }
    }
    for pod in &others {
        wait::until("a quick pod", DELAY, async || placed(pod).await).await?;
    }
    let quick = began.elapsed();
    for pod in &slow {
        wait::until("a slow pod", Duration::from_mins(1), async || {
            placed(pod).await
        })
        .await?;
    }
    let all = began.elapsed();
    println!("{} others after {quick:?}, all after {all:?}", others.len());
    assert!(quick < DELAY, "others waited {quick:?}");
    assert!(all >= 2 * DELAY, "the slow ones are asked about one by one");
    arena.stop()
}
