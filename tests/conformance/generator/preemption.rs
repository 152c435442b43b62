//! Priorities, and what preemption looks at.

use serde_json::{Value, json};

use crate::generator::families::Family;
use crate::generator::focus::Focus;
use crate::generator::{NAMESPACES, Plan, selectors};

/// Priority classes. The lowest number there is adds nothing to a sum of priorities, so that one
/// victim and two can weigh the same.
const CLASSES: [(&str, i32); 6] = [
    ("worthless", i32::MIN),
    ("low", -10),
    ("middle", 100),
    ("high", 1000),
    ("polite", 1000),
    ("urgent", 1_000_000),
];

/// The classes of a cluster that has priorities.
pub(super) fn priority_classes(plan: &mut Plan) -> Vec<Value> {
    if !has_priorities(plan) {
        return Vec::new();
    }
    let with_default = plan.dice.chance(40);
    let classes = CLASSES.iter().map(|(name, value)| {
        let mut class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value});
        if *name == "polite" {
            class["preemptionPolicy"] = "Never".into();
        }
        if with_default && *name == "middle" {
            class["globalDefault"] = true.into();
        }
        class
    });
    classes.collect()
}

pub(super) fn has_priorities(plan: &Plan) -> bool {
    plan.families.has(Family::Priorities) || plan.families.has(Family::Preemption)
}

/// The name of a class for a pod, or none. What runs is worth less than what waits.
pub(super) fn priority_class(plan: &mut Plan, is_running: bool) -> Option<&'static str> {
    let classes: &[&str] = match (is_running, plan.focus) {
        (true, _) => &["", "worthless", "low", "low", "low", "middle", "high"],
        (false, Focus::Eviction) => &[
            "",
            "low",
            "middle",
            "high",
            "high",
            "high",
            "urgent",
            "urgent",
            "polite",
            "urgent",
            "system-cluster-critical",
        ],
        (false, Focus::Mixed | Focus::Storage) => &[
            "",
            "low",
            "middle",
            "high",
            "high",
            "polite",
            "urgent",
            "system-cluster-critical",
        ],
    };
    let class = plan.dice.pick(classes);
    (!class.is_empty()).then_some(class)
}

/// Disruption budgets in every form, some used up. `pods` are those of the cluster.
pub(super) fn budgets(plan: &mut Plan, pods: &[Value]) -> Vec<Value> {
    if !plan.families.has(Family::Preemption) {
        return Vec::new();
    }
    let count = match plan.focus {
        Focus::Eviction => plan.dice.between(0, 6),
        Focus::Mixed | Focus::Storage => plan.dice.between(0, 3),
    };
    (0..count).map(|n| budget(plan, n, pods)).collect()
}

fn budget(plan: &mut Plan, number: usize, pods: &[Value]) -> Value {
    let selector = selectors::label_selector(plan);
    let dice = &mut plan.dice;
    let namespace = dice.pick(&NAMESPACES);
    let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": format!("pdb-{number}"), "namespace": namespace}});
    budget["spec"] = match dice.below(5) {
        0 => json!({"minAvailable": 1}),
        1 => json!({"minAvailable": "50%"}),
        2 => json!({"maxUnavailable": 0}),
        3 => json!({"maxUnavailable": "25%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
        // Neither of them.
        _ => json!({"unhealthyPodEvictionPolicy": "IfHealthyBudget"}),
    };
    if let Some(selector) = selector {
        budget["spec"]["selector"] = selector;
    }
    if dice.chance(90) {
        let allowed = *dice.pick(&[&0, &0, &1, &2]);
        budget["status"] = json!({"disruptionsAllowed": allowed, "currentHealthy": 3,
            "desiredHealthy": 1, "expectedPods": 3});
    }
    if dice.chance(25) {
        // Pods that are on their way out already need no more room in the budget.
        let inside = pods.iter().map(|pod| &pod["metadata"]);
        let inside = inside.filter(|metadata| metadata["namespace"] == *namespace);
        let names: Vec<_> = inside.filter_map(|pod| pod["name"].as_str()).collect();
        let gone = dice.some(&names, 40).into_iter();
        budget["status"]["disruptedPods"] = gone
            .map(|name| (name.to_owned(), "2024-01-01T00:00:00Z".into()))
            .collect::<serde_json::Map<_, Value>>()
            .into();
    }
    budget
}

/// A node for which a waiting pod is nominated: mostly one that exists.
pub(super) fn nominated_node(plan: &mut Plan) -> String {
    if plan.dice.chance(5) {
        return "nowhere".to_owned();
    }
    let at = plan.dice.below(plan.nodes.len());
    plan.nodes[at].clone()
}

/// What tells that a running pod goes because a scheduler drove it out, or for another reason.
pub(super) fn disruption(plan: &mut Plan) -> Value {
    let reason = plan.dice.pick(&[
        "PreemptionByScheduler",
        "PreemptionByScheduler",
        "EvictionByEvictionAPI",
    ]);
    json!({"type": "DisruptionTarget", "status": "True", "reason": reason})
}
