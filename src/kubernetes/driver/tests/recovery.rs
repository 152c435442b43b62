//! Panics: one object is set aside, the engine is rebuilt, the rest goes on.

use std::time::Duration;

use serde_json::json;

use super::world::World;
use crate::plugins::fixtures::{NodeBuilder, PodBuilder, make_node, make_pod};

fn node(name: &str) -> NodeBuilder {
    make_node(name).allocatable(&[("cpu", "2"), ("pods", "9")])
}

fn one_cpu(name: &str) -> PodBuilder {
    make_pod(name).request("cpu", "1")
}

fn changed(pod: &PodBuilder) -> PodBuilder {
    pod.clone().spec(json!({"priority": 1}))
}

async fn world(pods: &[PodBuilder]) -> World {
    World::new(&[node("n")], pods).await
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_cycle_panics_is_set_aside_and_the_others_are_scheduled() {
    let mut world = world(&[one_cpu("bomb")]).await;
    world.pod(&one_cpu("a")).await;
    world.pod(&one_cpu("z")).await;
    let bound = world.bound();
    assert_eq!(
        bound,
        ["a to n", "z to n"],
        "its assumed room is free again"
    );
    assert_eq!(world.metric("bayplan_engine_restarts_total"), "1");
    assert_eq!(world.metric("bayplan_quarantined_objects"), "1");
    let warnings = world.warnings("bomb");
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("boom") && warnings[0].contains("until it is changed"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_taking_in_panics_is_set_aside_and_the_others_are_scheduled() {
    for listed in [true, false] {
        let mut world = world(&[]).await;
        if listed {
            let pods = [make_pod("a"), make_pod("poison"), make_pod("z")];
            let pods = pods.iter().map(PodBuilder::object).collect();
            world.pods.list(pods).await;
        } else {
            for name in ["a", "poison", "z"] {
                world.pods.apply(make_pod(name).object()).await;
            }
        }
        world.settle().await;
        assert_eq!(world.bound(), ["a to n", "z to n"]);
        assert_eq!(world.metric("bayplan_engine_restarts_total"), "1");
        assert_eq!(world.metric("bayplan_quarantined_objects"), "1");
        assert_eq!(world.warnings("poison").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_everything_is_listed_does_not_end_the_listing() {
    let world = world(&[make_pod("poison"), make_pod("z")]).await;
    assert_eq!(world.bound(), ["z to n"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_set_aside_stays_out_until_it_is_changed() {
    for name in ["bomb", "poison"] {
        let pod = make_pod(name);
        let mut world = world(std::slice::from_ref(&pod)).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        let conditions = json!({"conditions": [{"type": "PodScheduled", "status": "False"}]});
        let touched = pod.clone().metadata(json!({"resourceVersion": "9"}));
        world.pod(&touched.status(conditions)).await;
        world.activate("other");
        world.settle().await;
        world.activate("bayplan");
        world.settle().await;
        world.pods.list(vec![pod.object()]).await;
        world.settle().await;
        assert!(world.bound().is_empty());
        assert_eq!(world.metric("bayplan_engine_restarts_total"), "1");
        world.pod(&changed(&pod)).await;
        assert_eq!(world.bound(), [format!("{name} to n")]);
        assert_eq!(world.metric("bayplan_quarantined_objects"), "0");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_set_aside_is_forgotten_when_it_is_deleted() {
    let mut world = world(&[make_pod("bomb")]).await;
    world.pods.delete(make_pod("bomb").object()).await;
    world.settle().await;
    assert_eq!(world.metric("bayplan_quarantined_objects"), "0");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_set_aside_takes_its_room_when_somebody_else_binds_it() {
    let mut world = world(&[one_cpu("bomb")]).await;
    world.pod(&one_cpu("bomb").on("n")).await;
    world.pod(&make_pod("big").request("cpu", "2")).await;
    assert!(world.bound().is_empty());
    world.pod(&one_cpu("small")).await;
    assert_eq!(world.bound(), ["small to n"]);
}

#[tokio::test(start_paused = true)]
async fn bindings_of_the_earlier_engine_end_and_are_seen_before_the_new_one_decides() {
    let mut world = world(&[]).await;
    world.answer(false);
    for name in ["first", "bomb", "second"] {
        world.pods.apply(one_cpu(name).object()).await;
        // Well within the time that a write may take.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(world.bound(), ["first to n"], "a binding is under way");
    world.barrier.send_replace(false);
    world.answer(true);
    world.settle().await;
    assert_eq!(world.bound(), ["first to n"], "it is not seen yet");
    world.pod(&one_cpu("first").on("n")).await;
    world.barrier.send_replace(true);
    world.settle().await;
    world.pod(&one_cpu("third")).await;
    assert_eq!(
        world.bound(),
        ["first to n", "second to n"],
        "no room is given twice"
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_panic_within_a_minute_ends_the_loop_and_names_the_pod() {
    for second in ["bomb-2", "poison-2"] {
        let mut world = world(&[make_pod("bomb-1")]).await;
        world.pods.apply(make_pod(second).object()).await;
        let end = world.end().await;
        assert_eq!(end.culprit, format!("pod default/{second}"));
        assert_eq!(end.panic, "boom");
        assert!(end.to_string().contains(&end.culprit));
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_panic_while_the_engine_is_rebuilt_ends_the_loop() {
    let mut world = world(&[]).await;
    let pods = [make_pod("poison-1"), make_pod("poison-2")];
    world
        .pods
        .list(pods.iter().map(PodBuilder::object).collect())
        .await;
    assert_eq!(world.end().await.culprit, "pod default/poison-2");
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_more_than_a_minute_is_a_first_one_again() {
    let mut world = world(&[make_pod("bomb-1")]).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    world.pod(&make_pod("bomb-2")).await;
    world.pod(&make_pod("z")).await;
    assert_eq!(world.bound(), ["z to n"]);
    assert_eq!(world.metric("bayplan_engine_restarts_total"), "2");
    assert_eq!(world.metric("bayplan_quarantined_objects"), "2");
}
