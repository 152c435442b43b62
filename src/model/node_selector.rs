//! Node selectors and node affinity terms, compiled.
//!
//! Mirrors `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`: terms are combined by
//! OR, requirements within a term by AND, an empty term matches nothing, and a term that cannot be
//! parsed matches nothing.

use k8s_openapi::api::core::v1;

use crate::model::field_error::{aggregate, list, not_supported};
use crate::model::label_syntax::requirement_problems;
use crate::model::symbols::{Symbol, SymbolScope, Symbols};

/// What a selector can ask about a node.
pub trait NodeLabels {
    /// The name of the node (`metadata.name`).
    fn node_name(&self) -> Symbol;
    /// The value of the label `key`.
    fn label(&self, key: Symbol) -> Option<Symbol>;
    /// The table in which the texts are.
    fn symbols(&self) -> &Symbols;
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    /// The label.
    pub key: Symbol,
    /// What must hold of its value.
    pub condition: LabelCondition,
}

/// A condition on a label's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelCondition {
    /// One of these.
    In(Box<[Symbol]>),
    /// None of these, or no such label.
    NotIn(Box<[Symbol]>),
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
    /// An integer greater than this.
    GreaterThan(i64),
    /// An integer less than this.
    LessThan(i64),
}

/// A requirement on the node's name (`matchFields`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameRequirement {
    /// The name is this.
    Is(Symbol),
    /// The name is not this.
    IsNot(Symbol),
    /// A field that nodes do not have should have a value.
    Never,
}

/// A term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSelectorTerm {
    /// Requirements on labels, as far as they can be parsed.
    pub labels: Box<[LabelRequirement]>,
    /// Requirements on fields, as far as they can be parsed.
    pub names: Box<[NameRequirement]>,
    /// What cannot be parsed, in upstream's words: the term matches nothing.
    pub errors: Box<[Box<str>]>,
    /// For the fast path of `DaemonSets` (`NodeAffinity.PreFilter`): every list of names that a
    /// requirement `metadata.name In [...]` allows, before parsing.
    pub pinned_names: Box<[Box<[Symbol]>]>,
    /// Neither labels nor names are asked for: the term matches nothing.
    pub is_empty: bool,
}

/// A preferred term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PreferredTerm {
    /// 1 to 100 in a valid object.
    pub weight: i32,
    /// The term.
    pub term: NodeSelectorTerm,
}

// === impl NodeSelectorTerm ===

impl NodeSelectorTerm {
    /// Compiles a term, the `index`-th of its list counted from 0.
    pub fn compile(term: &v1::NodeSelectorTerm, index: usize, scope: &mut SymbolScope<'_>) -> Self {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        let (mut labels, mut names, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for (number, requirement) in expressions.iter().enumerate() {
            let path = format!("[{index}].matchExpressions[{number}].");
            match LabelRequirement::compile(requirement, &path, scope) {
                Ok(requirement) => labels.push(requirement),
                Err(problems) => errors.extend(problems),
            }
        }
        for (number, requirement) in fields.iter().enumerate() {
            let path = format!("[{index}].matchFields[{number}].");
            match NameRequirement::compile(requirement, &path, scope) {
                Ok(requirement) => names.extend(requirement),
                Err(problem) => errors.push(problem),
            }
        }
        Self {
            labels: labels.into(),
            names: names.into(),
            errors: errors.into_iter().map(String::into_boxed_str).collect(),
            pinned_names: fields
                .iter()
                .filter(|field| field.key == NAME_FIELD && field.operator == "In")
                .map(|field| {
                    field_values(field)
                        .iter()
                        .map(|name| scope.intern(name))
                        .collect()
                })
                .collect(),
            is_empty: expressions.is_empty() && fields.is_empty(),
        }
    }

    /// Compiles a list of terms.
    pub fn compile_all(terms: &[v1::NodeSelectorTerm], scope: &mut SymbolScope<'_>) -> Box<[Self]> {
        terms
            .iter()
            .enumerate()
            .map(|(index, term)| Self::compile(term, index, scope))
            .collect()
    }

    /// Whether `node` meets the term.
    pub fn matches(&self, node: &impl NodeLabels) -> bool {
        !self.is_empty
            && self.errors.is_empty()
            && self
                .labels
                .iter()
                .all(|requirement| requirement.matches(node))
            && self
                .names
                .iter()
                .all(|requirement| requirement.matches(node))
    }

    /// Whether the outcome depends on the name of the node.
    pub fn reads_name(&self) -> bool {
        self.errors.is_empty() && !self.names.is_empty()
    }

    /// Whether the outcome depends on the label `key`.
    pub fn reads_label(&self, key: Symbol) -> bool {
        self.errors.is_empty() && self.labels.iter().any(|label| label.key == key)
    }
}

