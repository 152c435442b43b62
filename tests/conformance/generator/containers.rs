//! Containers, sidecars and init containers, and what they and the pod request.

use serde_json::{Value, json};

use crate::generator::Plan;
use crate::generator::dice::Dice;
use crate::generator::families::Family;
use crate::generator::focus::Focus;

/// An extended resource, of which limits and requests are equal.
pub(super) const GPU: &str = "example.com/gpu";

const IMAGES: [&str; 6] = [
    "nginx",
    "nginx:1.27",
    "registry.example/app:v1",
    "registry.example/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "registry.example:5000/tool",
    "nowhere.example/none:v9",
];

/// Writes containers and requests into the `spec` of a pod.
pub(super) fn add(plan: &mut Plan, spec: &mut Value, is_running: bool) {
    let (running, waiting) = plan.pressure;
    let pressure = if is_running { running } else { waiting };
    let is_pod_level = plan.wants(Family::PodLevel, 30);
    let requests = match plan.focus {
        _ if is_pod_level => Requests::Small,
        Focus::Eviction => Requests::Moderate { pressure },
        Focus::Mixed | Focus::Storage => Requests::Any { pressure },
    };
    let most = if plan.focus == Focus::Eviction { 2 } else { 3 };
    let count = *plan.dice.pick(&[&1, &1, &1, &2, &most]);
    let containers: Vec<_> = (0..count)
        .map(|n| container(plan, &format!("c{n}"), requests))
        .collect();
    spec["containers"] = containers.into();
    if plan.dice.chance(30) {
        let count = plan.dice.between(1, 3);
        let mut inits = Vec::new();
        for n in 0..count {
            let mut init = container(plan, &format!("i{n}"), requests);
            if plan.dice.chance(50) {
                init["restartPolicy"] = "Always".into();
            }
            inits.push(init);
        }
        spec["initContainers"] = inits.into();
    }
    if plan.dice.chance(10) {
        spec["overhead"] = match plan.dice.below(3) {
            0 => json!({"cpu": "50m"}),
            1 => json!({"memory": "32Mi"}),
            _ => json!({"cpu": "200m", "memory": "100Mi"}),
        };
    }
    if is_pod_level {
        spec["resources"] = pod_level(plan);
    }
}

/// What a container may ask for.
#[derive(Clone, Copy, Debug)]
enum Requests {
    /// Little enough for what the pod asks for as a whole.
    Small,
    /// `pressure` of 100 are large, but fit on an empty node.
    Moderate { pressure: usize },
    /// `pressure` of 100 are large, some too large for any node.
    Any { pressure: usize },
}

fn container(plan: &mut Plan, name: &str, requests: Requests) -> Value {
    let image = if plan.families.has(Family::Images) {
        plan.dice.pick(&IMAGES)
    } else {
        "nginx"
    };
    let mut container = json!({"name": name, "image": image});
    let resources = match requests {
        Requests::Small => small_resources(plan),
        Requests::Moderate { pressure } => {
            let large = [
                ["500m", "750m", "1", "1", "1500m"],
                ["512Mi", "1Gi", "1Gi", "1500M", "2Gi"],
            ];
            resources(plan, pressure, large)
        }
        Requests::Any { pressure } => {
            let large = [
                ["1", "1500m", "2", "3.5", "9"],
                ["1Gi", "3Gi", "2500M", "3.5Gi", "20Gi"],
            ];
            resources(plan, pressure, large)
        }
    };
    if resources.as_object().is_some_and(|some| !some.is_empty()) {
        container["resources"] = resources;
    }
    container
}

