//! Node selectors and node affinity terms, compiled.
//!
//! Mirrors `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`: terms are combined by
//! OR, requirements within a term by AND, an empty term matches nothing, and a term that cannot be
//! parsed matches nothing.

use k8s_openapi::api::core::v1;

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
}

/// A term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSelectorTerm {
    /// Requirements on labels, or why they cannot be parsed.
    pub labels: Result<Box<[LabelRequirement]>, Box<str>>,
    /// Requirements on the name, or why they cannot be parsed.
    pub names: Result<Box<[NameRequirement]>, Box<str>>,
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
    /// Compiles a term.
    pub fn compile(term: &v1::NodeSelectorTerm, scope: &mut SymbolScope<'_>) -> Self {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        Self {
            labels: expressions
                .iter()
                .map(|requirement| LabelRequirement::compile(requirement, scope))
                .collect(),
            names: fields
                .iter()
                .map(|requirement| NameRequirement::compile(requirement, scope))
                .collect(),
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
            .map(|term| Self::compile(term, scope))
            .collect()
    }

    /// Why the term cannot be parsed, if so.
    pub fn parse_error(&self) -> Option<&str> {
        self.labels
            .as_ref()
            .err()
            .or(self.names.as_ref().err())
            .map(|text| &**text)
    }

    /// Whether `node` meets the term.
    pub fn matches(&self, node: &impl NodeLabels) -> bool {
        let (Ok(labels), Ok(names)) = (&self.labels, &self.names) else {
            return false;
        };
        !self.is_empty
            && labels.iter().all(|requirement| requirement.matches(node))
            && names.iter().all(|requirement| requirement.matches(node))
    }

    /// Whether the outcome depends on the name of the node.
    pub fn reads_name(&self) -> bool {
        self.names.as_ref().is_ok_and(|names| !names.is_empty())
    }

    /// Whether the outcome depends on the label `key`.
    pub fn reads_label(&self, key: Symbol) -> bool {
        self.labels
            .as_ref()
            .is_ok_and(|labels| labels.iter().any(|label| label.key == key))
    }
}

/// Whether `node` meets any of `terms`.
pub fn any_term_matches(terms: &[NodeSelectorTerm], node: &impl NodeLabels) -> bool {
    terms.iter().any(|term| term.matches(node))
}

/// The only field that terms may select by.
const NAME_FIELD: &str = "metadata.name";

fn field_values(requirement: &v1::NodeSelectorRequirement) -> &[String] {
    requirement.values.as_deref().unwrap_or_default()
}

// === impl LabelRequirement ===

impl LabelRequirement {
    fn compile(
        requirement: &v1::NodeSelectorRequirement,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Self, Box<str>> {
        let values = field_values(requirement);
        let mut symbols = || {
            let mut symbols: Vec<_> = values.iter().map(|value| scope.intern(value)).collect();
            symbols.sort_unstable();
            symbols.dedup();
            symbols.into_boxed_slice()
        };
        let fail = |what: &str| {
            Err(format!(
                "operator {:?} of label {:?} {what}",
                requirement.operator, requirement.key
            )
            .into_boxed_str())
        };
        let condition = match requirement.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => return fail("needs at least one value"),
            "In" => LabelCondition::In(symbols()),
            "NotIn" => LabelCondition::NotIn(symbols()),
            "Exists" | "DoesNotExist" if !values.is_empty() => return fail("takes no value"),
            "Exists" => LabelCondition::Exists,
            "DoesNotExist" => LabelCondition::DoesNotExist,
            "Gt" | "Lt" => match values {
                [value] => match (parse_integer(value), requirement.operator.as_str()) {
                    (Some(bound), "Gt") => LabelCondition::GreaterThan(bound),
                    (Some(bound), _) => LabelCondition::LessThan(bound),
                    (None, _) => return fail("needs an integer"),
                },
                _ => return fail("needs exactly one value"),
            },
            _ => return fail("is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt"),
        };
        Ok(Self {
            key: scope.intern(&requirement.key),
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
    fn compile(
        requirement: &v1::NodeSelectorRequirement,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Self, Box<str>> {
        let fail = |what: &str| Err(format!("field {:?} {what}", requirement.key).into_boxed_str());
        if requirement.key != NAME_FIELD {
            return fail("cannot be selected by, only metadata.name can");
        }
        match (requirement.operator.as_str(), field_values(requirement)) {
            ("In", [name]) => Ok(Self::Is(scope.intern(name))),
            ("NotIn", [name]) => Ok(Self::IsNot(scope.intern(name))),
            ("In" | "NotIn", _) => fail("needs exactly one value"),
            _ => fail("takes only the operators In and NotIn"),
        }
    }

    fn matches(&self, node: &impl NodeLabels) -> bool {
        match *self {
            Self::Is(name) => node.node_name() == name,
            Self::IsNot(name) => node.node_name() != name,
        }
    }
}