/// Why terms cannot be parsed, if one of them cannot.
pub fn parse_error<'a>(terms: impl IntoIterator<Item = &'a NodeSelectorTerm>) -> Option<String> {
    let errors = terms.into_iter().flat_map(|term| &term.errors);
    let mut errors = errors.map(|error| &**error).peekable();
    errors.peek()?;
    Some(aggregate(errors))
}

/// Whether `node` meets any of `terms`.
pub fn any_term_matches(terms: &[NodeSelectorTerm], node: &impl NodeLabels) -> bool {
    terms.iter().any(|term| term.matches(node))
}

/// The only field of nodes that terms can select by.
const NAME_FIELD: &str = "metadata.name";

/// `validSelectorOperators`, in the order of the message.
const OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// `validFieldSelectorOperators`, in the order of the message.
const FIELD_OPERATORS: [&str; 2] = ["In", "NotIn"];

fn field_values(requirement: &v1::NodeSelectorRequirement) -> &[String] {
    requirement.values.as_deref().unwrap_or_default()
}

// === impl LabelRequirement ===

impl LabelRequirement {
    fn compile(
        requirement: &v1::NodeSelectorRequirement,
        path: &str,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Self, Vec<String>> {
        let (key, operator) = (&requirement.key, requirement.operator.as_str());
        if !OPERATORS.contains(&operator) {
            let field = format!("{path}operator");
            return Err(vec![not_supported(&field, operator, &OPERATORS)]);
        }
        let problems = requirement_problems(path, key, operator, requirement.values.as_deref());
        if !problems.is_empty() {
            return Err(problems);
        }
        let values = field_values(requirement);
        let mut symbols = || {
            let mut symbols: Vec<_> = values.iter().map(|value| scope.intern(value)).collect();
            symbols.sort_unstable();
            symbols.dedup();
            symbols.into_boxed_slice()
        };
        let bound = values.first().and_then(|value| parse_integer(value));
        let condition = match (operator, bound) {
            ("In", _) => LabelCondition::In(symbols()),
            ("NotIn", _) => LabelCondition::NotIn(symbols()),
            ("Gt", Some(bound)) => LabelCondition::GreaterThan(bound),
            ("Lt", Some(bound)) => LabelCondition::LessThan(bound),
            ("Exists", _) => LabelCondition::Exists,
            _ => LabelCondition::DoesNotExist,
        };
        Ok(Self {
            key: scope.intern(key),
            condition,
        })
    }

    fn matches(&self, node: &impl NodeLabels) -> bool {
        let value = node.label(self.key);
        let number = || value.and_then(|value| parse_integer(node.symbols().text(value)));
        match &self.condition {
            LabelCondition::In(values) => value.is_some_and(|v| values.binary_search(&v).is_ok()),
            LabelCondition::NotIn(values) => {
                value.is_none_or(|v| values.binary_search(&v).is_err())
            }
            LabelCondition::Exists => value.is_some(),
            LabelCondition::DoesNotExist => value.is_none(),
            LabelCondition::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            LabelCondition::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// An integer as Go's `strconv.ParseInt(text, 10, 64)` reads it.
fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

// === impl NameRequirement ===

impl NameRequirement {
    /// `None` is met by every node.
    fn compile(
        requirement: &v1::NodeSelectorRequirement,
        path: &str,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Option<Self>, String> {
        let operator = requirement.operator.as_str();
        if !FIELD_OPERATORS.contains(&operator) {
            let field = format!("{path}operator");
            return Err(not_supported(&field, operator, &FIELD_OPERATORS));
        }
        let [value] = field_values(requirement) else {
            let values = list(requirement.values.as_deref());
            return Err(format!(
                "{path}values: Invalid value: {values}: must have one element"
            ));
        };
        let is_in = operator == "In";
        Ok(match (requirement.key == NAME_FIELD, is_in) {
            (true, true) => Some(Self::Is(scope.intern(value))),
            (true, false) => Some(Self::IsNot(scope.intern(value))),
            // A field that nodes do not have reads as an empty text.
            (false, _) => (value.is_empty() != is_in).then_some(Self::Never),
        })
    }

    fn matches(&self, node: &impl NodeLabels) -> bool {
        match *self {
            Self::Is(name) => node.node_name() == name,
            Self::IsNot(name) => node.node_name() != name,
            Self::Never => false,
        }
    }
}
