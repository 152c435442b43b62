//! Pods: those that run, those that wait, those that go.

use serde_json::{Value, json};

use crate::generator::families::Family;
use crate::generator::{
    NAMESPACES, Plan, containers, node_affinity, owners, pod_affinity, ports, preemption,
    selectors, spread, taints, volumes,
};

pub(super) fn pods(plan: &mut Plan, count: usize) -> Vec<Value> {
    let (least, most) = plan.focus.share_of_running();
    let running = count * plan.dice.between(least, most) / 100;
    let mut pods = Vec::new();
    for number in 0..count {
        let is_running = number < running;
        let mut made = pod(plan, number, is_running);
        pods.append(&mut made);
    }
    pods
}

/// A pod and the objects that are made for it.
fn pod(plan: &mut Plan, number: usize, is_running: bool) -> Vec<Value> {
    let namespace = plan.dice.pick(&NAMESPACES);
    let name = format!("p{number:02}");
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": selectors::pod_labels(plan)},
        "spec": {}});
    let spec = &mut pod["spec"];
    containers::add(plan, spec, is_running);
    if let Some(scheduler) = scheduler(plan) {
        spec["schedulerName"] = scheduler.into();
    }
    if plan.wants(Family::Taints, 60) {
        spec["tolerations"] = taints::tolerations(plan).into();
    }
    if plan.wants(Family::NodeAffinity, 50) {
        node_affinity::add(plan, spec);
    }
    if plan.wants(Family::Ports, 40) {
        ports::add(plan, spec);
    }
    if plan.wants(Family::Spread, 55) {
        spec["topologySpreadConstraints"] = spread::constraints(plan).into();
    }
    if plan.wants(Family::PodAffinity, 48) {
        pod_affinity::add(plan, spec);
    }
    if preemption::has_priorities(plan)
        && let Some(class) = preemption::priority_class(plan, is_running)
    {
        spec["priorityClassName"] = class.into();
    }
    if plan.wants(Family::Images, 10) {
        let volume = json!({"name": "oci", "image": {"reference": "registry.example/app:v1"}});
        spec["volumes"] = json!([volume]);
    }
    if plan.wants(Family::DeclaredFeatures, 28) {
        spec["containers"][0]["restartPolicy"] = "Never".into();
        spec["containers"][0]["restartPolicyRules"] = json!([{"action": "RestartAllContainers",
            "exitCodes": {"operator": "In", "values": [42]}}]);
    }
    if plan.wants(Family::Owners, 60) {
        pod["metadata"]["ownerReferences"] = json!([owners::owner(plan)]);
    }
    let mut objects = Vec::new();
    if plan.wants(Family::Volumes, plan.focus.share_of_volumes()) {
        objects = volumes::add(plan, &mut pod);
        // Each profile of upstream keeps a book of assumed volumes of its own; Bayplan keeps one
        // (docs/compatibility.md). All pods with claims go to one profile.
        if let Some(spec) = pod["spec"].as_object_mut() {
            spec.remove("schedulerName");
        }
    }
    if is_running {
        run(plan, &mut pod);
    } else {
        wait(plan, &mut pod);
    }
    objects.push(pod);
    objects
}

/// The profile that a pod names. Now and then one that nobody answers for.
fn scheduler(plan: &mut Plan) -> Option<String> {
    let count = plan.schedulers.len();
    if count == 0 {
        return None;
    }
    if plan.dice.chance(4) {
        return Some("somebody-else".to_owned());
    }
    let at = plan.dice.below(count);
    Some(plan.schedulers[at].clone())
}

fn run(plan: &mut Plan, pod: &mut Value) {
    let at = plan.dice.below(plan.nodes.len());
    pod["spec"]["nodeName"] = if plan.dice.chance(2) {
        "nowhere".into()
    } else {
        plan.nodes[at].as_str().into()
    };
    match plan.dice.below(25) {
        0 => pod["status"]["phase"] = "Succeeded".into(),
        1 => pod["status"]["phase"] = "Failed".into(),
        2 | 3 => {
            pod["metadata"]["deletionTimestamp"] = "2024-01-01T01:00:00Z".into();
            pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
            if plan.wants(Family::Preemption, 60) {
                pod["status"]["conditions"] = json!([preemption::disruption(plan)]);
            }
        }
        _ if plan.started_together => {
            pod["status"]["startTime"] = "2024-01-01T02:30:00Z".into();
        }
        4..=8 => {
            let minute = plan.dice.between(10, 59);
            pod["status"]["startTime"] = format!("2024-01-01T02:{minute}:00Z").into();
        }
        _ => {}
    }
    if plan.wants(Family::Resize, 40) {
        containers::add_granted(plan, pod);
    }
}

fn wait(plan: &mut Plan, pod: &mut Value) {
    if plan.wants(Family::Gates, 10) {
        let mut gates = plan.dice.some(&["example.com/quota", "example.com/b"], 50);
        gates.push("example.com/last");
        let gates: Vec<_> = gates.iter().map(|name| json!({"name": name})).collect();
        pod["spec"]["schedulingGates"] = gates.into();
    }
    if plan.wants(Family::Preemption, 12) {
        pod["status"]["nominatedNodeName"] = preemption::nominated_node(plan).into();
    }
    if plan.dice.chance(2) {
        pod["metadata"]["deletionTimestamp"] = "2024-01-01T01:00:00Z".into();
        pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    }
    // Older than what stands before it in the file, so that the queue has something to order.
    if plan.dice.chance(15) {
        let second = plan.dice.between(10, 59);
        pod["metadata"]["creationTimestamp"] = format!("2024-01-01T00:00:{second}Z").into();
    }
}
