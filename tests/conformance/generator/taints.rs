//! Taints and what tolerates them.

use serde_json::{Value, json};

use crate::generator::Plan;

const KEYS: [&str; 3] = ["dedicated", "maintenance", "example.com/gpu"];
const VALUES: [&str; 3] = ["a", "b", ""];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// No two taints of a node have the same key and effect.
pub(super) fn taints(plan: &mut Plan) -> Vec<Value> {
    let dice = &mut plan.dice;
    let count = *dice.pick(&[&0, &0, &0, &0, &1, &1, &2, &3]);
    let pairs: Vec<_> = KEYS
        .iter()
        .flat_map(|key| EFFECTS.map(|effect| (*key, effect)))
        .collect();
    let mut taints: Vec<_> = dice
        .hand(&pairs, count)
        .into_iter()
        .map(|(key, effect)| {
            let mut taint = json!({"key": key, "effect": effect});
            let value = dice.pick(&VALUES);
            if !value.is_empty() {
                taint["value"] = value.into();
            }
            taint
        })
        .collect();
    if dice.chance(5) {
        taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
    }
    taints
}

pub(super) fn tolerations(plan: &mut Plan) -> Vec<Value> {
    let count = *plan.dice.pick(&[&1, &1, &2, &3]);
    (0..count).map(|_| toleration(plan)).collect()
}

fn toleration(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    if dice.chance(8) {
        return json!({"operator": "Exists"});
    }
    let mut toleration = match dice.below(10) {
        0 => json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}),
        1 => json!({"operator": "Exists"}),
        2..=4 => json!({"key": dice.pick(&KEYS), "operator": "Exists"}),
        5 | 6 => json!({"key": dice.pick(&KEYS), "operator": "Equal", "value": dice.pick(&VALUES)}),
        7 => json!({"key": dice.pick(&KEYS), "operator": "Equal"}),
        _ => json!({"key": dice.pick(&KEYS), "value": dice.pick(&VALUES)}),
    };
    if dice.chance(60) {
        let effect = dice.pick(&EFFECTS);
        toleration["effect"] = effect.into();
        if effect == "NoExecute" && dice.chance(40) {
            toleration["tolerationSeconds"] = json!(300);
        }
    }
    toleration
}
