//! Label selectors, compiled (`metav1.LabelSelectorAsSelector`).

use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use thiserror::Error;

use crate::model::field_error::{aggregate, quoted};
use crate::model::label_set::LabelSet;
use crate::model::label_syntax::requirement_problems;
use crate::model::symbols::{Symbol, SymbolScope, Symbols};

/// Which label sets. Requirements are sorted, so that equal selectors are equal values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelSelector {
    /// None: what an absent selector means (`labels.Nothing`).
    Nothing,
    /// Those that meet all of these; an empty list means all.
    All(Box<[LabelRequirement]>),
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelRequirement {
    /// The value is one of these, sorted.
    In(Symbol, Box<[Symbol]>),
    /// The value is none of these, sorted, or there is no such label.
    NotIn(Symbol, Box<[Symbol]>),
    /// The label is there.
    Exists(Symbol),
    /// The label is not there.
    DoesNotExist(Symbol),
}

/// A selector that the API server would have refused; in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
#[error("{0}")]
pub struct InvalidSelector(Box<str>);

// === impl LabelSelector ===

impl LabelSelector {
    /// Compiles a selector; an absent one selects nothing.
    pub fn compile(
        selector: Option<&v1::LabelSelector>,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Self, InvalidSelector> {
        Self::compile_with(selector, &mut |text| scope.intern(text))
    }

    /// Compiles a selector against the texts that are held, without holding any: a text that no
    /// object has becomes [`Symbol::UNHELD`]. Good for as long as `symbols` stand still.
    pub fn compile_unheld(
        selector: Option<&v1::LabelSelector>,
        symbols: &Symbols,
    ) -> Result<Self, InvalidSelector> {
        Self::compile_with(selector, &mut |text| symbols.get_or_unheld(text))
    }

    fn compile_with(
        selector: Option<&v1::LabelSelector>,
        symbol: &mut dyn FnMut(&str) -> Symbol,
    ) -> Result<Self, InvalidSelector> {
        let Some(selector) = selector else {
            return Ok(Self::Nothing);
        };
        let mut requirements = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            check(key, "Equals", Some(std::slice::from_ref(value)))?;
            let value = Box::from([symbol(value)]);
            requirements.push(LabelRequirement::In(symbol(key), value));
        }
        for expression in selector.match_expressions.iter().flatten() {
            requirements.push(LabelRequirement::compile(expression, symbol)?);
        }
        Ok(Self::of(requirements))
    }

    /// The selector of all `requirements`.
    pub fn of(mut requirements: Vec<LabelRequirement>) -> Self {
        requirements.sort_unstable();
        requirements.dedup();
        Self::All(requirements.into_boxed_slice())
    }

    /// Whether every label set is selected (`Selector.Empty`).
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(requirements) if requirements.is_empty())
    }

    /// Whether `labels` are selected.
    pub fn matches(&self, labels: &LabelSet) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|r| r.is_met(labels)),
        }
    }

    /// The requirements; none if nothing is selected.
    pub fn requirements(&self) -> &[LabelRequirement] {
        match self {
            Self::Nothing => &[],
            Self::All(requirements) => requirements,
        }
    }

    /// Every symbol in the selector.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.requirements().iter().flat_map(|requirement| {
            let (key, values) = requirement.parts();
            std::iter::once(key).chain(values.iter().copied())
        })
    }
}

// === impl LabelRequirement ===

impl LabelRequirement {
    fn compile(
        expression: &v1::LabelSelectorRequirement,
        symbol: &mut dyn FnMut(&str) -> Symbol,
    ) -> Result<Self, InvalidSelector> {
        let (key, operator) = (&expression.key, expression.operator.as_str());
        if !matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist") {
            let operator = quoted(operator);
            return Err(InvalidSelector(
                format!("{operator} is not a valid label selector operator").into(),
            ));
        }
        // Upstream copies the values, after which no values and an empty list are the same.
        let values = expression.values.as_deref();
        check(key, operator, values.filter(|values| !values.is_empty()))?;
        let key = symbol(key);
        let values = values.unwrap_or_default().iter();
        let mut values: Vec<Symbol> = values.map(|value| symbol(value)).collect();
        values.sort_unstable();
        values.dedup();
        let values = values.into_boxed_slice();
        Ok(match operator {
            "In" => Self::In(key, values),
            "NotIn" => Self::NotIn(key, values),
            "Exists" => Self::Exists(key),
            _ => Self::DoesNotExist(key),
        })
    }

    /// Whether `labels` meet it.
    pub fn is_met(&self, labels: &LabelSet) -> bool {
        match self {
            Self::In(key, values) => labels
                .get(*key)
                .is_some_and(|value| values.binary_search(&value).is_ok()),
            Self::NotIn(key, values) => labels
                .get(*key)
                .is_none_or(|value| values.binary_search(&value).is_err()),
            Self::Exists(key) => labels.get(*key).is_some(),
            Self::DoesNotExist(key) => labels.get(*key).is_none(),
        }
    }

    fn parts(&self) -> (Symbol, &[Symbol]) {
        match self {
            Self::In(key, values) | Self::NotIn(key, values) => (*key, values),
            Self::Exists(key) | Self::DoesNotExist(key) => (*key, &[]),
        }
    }
}

