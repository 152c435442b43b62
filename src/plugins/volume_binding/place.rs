//! Where a volume can be used: selectors inside objects, resolved against the labels that nodes
//! have.
//!
//! Nothing is interned: a text that no node has as a label has no symbol, and that is an answer
//! too. Nodes do not change during an attempt, so what was resolved holds for all of it.

use k8s_openapi::api::core::v1::{NodeSelectorTerm, TopologySelectorTerm, VolumeNodeAffinity};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::model::node_selector::NodeLabels;
use crate::model::symbols::{Symbol, Symbols};

/// A set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Every node.
    Anywhere,
    /// The nodes that meet all requirements of any of these terms; none without a term.
    AnyOf(Box<[Term]>),
}

/// Requirements that must all be met.
type Term = Box<[Requirement]>;

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    /// `None`: no node has such a label.
    key: Option<Symbol>,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    In(Box<[Symbol]>),
    NotIn(Box<[Symbol]>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

/// A requirement that cannot be read; no node meets its term.
#[derive(Debug)]
struct Unreadable;

// === impl Place ===

impl Place {
    /// Where a volume with this affinity can be used (`CheckNodeAffinity`).
    pub(super) fn of_volume(affinity: Option<&VolumeNodeAffinity>, symbols: &Symbols) -> Self {
        let Some(selector) = affinity.and_then(|affinity| affinity.required.as_ref()) else {
            return Self::Anywhere;
        };
        let terms = selector.node_selector_terms.iter();
        Self::AnyOf(
            terms
                .filter_map(|term| of_node_selector_term(term, symbols))
                .collect(),
        )
    }

    /// The nodes whose labels the selector matches; none for a selector that cannot be read.
    pub(super) fn of_selector(selector: &LabelSelector, symbols: &Symbols) -> Self {
        let labels = selector.match_labels.iter().flatten();
        let equal = labels
            .map(|(key, value)| Requirement::read(key, "In", std::slice::from_ref(value), symbols));
        let expressions = selector.match_expressions.iter().flatten();
        let expressions = expressions.map(|expression| {
            let values = expression.values.as_deref().unwrap_or_default();
            match expression.operator.as_str() {
                operator @ ("In" | "NotIn" | "Exists" | "DoesNotExist") => {
                    Requirement::read(&expression.key, operator, values, symbols)
                }
                _ => Err(Unreadable),
            }
        });
        let term: Result<Term, Unreadable> = equal.chain(expressions).collect();
        Self::AnyOf(term.into_iter().collect())
    }

    /// The nodes that `allowedTopologies` allows (`MatchTopologySelectorTerms`).
    pub(super) fn of_topologies(terms: &[TopologySelectorTerm], symbols: &Symbols) -> Self {
        if terms.is_empty() {
            return Self::Anywhere;
        }
        let terms = terms.iter().filter_map(|term| {
            let expressions = term.match_label_expressions.as_deref().unwrap_or_default();
            let requirements = expressions.iter().map(|expression| {
                Requirement::read(&expression.key, "In", &expression.values, symbols)
            });
            let term: Term = requirements.collect::<Result<_, Unreadable>>().ok()?;
            (!term.is_empty()).then_some(term)
        });
        Self::AnyOf(terms.collect())
    }

    /// Whether the node is in the set.
    pub(super) fn contains(&self, node: &impl NodeLabels) -> bool {
        match self {
            Self::Anywhere => true,
            Self::AnyOf(terms) => terms
                .iter()
                .any(|term| term.iter().all(|requirement| requirement.is_met(node))),
        }
    }

    /// A label of which every node in the set has one of these values, if there is one: volumes
    /// and capacities are often tied to one node or zone, and are looked up by it.
    fn anchor(&self) -> Option<(Option<Symbol>, &[Symbol])> {
        let Self::AnyOf(terms) = self else {
            return None;
        };
        let [term] = &**terms else {
            return None;
        };
        term.iter()
            .find_map(|requirement| match &requirement.condition {
                Condition::In(values) => Some((requirement.key, &**values)),
                _ => None,
            })
    }
}

/// A term without requirements selects nothing. Requirements on fields are read, but volumes are
/// matched by labels alone, so they hold.
fn of_node_selector_term(term: &NodeSelectorTerm, symbols: &Symbols) -> Option<Term> {
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    if fields.is_empty() && expressions.is_empty() {
        return None;
    }
    let is_readable = |operator: &str, values: &Option<Vec<String>>| {
        matches!(operator, "In" | "NotIn") && values.as_ref().is_some_and(|v| v.len() == 1)
    };
    if !fields
        .iter()
        .all(|field| is_readable(&field.operator, &field.values))
    {
        return None;
    }
    let requirements = expressions.iter().map(|expression| {
        let values = expression.values.as_deref().unwrap_or_default();
        Requirement::read(&expression.key, &expression.operator, values, symbols)
    });
    requirements.collect::<Result<_, Unreadable>>().ok()
}

// === impl Requirement ===

impl Requirement {
    fn read(
        key: &str,
        operator: &str,
        values: &[String],
        symbols: &Symbols,
    ) -> Result<Self, Unreadable> {
        let known = || {
            values
                .iter()
                .filter_map(|value| symbols.get(value))
                .collect()
        };
        let bound = || match values {
            [value] => value.parse::<i64>().map_err(|_| Unreadable),
            _ => Err(Unreadable),
        };
        let condition = match operator {
            "In" if !values.is_empty() => Condition::In(known()),
            "NotIn" if !values.is_empty() => Condition::NotIn(known()),
            "Exists" if values.is_empty() => Condition::Exists,
            "DoesNotExist" if values.is_empty() => Condition::DoesNotExist,
            "Gt" => Condition::GreaterThan(bound()?),
            "Lt" => Condition::LessThan(bound()?),
            _ => return Err(Unreadable),
        };
        Ok(Self {
            key: symbols.get(key),
            condition,
        })
    }

    fn is_met(&self, node: &impl NodeLabels) -> bool {
        let value = self.key.and_then(|key| node.label(key));
        let number = || node.symbols().text(value?).parse::<i64>().ok();
        match &self.condition {
            Condition::In(values) => value.is_some_and(|value| values.contains(&value)),
            Condition::NotIn(values) => value.is_none_or(|value| !values.contains(&value)),
            Condition::Exists => value.is_some(),
            Condition::DoesNotExist => value.is_none(),
            Condition::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Condition::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Things in order of preference, each in a place of its own; looked up by node without walking
/// over those that are tied to other nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByPlace<T> {
    things: Vec<(Place, T)>,
    /// Indices of things by the label value that ties them.
    anchored: std::collections::BTreeMap<(Symbol, Symbol), Vec<usize>>,
    /// The labels in `anchored`.
    keys: Vec<Symbol>,
    loose: Vec<usize>,
}

impl<T> ByPlace<T> {
    /// Keeps the order of `things`.
    pub(super) fn new(things: impl IntoIterator<Item = (Place, T)>) -> Self {
        let things: Vec<_> = things.into_iter().collect();
        let mut anchored = std::collections::BTreeMap::<_, Vec<usize>>::new();
        let (mut keys, mut loose) = (Vec::new(), Vec::new());
        for (index, (place, _)) in things.iter().enumerate() {
            match place.anchor() {
                None => loose.push(index),
                // No node has such a label.
                Some((None, _)) => {}
                Some((Some(key), values)) => {
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                    for value in values {
                        let indices = anchored.entry((key, *value)).or_default();
                        if indices.last() != Some(&index) {
                            indices.push(index);
                        }
                    }
                }
            }
        }
        Self {
            things,
            anchored,
            keys,
            loose,
        }
    }

    /// The most preferred thing whose place the node is in and that `accept` takes.
    pub(super) fn first(&self, node: &impl NodeLabels, accept: impl Fn(&T) -> bool) -> Option<&T> {
        let near = self.keys.iter().filter_map(|key| {
            let value = node.label(*key)?;
            self.anchored.get(&(*key, value))
        });
        let fits = |index: &&usize| {
            let (place, thing) = &self.things[**index];
            accept(thing) && place.contains(node)
        };
        let lists = near.chain([&self.loose]);
        let best = lists.filter_map(|list| list.iter().find(fits)).min()?;
        Some(&self.things[*best].1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node};

    /// The names of the nodes that are in the place.
    fn nodes(place: impl FnOnce(&Symbols) -> Place) -> Vec<String> {
        let cluster = cluster();
        let place = place(cluster.snapshot().vocabulary().symbols());
        let nodes = cluster.snapshot().nodes();
        nodes
            .filter(|node| place.contains(node))
            .map(|node| node.name().to_string())
            .collect()
    }

    fn cluster() -> Cluster {
        Cluster::new([
            make_node("a").label("zone", "z1").label("size", "5"),
            make_node("b").label("zone", "z2"),
            make_node("c"),
        ])
    }

    fn of_terms(terms: &Value) -> Vec<String> {
        let affinity = json!({"required": {"nodeSelectorTerms": terms}});
        let affinity: VolumeNodeAffinity = serde_json::from_value(affinity).unwrap();
        nodes(|symbols| Place::of_volume(Some(&affinity), symbols))
    }

    fn of_selector(selector: Value) -> Vec<String> {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        nodes(|symbols| Place::of_selector(&selector, symbols))
    }

    #[test]
    fn terms_are_alternatives_and_requirements_add_up() {
        let requirement = |key: &str, operator: &str, values: &[&str]| json!({"key": key, "operator": operator, "values": values});
        let term = |requirements: &[Value]| json!([{"matchExpressions": requirements}]);
        for (terms, expected) in [
            (term(&[requirement("zone", "In", &["z1", "x"])]), vec!["a"]),
            (
                term(&[requirement("zone", "NotIn", &["z1"])]),
                vec!["b", "c"],
            ),
            (
                term(&[requirement("none", "NotIn", &["x"])]),
                vec!["a", "b", "c"],
            ),
            (term(&[requirement("zone", "Exists", &[])]), vec!["a", "b"]),
            (term(&[requirement("zone", "DoesNotExist", &[])]), vec!["c"]),
            (term(&[requirement("size", "Gt", &["4"])]), vec!["a"]),
            (term(&[requirement("size", "Lt", &["5"])]), vec![]),
            (
                term(&[
                    requirement("zone", "Exists", &[]),
                    requirement("size", "DoesNotExist", &[]),
                ]),
                vec!["b"],
            ),
            (json!([]), vec![]),
            (json!([{}]), vec![]),
            (term(&[requirement("zone", "In", &[])]), vec![]),
            (term(&[requirement("zone", "Like", &["z1"])]), vec![]),
        ] {
            assert_eq!(of_terms(&terms), expected, "{terms}");
        }
    }

    #[test]
    fn volumes_are_not_matched_by_the_name_of_a_node() {
        let field = |values: Value| json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": values}]}]);
        assert_eq!(of_terms(&field(json!(["a"]))), ["a", "b", "c"]);
        assert!(of_terms(&field(json!(["a", "b"]))).is_empty());
    }

    #[test]
    fn an_empty_selector_matches_every_node_and_an_unreadable_one_none() {
        assert_eq!(of_selector(json!({})), ["a", "b", "c"]);
        assert_eq!(of_selector(json!({"matchLabels": {"zone": "z2"}})), ["b"]);
        let gt = json!({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["1"]}]});
        assert!(of_selector(gt).is_empty());
    }

    #[test]
    fn topologies_without_a_readable_term_allow_no_node() {
        let of = |terms: Value| {
            let terms: Vec<TopologySelectorTerm> = serde_json::from_value(terms).unwrap();
            nodes(|symbols| Place::of_topologies(&terms, symbols))
        };
        assert_eq!(of(json!([])), ["a", "b", "c"]);
        assert!(of(json!([{}])).is_empty());
        let zone = json!([{}, {"matchLabelExpressions": [{"key": "zone", "values": ["z2"]}]}]);
        assert_eq!(of(zone), ["b"]);
    }

    #[test]
    fn the_first_thing_near_a_node_is_the_one_of_a_walk_over_all() {
        let cluster = cluster();
        let symbols = cluster.snapshot().vocabulary().symbols();
        let place = |labels: Value| {
            let selector = serde_json::from_value(json!({"matchLabels": labels})).unwrap();
            Place::of_selector(&selector, symbols)
        };
        let things = [
            (place(json!({"absent": "x"})), 0),
            (place(json!({"zone": "z2"})), 1),
            (place(json!({"zone": "z1", "size": "5"})), 2),
            (place(json!({"size": "5"})), 3),
            (Place::Anywhere, 4),
            (place(json!({"zone": "z1"})), 5),
        ];
        let by_place = ByPlace::new(things.clone());
        for node in cluster.snapshot().nodes() {
            for taken in 0..6 {
                let walked = things
                    .iter()
                    .find(|(place, thing)| *thing >= taken && place.contains(&node));
                let found = by_place.first(&node, |thing| *thing >= taken);
                assert_eq!(found, walked.map(|(_, thing)| thing), "{taken} {node:?}");
            }
        }
    }
}
