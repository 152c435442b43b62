//! Clusters to measure: nodes of 4 CPUs and 32 GiB in ten zones, with pods that run already.

use std::sync::Arc;

use bayplan::apis::effective_profile::EffectiveProfile;
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::{Engine, EngineConfig};
use bayplan::model::objects::{Node, Pod};
use bayplan::model::timestamp::Timestamp;
use bayplan::plugins::registry::Registry;
use serde_json::{Value, json};

/// The zones of a cluster.
const ZONES: usize = 10;

/// An engine with the default profile that knows `nodes` nodes with `running` pods each.
pub(crate) fn engine(nodes: usize, running: usize) -> Engine {
    let mut engine = Engine::new(EngineConfig::default());
    engine.tick(Timestamp::from_seconds(1));
    let spec = serde_json::from_value(json!({"schedulerName": "bayplan"}))
        .expect("the profile of the benchmark must decode");
    let profile = EffectiveProfile::try_new(&spec, &Registry).expect("it must be valid");
    let profile = Registry
        .build(&profile, 1, engine.symbols_mut())
        .expect("it must be built");
    engine.handle(ClusterEvent::ProfilesChanged(vec![profile]));
    for number in 0..nodes {
        engine.handle(ClusterEvent::NodeApplied(Arc::new(node(number))));
        for pod in 0..running {
            let pod = running_pod(number, pod);
            engine.handle(ClusterEvent::PodApplied(Arc::new(pod)));
        }
    }
    engine
}

/// The name of a node.
pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number}")
}

fn node(number: usize) -> Node {
    let name = node_name(number);
    decode(json!({
        "metadata": {"name": name, "uid": name, "labels": {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("zone-{}", number % ZONES)}},
        "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}}}))
}

fn running_pod(node: usize, number: usize) -> Pod {
    let name = format!("running-{node}-{number}");
    decode(json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": node_name(node), "schedulerName": "bayplan", "containers": [
            {"name": "c", "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}}}]},
        "status": {"phase": "Running"}}))
}

/// An object of the benchmark.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object of the benchmark must decode")
}
