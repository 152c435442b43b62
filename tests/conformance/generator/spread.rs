//! Spread constraints with every option.

use serde_json::{Value, json};

use crate::generator::{Plan, selectors};

const KEYS: [&str; 3] = [
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "rack",
];

/// No two constraints of a pod have the same key and the same answer to "unsatisfiable".
pub(super) fn constraints(plan: &mut Plan) -> Vec<Value> {
    let pairs: Vec<_> = KEYS
        .iter()
        .flat_map(|key| ["DoNotSchedule", "ScheduleAnyway"].map(|when| (*key, when)))
        .collect();
    let count = *plan.dice.pick(&[&1, &1, &2, &3]);
    let hand = plan.dice.hand(&pairs, count);
    hand.into_iter()
        .map(|(key, when)| constraint(plan, key, when))
        .collect()
}

fn constraint(plan: &mut Plan, key: &str, when: &str) -> Value {
    let skew = *plan.dice.pick(&[&1, &1, &2, &3]);
    let mut constraint = json!({"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when});
    if let Some(selector) = selectors::label_selector(plan) {
        constraint["labelSelector"] = selector;
        if plan.dice.chance(25) {
            constraint["matchLabelKeys"] = json!(["version"]);
        }
    }
    let dice = &mut plan.dice;
    if when == "DoNotSchedule" && dice.chance(25) {
        constraint["minDomains"] = dice.between(1, 4).into();
    }
    if dice.chance(30) {
        constraint["nodeAffinityPolicy"] = dice.pick(&["Honor", "Ignore"]).into();
    }
    if dice.chance(30) {
        constraint["nodeTaintsPolicy"] = dice.pick(&["Honor", "Ignore"]).into();
    }
    constraint
}
