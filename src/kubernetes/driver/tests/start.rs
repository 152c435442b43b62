//! What a leader waits for before its first decision.

use super::world::World;
use crate::plugins::fixtures::{NodeBuilder, PodBuilder, make_node, make_pod};

fn node() -> NodeBuilder {
    make_node("n").allocatable(&[("cpu", "9"), ("pods", "9")])
}

async fn world(pods: &[PodBuilder], is_led: bool) -> World {
    World::start(&[node()], pods, false, is_led).await
}

#[tokio::test(start_paused = true)]
async fn lists_from_before_it_led_are_followed_by_the_barrier() {
    let world = world(&[make_pod("a")], false).await;
    assert_eq!(world.bound(), [""; 0]);
    world.barrier.send_replace(true);
    world.settle().await;
    assert_eq!(world.bound(), ["a to n"]);
}

#[tokio::test(start_paused = true)]
async fn lists_that_the_leader_asked_for_spare_it_the_barrier() {
    let world = world(&[make_pod("a")], true).await;
    assert_eq!(world.bound(), ["a to n"]);
}

#[tokio::test(start_paused = true)]
async fn lists_after_a_panic_are_followed_by_the_barrier_whoever_asked_for_them() {
    let mut world = world(&[make_pod("poison")], true).await;
    world.pod(&make_pod("a")).await;
    assert_eq!(world.metric("bayplan_engine_restarts_total"), "1");
    assert_eq!(
        world.bound(),
        [""; 0],
        "it may have bound pods since the lists"
    );
    world.barrier.send_replace(true);
    world.settle().await;
    assert_eq!(world.bound(), ["a to n"]);
}
