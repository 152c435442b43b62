//! Nodes: room, labels, taints, images.

use serde_json::{Map, Value, json};

use crate::generator::families::Family;
use crate::generator::focus::Focus;
use crate::generator::{Plan, containers, taints};

pub(super) fn nodes(plan: &mut Plan) -> Vec<Value> {
    let names = plan.nodes.clone();
    names.iter().map(|name| node(plan, name)).collect()
}

fn node(plan: &mut Plan, name: &str) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels(plan, name)},
        "spec": {}, "status": {"allocatable": allocatable(plan)}});
    if plan.families.has(Family::Taints) {
        if plan.dice.chance(8) {
            node["spec"]["unschedulable"] = json!(true);
        }
        let taints = taints::taints(plan);
        if !taints.is_empty() {
            node["spec"]["taints"] = taints.into();
        }
    }
    if plan.families.has(Family::Images) {
        node["status"]["images"] = images(plan).into();
    }
    if plan.families.has(Family::DeclaredFeatures) {
        let features = plan.dice.some(
            &[
                "RestartAllContainersOnContainerExits",
                "UserNamespacesHostNetworkSupport",
                "SomethingNewer",
            ],
            50,
        );
        node["status"]["declaredFeatures"] = features.into();
    }
    if plan.dice.chance(15) {
        node["status"]["capacity"] = node["status"]["allocatable"].take();
        remove(&mut node["status"], "allocatable");
    }
    node
}

fn remove(object: &mut Value, field: &str) {
    object.as_object_mut().map(|object| object.remove(field));
}

/// Few values, some keys missing on some nodes, numbers that are none.
fn labels(plan: &mut Plan, name: &str) -> Map<String, Value> {
    let dice = &mut plan.dice;
    let mut labels = Map::new();
    let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), value.into());
    if dice.chance(95) {
        set("kubernetes.io/hostname", name);
    }
    if dice.chance(85) {
        let zone = dice.pick(&["z1", "z2", "z3"]);
        set("topology.kubernetes.io/zone", zone);
    }
    if dice.chance(80) {
        let region = dice.pick(&["r1", "r2"]);
        set("topology.kubernetes.io/region", region);
    }
    if dice.chance(60) {
        set("disk", dice.pick(&["ssd", "hdd", ""]));
    }
    if dice.chance(60) {
        set("generation", dice.pick(&["1", "2", "3", "10", "08", "x"]));
    }
    if dice.chance(40) {
        set("rack", dice.pick(&["1", "2"]));
    }
    labels
}

fn allocatable(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    let (cpu, memory, pods) = match plan.focus {
        Focus::Mixed => (
            dice.pick(&["1", "2", "3500m", "4", "8"]),
            dice.pick(&["2Gi", "4Gi", "4000000000", "8Gi", "7999M"]),
            dice.pick(&["2", "4", "8", "20", "110"]),
        ),
        Focus::Storage => (
            dice.pick(&["6", "8", "16"]),
            dice.pick(&["8Gi", "16000M", "32Gi"]),
            dice.pick(&["8", "20", "110"]),
        ),
        Focus::Eviction => (
            dice.pick(&["3500m", "4", "4", "6"]),
            dice.pick(&["6Gi", "8Gi", "7999M"]),
            dice.pick(&["4", "8", "20", "110"]),
        ),
    };
    let mut room = json!({"cpu": cpu, "memory": memory, "pods": pods});
    if dice.chance(if plan.focus == Focus::Mixed { 70 } else { 95 }) {
        room["ephemeral-storage"] = dice.pick(&["1Gi", "10Gi", "20G"]).into();
    }
    if dice.chance(40) {
        room[containers::GPU] = dice.pick(&["0", "1", "4"]).into();
    }
    if dice.chance(20) {
        room["hugepages-2Mi"] = dice.pick(&["0", "64Mi", "256Mi"]).into();
    }
    if dice.chance(3) {
        let missing = dice.pick(&["cpu", "memory", "pods"]);
        remove(&mut room, missing);
    }
    room
}

fn images(plan: &mut Plan) -> Vec<Value> {
    let known = [
        json!(["nginx:latest", "docker.io/library/nginx:latest"]),
        json!(["nginx:1.27"]),
        json!(["registry.example/app:v1"]),
        json!([
            "registry.example/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        ]),
        json!(["registry.example:5000/tool:latest"]),
    ];
    let dice = &mut plan.dice;
    let mut images = Vec::new();
    for names in known {
        if dice.chance(35) {
            // The same image has the same size everywhere but for the last.
            let size = match names[0].as_str() {
                Some("nginx:latest") => 187_000_000_u64,
                Some("nginx:1.27") => 24_117_248,
                Some("registry.example/app:v1") => 1_500_000_000,
                Some("registry.example:5000/tool:latest") => {
                    *dice.pick(&[&1_000_000, &600_000_000])
                }
                _ => 412_316_860,
            };
            images.push(json!({"names": names, "sizeBytes": size}));
        }
    }
    images
}
