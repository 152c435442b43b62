//! Both decide one cluster; every field of every record is compared.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::deviations::{DEVIATIONS, OMISSIONS};
use crate::generator::Cluster;
use crate::oracle::Oracle;
use crate::subject::{Subject, bayplan};

/// What two deciders said about one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// Upstream's records, in their normal form.
    pub(crate) records: Vec<Value>,
    /// How often a kind of preemption occurred in them.
    pub(crate) preemptions: BTreeMap<String, u64>,
    /// The first difference.
    pub(crate) difference: Option<Difference>,
}

/// The first pod about which they disagree.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// `namespace/name` of the pod; empty if the whole cluster was refused.
    pub(crate) pod: String,
    /// Which field of the record, or `refused`, or `pod` if the order is another one.
    pub(crate) field: String,
    /// What the subject says.
    pub(crate) bayplan: Value,
    pub(crate) upstream: Value,
}

/// Decides the cluster by both.
///
/// # Errors
/// The oracle cannot be asked.
pub(crate) fn compare(
    cluster: &Cluster,
    subject: Subject,
    oracle: &mut Oracle,
) -> anyhow::Result<Comparison> {
    let missing = subject.missing();
    let is_compared = |object: &&Value| !OMISSIONS.iter().any(|omits| omits(object));
    let objects: Vec<_> = cluster
        .objects
        .iter()
        .filter(is_compared)
        .cloned()
        .collect();
    let (objects, is_valid) = (&objects[..], &cluster.is_valid);
    let upstream = oracle.decide(objects, &missing, *is_valid)?;
    let decided = match subject {
        Subject::Bayplan => bayplan(objects),
        Subject::Upstream => oracle
            .decide(objects, &missing, *is_valid)?
            .map(|answer| answer.records),
    };
    let (mut ours, theirs) = match (decided, upstream) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => {
            let differ = *is_valid || ours.is_ok() || theirs.is_ok();
            return Ok(Comparison {
                records: Vec::new(),
                preemptions: BTreeMap::new(),
                difference: differ.then(|| refused(ours.err(), theirs.err())),
            });
        }
    };
    ours = ours.into_iter().map(normal_form).collect();
    let preemptions = theirs.preemptions;
    let mut theirs: Vec<_> = theirs.records.into_iter().map(normal_form).collect();
    let records = theirs.clone();
    for (ours, theirs) in ours.iter_mut().zip(&mut theirs) {
        for deviation in DEVIATIONS {
            deviation(ours);
            deviation(theirs);
        }
    }
    let count = ours.len().max(theirs.len());
    ours.resize(count, Value::Null);
    theirs.resize(count, Value::Null);
    let difference = ours.iter().zip(&theirs).find_map(|(ours, theirs)| {
        let field = differing_field(ours, theirs)?;
        let named = if ours.is_null() { theirs } else { ours };
        Some(Difference {
            pod: named["pod"].as_str().unwrap_or_default().to_owned(),
            field,
            bayplan: ours.clone(),
            upstream: theirs.clone(),
        })
    });
    Ok(Comparison {
        records,
        preemptions,
        difference,
    })
}

fn refused(ours: Option<String>, theirs: Option<String>) -> Difference {
    Difference {
        pod: String::new(),
        field: "refused".to_owned(),
        bayplan: ours.map_or(Value::Null, Value::String),
        upstream: theirs.map_or(Value::Null, Value::String),
    }
}

/// The record without what is empty, and without plugins that gave a node nothing at all.
fn normal_form(mut record: Value) -> Value {
    let scores = record.get_mut("scores").and_then(Value::as_object_mut);
    for node in scores.into_iter().flat_map(Map::values_mut) {
        if let Some(plugins) = node.get_mut("plugins").and_then(Value::as_object_mut) {
            plugins.retain(|_, numbers| {
                let numbers = numbers.as_object().into_iter().flatten();
                numbers
                    .into_iter()
                    .any(|(_, number)| number.as_i64() != Some(0))
            });
        }
    }
    strip(&mut record);
    record
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(strip);
            members.retain(|_, member| !is_empty(member));
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// The first field that differs: those that are causes before those that follow from them.
fn differing_field(ours: &Value, theirs: &Value) -> Option<String> {
    const ORDER: [&str; 6] = [
        "pod",
        "rejections",
        "feasible",
        "scores",
        "victims",
        "nominated",
    ];
    if ours == theirs {
        return None;
    }
    let keys = |value: &Value| -> Vec<String> {
        let members = value.as_object().into_iter().flatten();
        members.map(|(key, _)| key.clone()).collect()
    };
    let mut fields: Vec<_> = ORDER.iter().map(|field| (*field).to_owned()).collect();
    fields.extend(keys(ours));
    fields.extend(keys(theirs));
    fields
        .into_iter()
        .find(|field| ours.get(field) != theirs.get(field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_is_absent_and_every_number_counts() {
        let scores = |raw: i64| {
            json!({"n": {"total": 0, "plugins": {
                "A": {"raw": raw, "normalized": 0, "weighted": 0},
                "B": {"raw": 0, "normalized": 0, "weighted": 0}}}})
        };
        let long = normal_form(
            json!({"pod": "a/b", "message": "", "victims": [], "node": null,
            "rejections": {"n": {"plugin": "", "reasons": ["x"], "unresolvable": false}},
            "scores": scores(1)}),
        );
        let short = json!({"pod": "a/b", "rejections": {"n": {"reasons": ["x"]}},
            "scores": {"n": {"total": 0, "plugins":
                {"A": {"raw": 1, "normalized": 0, "weighted": 0}}}}});
        assert_eq!(long, short);
        assert_eq!(differing_field(&long, &short), None);
        let other = normal_form(json!({"pod": "a/b", "message": "m", "scores": scores(2),
            "rejections": {"n": {"reasons": ["x"]}}}));
        assert_eq!(differing_field(&long, &other).as_deref(), Some("scores"));
        assert_eq!(differing_field(&long, &Value::Null).as_deref(), Some("pod"));
    }
}
