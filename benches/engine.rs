//! The engine alone: decisions a second for plain pods, against a bare loop that reads and writes
//! one number per node, in the same run.
//!
//! `make bench [NODES="100 1000 5000"]`

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bayplan::apis::effective_profile::EffectiveProfile;
use bayplan::engine::effect::{EffectAction, EffectOutcome};
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::{Engine, EngineConfig};
use bayplan::model::objects::{Node, Pod};
use bayplan::model::timestamp::Timestamp;
use bayplan::plugins::registry::Registry;
use serde_json::json;

/// Each size is measured at least this long.
const MEASURE: Duration = Duration::from_secs(2);
/// Pods that are decided before a new cluster is made, so that nodes do not fill up.
const PODS: usize = 2_000;

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![100, 1_000, 5_000]
    } else {
        sizes
    };
    println!(
        "{:>8}  {:>14}  {:>14}  {:>8}",
        "NODES", "DECISIONS/S", "BARE LOOP/S", "RATIO"
    );
    for nodes in sizes {
        let (engine, bare) = (decisions_per_second(nodes), bare_loops_per_second(nodes));
        println!(
            "{nodes:>8}  {engine:>14.0}  {bare:>14.0}  {:>8.4}",
            engine / bare
        );
    }
}

fn node(number: usize) -> Node {
    let name = format!("node-{number}");
    let object = json!({
        "metadata": {"name": name, "uid": name, "labels": {
            "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": format!("z{}", number % 10)}},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "1000"}}});
    serde_json::from_value(object).expect("a node of the benchmark must decode")
}

fn pod(number: usize) -> Pod {
    let name = format!("pod-{number}");
    let object = json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"schedulerName": "bayplan", "containers": [
            {"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}}}]}});
    serde_json::from_value(object).expect("a pod of the benchmark must decode")
}

fn cluster(nodes: usize) -> Engine {
    let mut engine = Engine::new(EngineConfig::default());
    engine.tick(Timestamp::from_seconds(1));
    let spec = serde_json::from_value(json!({"schedulerName": "bayplan"}))
        .expect("the profile of the benchmark must decode");
    let profile = EffectiveProfile::try_new(&spec, &Registry).expect("it must be valid");
    let profile = Registry
        .build(&profile, 1, engine.symbols_mut())
        .expect("it must be built");
    engine.handle(ClusterEvent::ProfilesChanged(vec![profile]));
    let nodes = (0..nodes).map(|number| Arc::new(node(number))).collect();
    engine.handle(ClusterEvent::NodesResynced(nodes));
    engine
}

fn decisions_per_second(nodes: usize) -> f64 {
    let (mut decided, mut spent) = (0_u32, Duration::ZERO);
    let pods: Vec<_> = (0..PODS).map(|number| Arc::new(pod(number))).collect();
    while spent < MEASURE {
        let mut engine = cluster(nodes);
        for pod in &pods {
            engine.handle(ClusterEvent::PodApplied(Arc::clone(pod)));
        }
        let started = Instant::now();
        while engine.schedule_one().is_some() && started.elapsed() < MEASURE {
            decided += 1;
            let bound: Vec<_> = engine
                .drain_effects()
                .filter(|effect| matches!(effect.action, EffectAction::Bind { .. }))
                .map(|effect| effect.id)
                .collect();
            for id in bound {
                let outcome = EffectOutcome::Done {
                    resource_version: None,
                };
                engine.handle(ClusterEvent::EffectCompleted { id, outcome });
            }
        }
        spent += started.elapsed();
    }
    f64::from(decided) / spent.as_secs_f64()
}

/// What no scheduler can beat that looks at every node once.
fn bare_loops_per_second(nodes: usize) -> f64 {
    let mut room = vec![64_000_i64; nodes];
    let (mut loops, started) = (0_u32, Instant::now());
    while started.elapsed() < MEASURE / 4 {
        for _ in 0..100 {
            let best = room
                .iter()
                .enumerate()
                .max_by_key(|(_, room)| **room)
                .map(|(i, _)| i);
            if let Some(best) = best {
                room[best] -= 1;
            }
            black_box(&mut room);
        }
        loops += 100;
    }
    f64::from(loops) / started.elapsed().as_secs_f64()
}
