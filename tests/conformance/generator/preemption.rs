//! Priorities, and what preemption looks at.

use serde_json::{Value, json};

use crate::generator::families::Family;
use crate::generator::{NAMESPACES, Plan, selectors};

const CLASSES: [&str; 4] = ["low", "middle", "high", "polite"];

/// The classes of a cluster that has priorities.
pub(super) fn priority_classes(plan: &mut Plan) -> Vec<Value> {
    if !has_priorities(plan) {
        return Vec::new();
    }
    let with_default = plan.dice.chance(40);
    let values = [-10, 100, 1000, 1000];
    let classes = CLASSES.iter().zip(values).map(|(name, value)| {
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
    let dice = &mut plan.dice;
    let class = if is_running {
        dice.pick(&["", "low", "low", "middle", "high"])
    } else {
        dice.pick(&[
            "",
            "low",
            "middle",
            "high",
            "high",
            "polite",
            "system-cluster-critical",
        ])
    };
    (!class.is_empty()).then_some(class)
}

/// Disruption budgets, some used up.
pub(super) fn budgets(plan: &mut Plan) -> Vec<Value> {
    if !plan.families.has(Family::Preemption) {
        return Vec::new();
    }
    let count = plan.dice.between(0, 4);
    (0..count).filter_map(|n| budget(plan, n)).collect()
}

fn budget(plan: &mut Plan, number: usize) -> Option<Value> {
    let selector = selectors::label_selector(plan)?;
    let dice = &mut plan.dice;
    let allowed = *dice.pick(&[&0, &0, &1, &2]);
    let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": format!("pdb-{number}"), "namespace": dice.pick(&NAMESPACES)},
        "spec": {"minAvailable": 1, "selector": selector},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 1,
            "expectedPods": 3}});
    if dice.chance(15) {
        let namespace = budget["metadata"]["namespace"].as_str().unwrap_or_default();
        // A pod that is on its way out already needs no more room in the budget.
        let gone = format!("p{:02}", dice.below(30));
        budget["metadata"]["namespace"] = namespace.into();
        budget["status"]["disruptedPods"] = json!({gone: "2024-01-01T00:00:00Z"});
    }
    Some(budget)
}

/// A node for which a waiting pod is nominated: mostly one that exists.
pub(super) fn nominated_node(plan: &mut Plan) -> String {
    if plan.dice.chance(5) {
        return "nowhere".to_owned();
    }
    let at = plan.dice.below(plan.nodes.len());
    plan.nodes[at].clone()
}
