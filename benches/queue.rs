//! Storms of events: what one event costs the engine while many pods wait that it cannot help.
//!
//! `make bench-engine` runs it; `cargo bench --bench queue -- 1000 10000` chooses the sizes.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

#[path = "engine/profiled.rs"]
mod profiled;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::queue::Place;
use bayplan::model::objects::{Node, Pod};
use serde_json::{Value, json};

use crate::profiled::decode;

/// Each case is measured at least this long.
const MEASURE: Duration = Duration::from_millis(500);
/// Of so many waiting pods one more is gated.
const PENDING_PER_GATED: usize = 10;

/// Pods that wait, and a change that happens again and again without helping any of them.
struct Storm {
    name: &'static str,
    /// The pod with this number.
    pod: fn(usize) -> Value,
    /// The two states between which the cluster goes to and fro.
    states: [fn() -> ClusterEvent; 2],
}

const STORMS: [Storm; 4] = [
    Storm {
        name: "pods too large, a taint comes and goes",
        pod: |_| too_large("100"),
        states: [|| flapping(false), || flapping(true)],
    },
    Storm {
        name: "pods that tolerate nothing, a taint comes and goes",
        pod: |_| asking("100m"),
        states: [|| flapping(false), || flapping(true)],
    },
    Storm {
        name: "pods too large, a pod comes and goes",
        pod: |_| too_large("100"),
        states: [
            || ClusterEvent::PodApplied(Arc::new(running())),
            || ClusterEvent::PodDeleted(Arc::new(running())),
        ],
    },
    Storm {
        name: "pods too large, no two alike, a taint comes and goes",
        pod: |number| too_large(&format!("{}m", 100_000 + number)),
        states: [|| flapping(false), || flapping(true)],
    },
];

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![1_000, 10_000, 100_000]
    } else {
        sizes
    };
    println!(
        "{:>8}  {:>8}  {:>12}  STORM",
        "PENDING", "GATED", "NS/EVENT"
    );
    for storm in &STORMS {
        for &pending in &sizes {
            let gated = pending / PENDING_PER_GATED;
            let cost = nanoseconds_per_event(storm, pending, gated);
            println!("{pending:>8}  {gated:>8}  {cost:>12}  {}", storm.name);
        }
    }
}

/// The profile, a tainted node, and a node that has little room.
fn cluster() -> Engine {
    let mut engine = profiled::engine();
    engine.handle(flapping(false));
    engine
}

/// A node that nobody may use, with a second taint or without.
fn flapping(is_tainted_twice: bool) -> ClusterEvent {
    let mut taints = vec![json!({"key": "dedicated", "effect": "NoSchedule"})];
    if is_tainted_twice {
        taints.push(json!({"key": "unreachable", "effect": "NoSchedule"}));
    }
    let node: Node = decode(json!({
        "metadata": {"name": "n", "uid": "n"}, "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "1000"}}}));
    ClusterEvent::NodeApplied(Arc::new(node))
}

fn asking(cpu: &str) -> Value {
    json!({"schedulerName": "bayplan", "containers": [
        {"name": "c", "resources": {"requests": {"cpu": cpu}}}]})
}

/// It may go anywhere, and is too large everywhere.
fn too_large(cpu: &str) -> Value {
    let mut spec = asking(cpu);
    spec["tolerations"] = json!([{"operator": "Exists"}]);
    spec
}

fn running() -> Pod {
    let mut spec = asking("1");
    spec["nodeName"] = "n".into();
    pod("running", &spec)
}

fn pod(name: &str, spec: &Value) -> Pod {
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    decode(json!({"metadata": metadata, "spec": spec}))
}

fn nanoseconds_per_event(storm: &Storm, pending: usize, gated: usize) -> u128 {
    let mut engine = cluster();
    for number in 0..pending + gated {
        let mut spec = (storm.pod)(number);
        if number >= pending {
            spec["schedulingGates"] = json!([{"name": "example.com/gate"}]);
        }
        let pod = pod(&format!("pod-{number}"), &spec);
        engine.handle(ClusterEvent::PodApplied(Arc::new(pod)));
    }
    while engine.schedule_one().is_some() {
        engine.drain_effects().for_each(drop);
    }
    let waits = |engine: &Engine, place| engine.queue().count(place);
    assert_eq!(waits(&engine, Place::Unschedulable), pending);
    assert_eq!(waits(&engine, Place::Gated), gated);
    let (mut events, mut spent) = (0_u32, Duration::ZERO);
    while spent < MEASURE {
        let storm = storm.states.map(|state| state());
        let started = Instant::now();
        for event in storm {
            engine.handle(event);
        }
        spent += started.elapsed();
        events += 2;
    }
    assert_eq!(waits(&engine, Place::Unschedulable), pending, "a pod woke");
    spent.as_nanos() / u128::from(events)
}