/// Checks the syntax of a requirement.
fn check(key: &str, operator: &str, values: Option<&[String]>) -> Result<(), InvalidSelector> {
    let problems = requirement_problems("", key, operator, values);
    if problems.is_empty() {
        return Ok(());
    }
    let text = aggregate(problems.iter().map(String::as_str));
    Err(InvalidSelector(text.into()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::symbols::Symbols;

    fn matches(selector: serde_json::Value, labels: &[(&str, &str)]) -> Result<bool, String> {
        let mut symbols = Symbols::new(1);
        let mut scope = symbols.scope();
        let selector: v1::LabelSelector =
            serde_json::from_value(selector).map_err(|error| error.to_string())?;
        let selector = LabelSelector::compile(Some(&selector), &mut scope);
        let labels: BTreeMap<String, String> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let labels = LabelSet::compile(Some(&labels), &mut scope);
        scope.abandon();
        let selector = selector.map_err(|error| error.to_string())?;
        Ok(selector.matches(&labels))
    }

    fn expression(operator: &str, values: &[&str]) -> serde_json::Value {
        serde_json::json!({"matchExpressions": [
            {"key": "a", "operator": operator, "values": values}]})
    }

    #[test]
    fn an_empty_selector_selects_everything_and_an_absent_one_nothing() {
        assert_eq!(matches(serde_json::json!({}), &[]), Ok(true));
        let mut symbols = Symbols::new(1);
        let mut scope = symbols.scope();
        let absent = LabelSelector::compile(None, &mut scope).unwrap();
        assert!(!absent.matches(&LabelSet::default()));
        assert!(!absent.is_everything());
        scope.abandon();
    }

    #[test]
    fn every_operator_judges_a_label_that_is_there_and_one_that_is_not() {
        let cases = [
            (expression("In", &["1", "2"]), [true, false, false]),
            (expression("NotIn", &["1", "2"]), [false, true, true]),
            (expression("Exists", &[]), [true, true, false]),
            (expression("DoesNotExist", &[]), [false, false, true]),
            (
                serde_json::json!({"matchLabels": {"a": "1"}}),
                [true, false, false],
            ),
        ];
        for (selector, expected) in cases {
            let found = [&[("a", "1")][..], &[("a", "3")], &[("b", "1")]]
                .map(|labels| matches(selector.clone(), labels).unwrap());
            assert_eq!(found, expected, "{selector}");
        }
    }

    #[test]
    fn a_selector_compiled_without_interning_matches_alike_and_holds_nothing() {
        let labels = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        let mut symbols = Symbols::new(1);
        let mut scope = symbols.scope();
        let labels = LabelSet::compile(Some(&labels), &mut scope);
        let held = scope.finish();
        let requirement = |key, operator, values: &[&str]| {
            serde_json::json!({"matchExpressions": [
                {"key": key, "operator": operator, "values": values}]})
        };
        for (selector, matches) in [
            (requirement("a", "In", &["unknown", "1"]), true),
            (requirement("a", "In", &["unknown"]), false),
            (requirement("a", "NotIn", &["unknown"]), true),
            (requirement("unknown", "In", &["1"]), false),
            (requirement("unknown", "NotIn", &["1"]), true),
            (requirement("unknown", "Exists", &[]), false),
            (requirement("unknown", "DoesNotExist", &[]), true),
        ] {
            let given: v1::LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            let compiled = LabelSelector::compile_unheld(Some(&given), &symbols).unwrap();
            assert_eq!(compiled.matches(&labels), matches, "{selector}");
            let held = symbols.hold(compiled.symbols());
            symbols.release(held);
        }
        symbols.release(held);
        assert!(symbols.is_empty());
    }

    #[test]
    fn a_selector_that_the_api_server_would_refuse_is_an_error_in_its_words() {
        let error = |operator, values| matches(expression(operator, values), &[]).unwrap_err();
        assert_eq!(
            error("Like", &["1"]),
            "\"Like\" is not a valid label selector operator"
        );
        assert!(error("In", &[]).contains("values set can't be empty"));
        assert!(error("Exists", &["1"]).contains("must be empty"));
    }
}
