//! Selectors by text: what they mean, and one form for each, whoever wrote it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1;

use crate::engine::audit::expected::Expected;
use crate::model::label_selector::{LabelRequirement, LabelSelector};
use crate::model::objects::Pod;
use crate::model::pod_affinity::PodSelector;
use crate::model::symbols::{Symbol, Symbols};

/// Stands for a text that no object has.
const NO_TEXT: &str = "\u{0}";

/// Labels of an object.
type Labels = BTreeMap<String, String>;

pub(super) fn text(symbol: Symbol, symbols: &Symbols) -> &str {
    if symbol == Symbol::UNHELD {
        return NO_TEXT;
    }
    symbols.text(symbol)
}

/// Whether all of `selectors` select the pod.
pub(super) fn select(
    selectors: &[PodSelector],
    pod: &Pod,
    expected: &Expected<'_>,
    symbols: &Symbols,
) -> bool {
    let name = pod.metadata.namespace.as_deref().unwrap_or_default();
    let none = Labels::new();
    let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
    selectors.iter().all(|selector| {
        let mut named = selector.namespaces.iter();
        let is_named = named.any(|namespace| text(*namespace, symbols) == name);
        let by_label = match &selector.namespace_selector {
            LabelSelector::Nothing => false,
            LabelSelector::All(requirements) if requirements.is_empty() => true,
            chosen @ LabelSelector::All(_) => expected.namespaces.get(name).is_some_and(|one| {
                let labels = one.metadata.labels.as_ref().unwrap_or(&none);
                matches(chosen, labels, symbols)
            }),
        };
        (is_named || by_label) && matches(&selector.labels, labels, symbols)
    })
}

fn matches(selector: &LabelSelector, labels: &Labels, symbols: &Symbols) -> bool {
    let LabelSelector::All(requirements) = selector else {
        return false;
    };
    let value = |key: &Symbol| labels.get(text(*key, symbols));
    let among = |values: &[Symbol], value: &String| {
        let mut values = values.iter();
        values.any(|known| text(*known, symbols) == value)
    };
    requirements.iter().all(|requirement| match requirement {
        LabelRequirement::In(key, values) => value(key).is_some_and(|found| among(values, found)),
        LabelRequirement::NotIn(key, values) => {
            value(key).is_none_or(|found| !among(values, found))
        }
        LabelRequirement::Exists(key) => value(key).is_some(),
        LabelRequirement::DoesNotExist(key) => value(key).is_none(),
    })
}

/// The form of a compiled selector.
pub(super) fn form(selector: &LabelSelector, symbols: &Symbols) -> String {
    let LabelSelector::All(requirements) = selector else {
        return "nothing".to_owned();
    };
    let text = |symbol: &Symbol| text(*symbol, symbols).to_owned();
    let values = |values: &[Symbol]| values.iter().map(text).collect();
    joined(requirements.iter().map(|requirement| match requirement {
        LabelRequirement::In(key, list) => one("In", &text(key), values(list)),
        LabelRequirement::NotIn(key, list) => one("NotIn", &text(key), values(list)),
        LabelRequirement::Exists(key) => one("Exists", &text(key), BTreeSet::new()),
        LabelRequirement::DoesNotExist(key) => one("DoesNotExist", &text(key), BTreeSet::new()),
    }))
}

/// The form of a selector as an object has it.
pub(super) fn form_of_object(selector: Option<&v1::LabelSelector>) -> String {
    let Some(selector) = selector else {
        return "nothing".to_owned();
    };
    let labels = selector.match_labels.iter().flatten();
    let labels = labels.map(|(key, value)| one("In", key, [value.clone()].into()));
    let expressions = selector.match_expressions.iter().flatten();
    let expressions = expressions.map(|expression| {
        let values = expression.values.iter().flatten().cloned().collect();
        one(&expression.operator, &expression.key, values)
    });
    joined(labels.chain(expressions))
}

fn one(operator: &str, key: &str, values: BTreeSet<String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    format!("{key} {operator} ({})", values.join(","))
}

/// Requirements that are given twice count once.
fn joined(requirements: impl Iterator<Item = String>) -> String {
    let requirements: BTreeSet<String> = requirements.collect();
    requirements.into_iter().collect::<Vec<_>>().join(" and ")
}