/// `pressure` of 100 containers ask for one of these amounts of CPU and memory.
fn resources(plan: &mut Plan, pressure: usize, large: [[&str; 5]; 2]) -> Value {
    let mut requests = json!({});
    let mut limits = json!({});
    let is_large = plan.dice.chance(pressure);
    let dice = &mut plan.dice;
    if dice.chance(75) {
        requests["cpu"] = if is_large {
            dice.pick(&large[0])
        } else {
            dice.pick(&["0", "1m", "50m", "100m", "0.25", "333m", "500m"])
        }
        .into();
    }
    if dice.chance(70) {
        requests["memory"] = if is_large {
            dice.pick(&large[1])
        } else {
            dice.pick(&["0", "1", "64Mi", "128Mi", "200Mi", "100M", "0.5Gi"])
        }
        .into();
    }
    if dice.chance(15) {
        requests["ephemeral-storage"] = dice.pick(&["0", "100Mi", "1Gi", "6Gi"]).into();
    }
    if dice.chance(8) {
        let amount = dice.pick(&["0", "1", "2"]);
        limits[GPU] = amount.into();
        if dice.chance(50) {
            requests[GPU] = amount.into();
        }
    }
    // Huge pages need cpu or memory beside them.
    if dice.chance(3) {
        limits["hugepages-2Mi"] = dice.pick(&["2Mi", "64Mi", "128Mi"]).into();
        requests["cpu"] = "100m".into();
    }
    // A limit without a request is one.
    if dice.chance(10) && requests["cpu"].is_null() {
        limits["cpu"] = dice.pick(&["100m", "2"]).into();
    }
    if dice.chance(10) && requests["memory"].is_null() {
        limits["memory"] = dice.pick(&["150Mi", "2Gi"]).into();
    }
    assemble(requests, limits)
}

/// Small enough for every pod-level request of [`pod_level`].
fn small_resources(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    let mut requests = json!({});
    if dice.chance(60) {
        requests["cpu"] = dice.pick(&["0", "10m", "100m", "200m"]).into();
    }
    if dice.chance(60) {
        requests["memory"] = dice.pick(&["0", "16Mi", "64Mi", "100Mi"]).into();
    }
    assemble(requests, json!({}))
}

fn pod_level(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    let mut requests = json!({});
    let mut limits = json!({});
    for (name, amounts) in [
        ("cpu", ["1200m", "1500m", "2"]),
        ("memory", ["600Mi", "1Gi", "2Gi"]),
    ] {
        let amount = dice.pick(&amounts);
        match dice.below(4) {
            0 => requests[name] = amount.into(),
            1 => limits[name] = amount.into(),
            2 => {
                requests[name] = amount.into();
                limits[name] = amount.into();
            }
            _ => {}
        }
    }
    assemble(requests, limits)
}

fn assemble(mut requests: Value, mut limits: Value) -> Value {
    let mut resources = json!({});
    for (field, amounts) in [("requests", &mut requests), ("limits", &mut limits)] {
        let amounts = amounts.as_object_mut().map(std::mem::take);
        let mut amounts = amounts.unwrap_or_default();
        // Looking at a missing key of a `Value` may have left a null.
        amounts.retain(|_, amount| !amount.is_null());
        if !amounts.is_empty() {
            resources[field] = amounts.into();
        }
    }
    resources
}

/// What the kubelet granted the containers of a running pod, more or less than they request.
pub(super) fn add_granted(plan: &mut Plan, pod: &mut Value) {
    let containers = pod["spec"]["containers"].as_array().cloned();
    let mut statuses = Vec::new();
    for container in containers.unwrap_or_default() {
        if plan.dice.chance(80) {
            statuses.push(granted(&mut plan.dice, &container));
        }
    }
    pod["status"]["containerStatuses"] = statuses.into();
    if plan.dice.chance(40) {
        let reason = plan.dice.pick(&["Infeasible", "Deferred"]);
        let pending = json!({"type": "PodResizePending", "status": "True", "reason": reason});
        match pod["status"]["conditions"].as_array_mut() {
            Some(conditions) => conditions.push(pending),
            None => pod["status"]["conditions"] = json!([pending]),
        }
    }
}

fn granted(dice: &mut Dice, container: &Value) -> Value {
    let amounts = |dice: &mut Dice| json!({"cpu": dice.pick(&["50m", "500m", "1"]), "memory": dice.pick(&["64Mi", "1Gi"])});
    let mut status = json!({"name": container["name"], "ready": true, "restartCount": 0,
        "image": container["image"], "imageID": ""});
    if dice.chance(70) {
        status["allocatedResources"] = amounts(dice);
    }
    if dice.chance(70) {
        status["resources"] = json!({"requests": amounts(dice)});
    }
    status
}
