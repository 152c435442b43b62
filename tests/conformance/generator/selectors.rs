//! Labels of pods and selectors of them.

use serde_json::{Map, Value, json};

use crate::generator::Plan;

/// Keys that selectors may name. `version` is left to `matchLabelKeys`, which must name a key that
/// the selector does not.
const KEYS: [&str; 2] = ["app", "tier"];

pub(super) fn pod_labels(plan: &mut Plan) -> Map<String, Value> {
    let dice = &mut plan.dice;
    let mut labels = Map::new();
    let values: [(&str, &[&str], usize); 3] = [
        ("app", &["web", "db", "cache"], 90),
        ("tier", &["front", "back"], 60),
        ("version", &["v1", "v2"], 70),
    ];
    for (key, values, percent) in values {
        if dice.chance(percent) {
            labels.insert(key.to_owned(), dice.pick(values).into());
        }
    }
    labels
}

/// A selector of pods; `None` matches nothing, `{}` everything.
pub(super) fn label_selector(plan: &mut Plan) -> Option<Value> {
    let dice = &mut plan.dice;
    match dice.below(20) {
        0 => None,
        1 => Some(json!({})),
        2..=11 => Some(json!({"matchLabels": {"app": dice.pick(&["web", "db", "cache"])}})),
        12 | 13 => Some(json!({"matchLabels": {"tier": dice.pick(&["front", "back"])}})),
        14 => Some(json!({"matchLabels": {"app": dice.pick(&["web", "db"]),
            "tier": dice.pick(&["front", "back"])}})),
        15 => Some(json!({"matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "Exists"}]})),
        _ => {
            let key = dice.pick(&KEYS);
            let values = ["web", "db", "front", "other"];
            let expression = match dice.below(4) {
                0 => json!({"key": key, "operator": "In", "values": dice.hand(&values, 2)}),
                1 => json!({"key": key, "operator": "NotIn", "values": dice.hand(&values, 2)}),
                2 => json!({"key": key, "operator": "Exists"}),
                _ => json!({"key": key, "operator": "DoesNotExist"}),
            };
            Some(json!({"matchExpressions": [expression]}))
        }
    }
}
