//! Node selectors and node affinity, with every operator.

use serde_json::{Value, json};

use crate::generator::Plan;

/// Writes what the pod wants of nodes into its `spec`.
pub(super) fn add(plan: &mut Plan, spec: &mut Value) {
    if plan.dice.chance(25) {
        spec["nodeSelector"] = match plan.dice.below(4) {
            0 => json!({"disk": "ssd"}),
            1 => json!({"disk": ""}),
            2 => json!({"topology.kubernetes.io/zone": plan.dice.pick(&["z1", "z2", "z9"])}),
            _ => json!({"disk": "hdd", "rack": "1"}),
        };
    }
    if plan.dice.chance(80) {
        let affinity = affinity(plan);
        if affinity.as_object().is_some_and(|some| !some.is_empty()) {
            spec["affinity"]["nodeAffinity"] = affinity;
        }
    }
}

/// A node affinity; also used as `addedAffinity`.
pub(super) fn affinity(plan: &mut Plan) -> Value {
    let mut affinity = json!({});
    if plan.dice.chance(45) {
        let count = plan.dice.between(1, 3);
        let terms: Vec<_> = (0..count).map(|_| term(plan)).collect();
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
    }
    if plan.dice.chance(75) {
        let count = plan.dice.between(1, 3);
        let preferred: Vec<_> = (0..count)
            .map(|_| {
                let weight = plan.dice.between(1, 100);
                json!({"weight": weight, "preference": term(plan)})
            })
            .collect();
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred.into();
    }
    affinity
}

fn term(plan: &mut Plan) -> Value {
    let mut term = json!({});
    match plan.dice.below(20) {
        // An empty term matches no node.
        0 => {}
        1..=3 => term["matchFields"] = json!([field(plan)]),
        4 => {
            term["matchFields"] = json!([field(plan)]);
            term["matchExpressions"] = json!([expression(plan)]);
        }
        5..=8 => term["matchExpressions"] = json!([expression(plan), expression(plan)]),
        _ => term["matchExpressions"] = json!([expression(plan)]),
    }
    term
}

fn field(plan: &mut Plan) -> Value {
    let name = if plan.dice.chance(90) {
        let at = plan.dice.below(plan.nodes.len());
        plan.nodes[at].clone()
    } else {
        "nowhere".to_owned()
    };
    let operator = plan.dice.pick(&["In", "In", "NotIn"]);
    json!({"key": "metadata.name", "operator": operator, "values": [name]})
}

fn expression(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    let keys = [
        ("topology.kubernetes.io/zone", ["z1", "z2", "z3", "z9"]),
        ("disk", ["ssd", "hdd", "", "tape"]),
        ("rack", ["1", "2", "3", "1"]),
        ("generation", ["1", "2", "10", "x"]),
    ];
    let (key, values) = keys[dice.below(keys.len())];
    match dice.below(12) {
        0..=3 => {
            let count = dice.between(1, 2);
            json!({"key": key, "operator": "In", "values": dice.hand(&values, count)})
        }
        4 | 5 => {
            let count = dice.between(1, 2);
            json!({"key": key, "operator": "NotIn", "values": dice.hand(&values, count)})
        }
        6 | 7 => json!({"key": key, "operator": "Exists"}),
        8 => json!({"key": key, "operator": "DoesNotExist"}),
        _ => {
            let operator = dice.pick(&["Gt", "Lt"]);
            let value = dice.pick(&["0", "1", "2", "9", "08"]);
            json!({"key": "generation", "operator": operator, "values": [value]})
        }
    }
}
