//! Affinity and anti-affinity between pods, across namespaces.

use serde_json::{Value, json};

use crate::generator::{NAMESPACES, Plan, selectors};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Writes affinity between pods into the `spec` of one.
pub(super) fn add(plan: &mut Plan, spec: &mut Value) {
    let fields: &[&str] = match plan.dice.below(5) {
        0 | 1 => &["podAffinity"],
        2 | 3 => &["podAntiAffinity"],
        _ => &["podAffinity", "podAntiAffinity"],
    };
    for field in fields {
        let mut affinity = json!({});
        if plan.dice.chance(50) {
            let count = *plan.dice.pick(&[&1, &1, &1, &2]);
            let terms: Vec<_> = (0..count).map(|_| term(plan)).collect();
            affinity[REQUIRED] = terms.into();
        }
        if plan.dice.chance(60) {
            let count = plan.dice.between(1, 2);
            let terms: Vec<_> = (0..count)
                .map(|_| {
                    let weight = plan.dice.between(1, 100);
                    json!({"weight": weight, "podAffinityTerm": term(plan)})
                })
                .collect();
            affinity[PREFERRED] = terms.into();
        }
        spec["affinity"][*field] = affinity;
    }
}

fn term(plan: &mut Plan) -> Value {
    let key = plan.dice.pick(&[
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "kubernetes.io/hostname",
        "kubernetes.io/hostname",
        "rack",
    ]);
    let mut term = json!({"topologyKey": key});
    if let Some(selector) = selectors::label_selector(plan) {
        term["labelSelector"] = selector;
        match plan.dice.below(8) {
            0 => term["matchLabelKeys"] = json!(["version"]),
            1 => term["mismatchLabelKeys"] = json!(["version"]),
            _ => {}
        }
    }
    let dice = &mut plan.dice;
    if dice.chance(25) {
        let count = dice.between(1, 2);
        term["namespaces"] = dice.hand(&NAMESPACES, count).into();
    }
    if dice.chance(25) {
        term["namespaceSelector"] = match dice.below(4) {
            0 => json!({}),
            1 => json!({"matchLabels": {"team": "a"}}),
            2 => json!({"matchExpressions": [{"key": "env", "operator": "Exists"}]}),
            _ => json!({"matchLabels": {"kubernetes.io/metadata.name": "unlisted"}}),
        };
    }
    term
}
