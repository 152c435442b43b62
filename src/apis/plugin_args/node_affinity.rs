//! Arguments of the plugin NodeAffinity.

use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm};
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ArgProblems;
use crate::apis::label_syntax;

/// What NodeAffinity adds to the affinity of pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeAffinityArgs {
    /// Node affinity that every pod of this profile has beside its own. Default: none. Pods that
    /// must run on one certain node, such as those of a DaemonSet, may not find a place any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "bounded_node_affinity")]
    pub added_affinity: Option<NodeAffinity>,
}

/// Longest list anywhere in the added affinity.
const MAX_ITEMS: u32 = 64;
/// Longest text anywhere in the added affinity: a label key with its prefix.
const MAX_LENGTH: u32 = 317;

/// The schema of Kubernetes' NodeAffinity with bounds, which it has not.
fn bounded_node_affinity(generator: &mut SchemaGenerator) -> Schema {
    fn bound(schema: &mut Value) {
        let bound_here = match schema.get("type").and_then(Value::as_str) {
            Some("array") => Some(("maxItems", MAX_ITEMS)),
            Some("string") => Some(("maxLength", MAX_LENGTH)),
            _ => None,
        };
        match schema {
            Value::Object(members) => {
                members.values_mut().for_each(bound);
                members.extend(bound_here.map(|(key, limit)| (key.to_owned(), limit.into())));
            }
            Value::Array(items) => items.iter_mut().for_each(bound),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut schema = NodeAffinity::json_schema(generator);
    schema
        .as_object_mut()
        .into_iter()
        .for_each(|members| members.values_mut().for_each(bound));
    schema
}

impl NodeAffinityArgs {
    /// `ValidateNodeAffinityArgs` of upstream. Empty terms match nothing and are not looked at, nor
    /// are preferred terms of weight 0.
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        let Some(affinity) = &self.added_affinity else {
            return;
        };
        let path = format!("{path}.addedAffinity");
        if let Some(required) = &affinity.required_during_scheduling_ignored_during_execution {
            for (i, term) in required.node_selector_terms.iter().enumerate() {
                let field = format!(
                    "{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{i}]"
                );
                check_term(term, &field, problems);
            }
        }
        let preferred = affinity
            .preferred_during_scheduling_ignored_during_execution
            .as_deref();
        for (i, term) in preferred.unwrap_or_default().iter().enumerate() {
            if term.weight != 0 {
                let field = format!(
                    "{path}.preferredDuringSchedulingIgnoredDuringExecution[{i}].preference"
                );
                check_term(&term.preference, &field, problems);
            }
        }
    }
}

fn check_term(term: &NodeSelectorTerm, path: &str, problems: &mut ArgProblems) {
    for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
        check_expression(
            expression,
            &format!("{path}.matchExpressions[{i}]"),
            problems,
        );
    }
    for (i, requirement) in term.match_fields.iter().flatten().enumerate() {
        let field = format!("{path}.matchFields[{i}]");
        if !matches!(requirement.operator.as_str(), "In" | "NotIn") {
            let message = format!("{:?} is no operator for fields", requirement.operator);
            problems.add(format!("{field}.operator"), message, "use In or NotIn");
        } else if requirement.values.as_deref().unwrap_or_default().len() != 1 {
            let remedy = "give the name of one node";
            problems.add(
                format!("{field}.values"),
                "a field takes exactly one value",
                remedy,
            );
        }
    }
}

/// A requirement on labels, as `labels.NewRequirement` judges it.
fn check_expression(requirement: &NodeSelectorRequirement, path: &str, problems: &mut ArgProblems) {
    if let Err(message) = label_syntax::check_key(&requirement.key) {
        problems.add(format!("{path}.key"), message, "name a label of nodes");
    }
    let values = requirement.values.as_deref().unwrap_or_default();
    let field = format!("{path}.values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            problems.add(field, "In and NotIn need values", "give at least one value");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let message = "Exists and DoesNotExist take no values";
            problems.add(field, message, "remove the values or use In");
        }
        "Gt" | "Lt" if values.len() != 1 || values[0].parse::<i64>().is_err() => {
            problems.add(
                field,
                "Gt and Lt take one whole number",
                "give one number in quotes",
            );
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {
            for (i, value) in values.iter().enumerate() {
                if let Err(message) = label_syntax::check_value(value) {
                    problems.add(
                        format!("{field}[{i}]"),
                        message,
                        "use a value that labels allow",
                    );
                }
            }
        }
        unknown => problems.add(
            format!("{path}.operator"),
            format!("{unknown:?} is not an operator"),
            "use In, NotIn, Exists, DoesNotExist, Gt or Lt",
        ),
    }
}
