//! Turns of the loop: how long others wait for it.

use std::time::Duration;

use super::world::{SLOW, World};
use crate::plugins::fixtures::{make_node, make_pod};

#[tokio::test(start_paused = true)]
async fn a_loop_whose_cycles_take_long_is_seen_to_be_alive() {
    let node = make_node("n").allocatable(&[("cpu", "99"), ("pods", "99")]);
    let names: Vec<String> = (0..20).map(|i| format!("slow-{i}")).collect();
    let pods: Vec<_> = names.iter().map(|name| make_pod(name)).collect();
    let world = World::new(&[node], &pods).await;
    let mut oldest = world.heartbeat.age();
    while world.bound().len() < pods.len() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        oldest = oldest.max(world.heartbeat.age());
    }
    assert!(oldest < SLOW * 3, "no sign of life for {oldest:?}");
}
