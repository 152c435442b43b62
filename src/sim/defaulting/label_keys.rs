//! `matchLabelKeys` and `mismatchLabelKeys` become expressions of the selectors beside them
//! (`applyMatchLabelKeys` and its neighbours in `pkg/registry/core/pod/strategy.go`).

use serde_json::{Value, json};

use crate::sim::defaulting::items_at;

/// Merges the keys of spread constraints and of affinity between pods.
pub(super) fn merge(spec: &mut Value, labels: &Value) {
    for constraint in items_at(spec, "topologySpreadConstraints") {
        merge_into(constraint, labels);
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.pointer_mut(&format!("/affinity/{field}")) else {
            continue;
        };
        for term in items_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            merge_into(term, labels);
        }
        for preferred in items_at(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = preferred.get_mut("podAffinityTerm") {
                merge_into(term, labels);
            }
        }
    }
}

/// A term without a selector matches nothing, with or without the keys.
fn merge_into(term: &mut Value, labels: &Value) {
    let merged: Vec<Value> = [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")]
        .into_iter()
        .flat_map(|(field, operator)| {
            let keys = term[field].as_array().into_iter().flatten();
            let keys = keys.filter_map(Value::as_str);
            keys.filter_map(|key| {
                let value = labels.get(key)?;
                Some(json!({"key": key, "operator": operator, "values": [value]}))
            })
            .collect::<Vec<_>>()
        })
        .collect();
    let Some(Value::Object(selector)) = term.get_mut("labelSelector") else {
        return;
    };
    let expressions = selector.entry("matchExpressions").or_insert(Value::Null);
    if expressions.is_null() {
        *expressions = json!([]);
    }
    if let Value::Array(expressions) = expressions {
        for expression in merged {
            // Pods that `kubectl` printed have it already.
            if !expressions.contains(&expression) {
                expressions.push(expression);
            }
        }
    }
}
