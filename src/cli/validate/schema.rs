//! What the API server would say about a profile from the CRD alone: fields that do not exist,
//! lists and texts that are too long, a name that no object can have.

use kube::CustomResourceExt;
use serde_json::Value;

use crate::apis::profile_problem::did_you_mean;
use crate::apis::scheduler_profile::SchedulerProfile;
use crate::cli::finding::{Finding, Subject};

/// The fields at the root of an object.
const ROOT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Checks `value`, a SchedulerProfile.
pub(super) fn check(subject: Subject<'_>, value: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    if value["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        let message = "the profile has no name; give it one such as bayplan";
        findings.push(subject.finding("metadata.name", message));
    }
    let roots = value.as_object().into_iter().flatten();
    for (key, _) in roots.filter(|(key, _)| !ROOT_FIELDS.contains(&key.as_str())) {
        findings.push(unknown_field(subject, key, key, ROOT_FIELDS));
    }
    let crd = serde_json::to_value(SchedulerProfile::crd())
        .expect("the definition must be writable as JSON");
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    walk(subject, schema, &value["spec"], "spec", &mut findings);
    findings
}

fn walk(
    subject: Subject<'_>,
    schema: &Value,
    value: &Value,
    path: &str,
    findings: &mut Vec<Finding>,
) {
    match value {
        Value::Object(members) => {
            let Some(known) = schema["properties"].as_object() else {
                return;
            };
            for (key, member) in members {
                let path = format!("{path}.{key}");
                if let Some(schema) = known.get(key) {
                    walk(subject, schema, member, &path, findings);
                } else {
                    let known = known.keys().map(String::as_str);
                    findings.push(unknown_field(subject, &path, key, known));
                }
            }
        }
        Value::Array(items) => {
            check_length(
                subject,
                &schema["maxItems"],
                items.len(),
                path,
                "items",
                findings,
            );
            for (i, item) in items.iter().enumerate() {
                walk(
                    subject,
                    &schema["items"],
                    item,
                    &format!("{path}[{i}]"),
                    findings,
                );
            }
        }
        Value::String(text) => {
            let length = text.chars().count();
            check_length(
                subject,
                &schema["maxLength"],
                length,
                path,
                "characters",
                findings,
            );
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn check_length(
    subject: Subject<'_>,
    most: &Value,
    length: usize,
    path: &str,
    unit: &str,
    findings: &mut Vec<Finding>,
) {
    if let Some(most) = most.as_u64().filter(|most| length as u64 > *most) {
        let message = format!("{length} {unit} are too many; use at most {most}");
        findings.push(subject.finding(path, message));
    }
}

fn unknown_field<'a>(
    subject: Subject<'_>,
    path: &str,
    key: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Finding {
    let remedy = match did_you_mean(key, known) {
        Some(likely) => format!("did you mean {likely}?"),
        None => "remove it".to_owned(),
    };
    subject.finding(path, format!("there is no such field; {remedy}"))
}
