//! The extender says which evictions will do: kube-scheduler and Bayplan evict the same pods.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use crate::arena::{self, Address, Arena, Fate, Flavour, pod};
use crate::harness::wait;

const PATIENCE: Duration = Duration::from_mins(1);

fn names(at: &Address) -> Value {
    json!([{"urlPrefix": at.url, "preemptVerb": "preempt", "nodeCacheCapable": true}])
}

fn whole(at: &Address) -> Value {
    json!([{"urlPrefix": at.url, "preemptVerb": "preempt"}])
}

fn ignored(_: &Address) -> Value {
    json!([{"urlPrefix": "http://127.0.0.1:9/nobody", "preemptVerb": "preempt", "ignorable": true}])
}

fn dead(_: &Address) -> Value {
    json!([{"urlPrefix": "http://127.0.0.1:9/nobody", "preemptVerb": "preempt"}])
}

/// A pod with a priority.
fn of_priority(name: &str, class: &str, cpu: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["priorityClassName"] = class.into();
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu.into();
    pod
}

/// Fills both nodes: the cheaper evictions are on `no-9`, which the extender spares.
async fn fill(arena: &Arena) -> anyhow::Result<()> {
    for (name, node, class) in [("cheap", "no-9", "low"), ("dear", "yes-1", "middle")] {
        let mut pod = of_priority(name, class, "3");
        pod["spec"]["nodeName"] = node.into();
        arena.create("nobody", &pod).await?;
    }
    Ok(())
}

async fn clear(arena: &Arena) -> anyhow::Result<()> {
    let now = DeleteParams::default().grace_period(0);
    for pod in arena.pods().list(&ListParams::default()).await? {
        arena.pods().delete(&pod.name_any(), &now).await?;
    }
    wait::until("no pod to be left", PATIENCE, async || {
        let left = arena.pods().list(&ListParams::default()).await?;
        Ok(left.items.is_empty().then_some(()))
    })
    .await
}

/// Where the preemptor went, and who stayed.
async fn preempt(arena: &Arena, scheduler: &str) -> anyhow::Result<(Fate, Vec<String>)> {
    fill(arena).await?;
    let preemptor = of_priority("preemptor", "high", "3");
    let preemptor = arena.create(scheduler, &preemptor).await?;
    let what = format!("{scheduler} to place the preemptor");
    let fate = wait::until(&what, PATIENCE, async || {
        let fate = arena.fate(&preemptor).await?;
        Ok(fate.filter(|fate| matches!(fate, Fate::Placed(_))))
    })
    .await?;
    let left = arena.pods().list(&ListParams::default()).await?;
    let left = left.iter().map(ResourceExt::name_any).collect();
    clear(arena).await?;
    Ok((fate, left))
}

#[tokio::test]
async fn the_same_pods_are_evicted() -> anyhow::Result<()> {
    let flavours: [Flavour; 4] = [
        ("names", names),
        ("whole", whole),
        ("ignored", ignored),
        ("dead", dead),
    ];
    let arena = Arena::start(&["no-9", "yes-1"], &flavours).await?;
    arena
        .priorities(&[("low", 1), ("middle", 2), ("high", 10)])
        .await?;
    for (flavour, node, stayed) in [
        ("names", "yes-1", "cheap"),
        ("whole", "yes-1", "cheap"),
        ("ignored", "no-9", "dear"),
    ] {
        let wanted = (
            Fate::Placed(node.to_owned()),
            vec![stayed.to_owned(), "preemptor".to_owned()],
        );
        for who in ["upstream", "bayplan"] {
            let scheduler = format!("{who}-{flavour}");
            assert_eq!(preempt(&arena, &scheduler).await?, wanted, "{scheduler}");
        }
    }

    // Where nobody is evicted, both say why.
    fill(&arena).await?;
    let mut spared = of_priority("spared", "high", "3");
    spared["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "no-9"});
    arena.agree_on_refusal("names", &spared).await?;
    let mut nobody = of_priority("nobody", "high", "3");
    nobody["metadata"]["annotations"] = json!({"extender.test/victims": "none"});
    arena.agree_on_refusal("whole", &nobody).await?;
    let down = of_priority("down", "high", "3");
    arena.agree_on_refusal("dead", &down).await?;
    clear(&arena).await?;

    let calls = arena.calls().await?;
    for flavour in ["names", "whole"] {
        let of = |who: &str| -> Vec<&Value> {
            let who = format!("{who}-{flavour}");
            calls.iter().filter(|call| call["who"] == *who).collect()
        };
        let (upstream, bayplan) = (of("upstream"), of("bayplan"));
        assert_eq!(arena::asked(&upstream), arena::asked(&bayplan), "{flavour}");
        for call in bayplan {
            assert!(call["whole"] == true, "{call}");
        }
    }
    arena.stop()
}
