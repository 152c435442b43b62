use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::model::symbols::Symbols;

/// Few keys and values, so that selectors often select.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The index beside a list in which elements are removed by the last taking their place.
struct Indexed {
    symbols: Symbols,
    index: SelectorIndex,
    selectors: Vec<(PodSelector, Anchors)>,
}

/// An operator, a key and values.
type GivenRequirement = (u8, usize, Vec<usize>);

/// Namespaces by name, which others (none, all, or by a label), and what labels must be; `None`
/// selects nothing.
type Given = (Vec<usize>, u8, Option<Vec<GivenRequirement>>);

#[derive(Clone, Debug)]
enum Operation {
    Insert(Given),
    Remove(usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    let name = || 0..NAMES.len();
    let requirement = (0..4_u8, name(), vec(name(), 1..4));
    let labels = proptest::option::weighted(0.9, vec(requirement, 0..3));
    let selector = (vec(name(), 0..3), 0..3_u8, labels);
    prop_oneof![
        3 => selector.prop_map(Operation::Insert),
        1 => (0..100_usize).prop_map(Operation::Remove),
    ]
}

impl Indexed {
    fn new() -> Self {
        Self {
            symbols: Symbols::new(1),
            index: SelectorIndex::default(),
            selectors: Vec::new(),
        }
    }

    /// The symbols stay for as long as the test.
    fn symbol(&mut self, text: &str) -> Symbol {
        let mut scope = self.symbols.scope();
        let symbol = scope.intern(text);
        let _ = scope.finish();
        symbol
    }

    fn labels(&mut self, pairs: &[(&str, &str)]) -> LabelSet {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let pairs: BTreeMap<_, _> = pairs.collect();
        let mut scope = self.symbols.scope();
        let labels = LabelSet::compile(Some(&pairs), &mut scope);
        let _ = scope.finish();
        labels
    }

    fn insert(&mut self, selector: PodSelector) {
        let anchors = self.index.insert(&selector, self.selectors.len());
        self.selectors.push((selector, anchors));
    }

    fn remove(&mut self, index: usize) {
        let (_, anchors) = self.selectors.swap_remove(index);
        let moved = self.selectors.get(index).map(|(_, moved)| moved);
        let last = self.selectors.len();
        self.index.swap_remove(&anchors, index, moved, last);
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Insert(given) => {
                let selector = self.selector(given);
                self.insert(selector);
            }
            Operation::Remove(index) if !self.selectors.is_empty() => {
                self.remove(index % self.selectors.len());
            }
            Operation::Remove(_) => {}
        }
    }

    fn selector(&mut self, (namespaces, others, labels): &Given) -> PodSelector {
        let symbols = NAMES.map(|name| self.symbol(name));
        let sorted = |of: &[usize]| -> Box<[Symbol]> {
            let mut of: Vec<_> = of.iter().map(|index| symbols[*index]).collect();
            of.sort_unstable();
            of.dedup();
            of.into_boxed_slice()
        };
        let requirement = |(operator, key, values): &GivenRequirement| match operator {
            0 => LabelRequirement::In(symbols[*key], sorted(values)),
            1 => LabelRequirement::NotIn(symbols[*key], sorted(values)),
            2 => LabelRequirement::Exists(symbols[*key]),
            _ => LabelRequirement::DoesNotExist(symbols[*key]),
        };
        PodSelector {
            namespaces: sorted(namespaces),
            namespace_selector: match others {
                0 => LabelSelector::Nothing,
                1 => LabelSelector::of(Vec::new()),
                _ => LabelSelector::of(vec![LabelRequirement::Exists(symbols[0])]),
            },
            labels: match labels {
                Some(labels) => LabelSelector::of(labels.iter().map(requirement).collect()),
                None => LabelSelector::Nothing,
            },
        }
    }

    /// A selector of the pods of `namespace` whose label `key` has one of `values`.
    fn named(&mut self, namespace: &str, key: &str, values: &[String]) -> PodSelector {
        let mut values: Vec<_> = values.iter().map(|value| self.symbol(value)).collect();
        values.sort_unstable();
        let requirement = LabelRequirement::In(self.symbol(key), values.into_boxed_slice());
        PodSelector {
            namespaces: Box::from([self.symbol(namespace)]),
            namespace_selector: LabelSelector::Nothing,
            labels: LabelSelector::of(vec![requirement]),
        }
    }

    fn candidates(&mut self, namespace: &str, labels: &[(&str, &str)]) -> Vec<usize> {
        let (namespace, labels) = (self.symbol(namespace), self.labels(labels));
        self.index.candidates(namespace, &labels).collect()
    }

    /// Every pod of two labels at most.
    fn check(&mut self) {
        let pairs = || {
            NAMES
                .iter()
                .flat_map(|key| NAMES.map(|value| (*key, value)))
        };
        let mut pods = vec![Vec::new()];
        pods.extend(pairs().map(|pair| vec![pair]));
        pods.extend(pairs().flat_map(|one| pairs().map(move |other| vec![one, other])));
        let own = [self.labels(&[]), self.labels(&[("a", "a")])];
        for (namespace, pod) in NAMES
            .into_iter()
            .flat_map(|n| pods.iter().map(move |p| (n, p)))
        {
            let mut candidates = self.candidates(namespace, pod);
            let (namespace, labels) = (self.symbol(namespace), self.labels(pod));
            candidates.sort_unstable();
            assert!(candidates.is_sorted_by(|one, next| one < next), "each once");
            for own in &own {
                let selects = |(selector, _): &(PodSelector, Anchors)| {
                    selector.selects_namespace(namespace, Some(own))
                        && selector.labels.matches(&labels)
                };
                for (index, selector) in self.selectors.iter().enumerate() {
                    let is_candidate = candidates.binary_search(&index).is_ok();
                    assert!(!selects(selector) || is_candidate, "{:?}", selector.0);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_selector_that_selects_a_pod_is_among_its_candidates(
        operations in vec(operation(), 1..40)
    ) {
        let mut indexed = Indexed::new();
        for operation in &operations {
            indexed.apply(operation);
        }
        indexed.check();
        while !indexed.selectors.is_empty() {
            indexed.remove(0);
        }
        prop_assert!(indexed.index.namespaces.is_empty(), "nothing is left behind");
    }
}

#[test]
fn a_pod_does_not_meet_the_selectors_of_other_workloads() {
    let mut indexed = Indexed::new();
    for number in 0..100 {
        let app = format!("app-{number}");
        let selector = indexed.named("shop", "app", &[app]);
        indexed.insert(selector);
    }
    assert_eq!(indexed.candidates("shop", &[("app", "app-7")]), [7]);
    assert!(indexed.candidates("bank", &[("app", "app-7")]).is_empty());
    assert!(indexed.candidates("shop", &[("app", "app-100")]).is_empty());
    assert!(indexed.candidates("shop", &[]).is_empty());
}

#[test]
fn a_selector_is_looked_for_by_the_label_that_the_fewest_others_have() {
    let mut indexed = Indexed::new();
    for number in 0..100 {
        let tier = indexed.named("shop", "tier", &["front".to_owned()]);
        let mut app = indexed.named("shop", "app", &[format!("app-{number}")]);
        let requirements = [&tier.labels, &app.labels].map(LabelSelector::requirements);
        app.labels = LabelSelector::of(requirements.concat());
        indexed.insert(app);
    }
    let pod = [("tier", "front"), ("app", "app-7")];
    // The first one may be at the label that all of them have.
    assert!(indexed.candidates("shop", &pod).len() <= 2);
}

#[test]
fn a_selector_of_more_values_than_are_kept_is_looked_for_by_the_key() {
    let mut indexed = Indexed::new();
    let values: Vec<_> = (0..=ANCHORS_MAX).map(|n| format!("app-{n}")).collect();
    let selector = indexed.named("shop", "app", &values);
    indexed.insert(selector);
    assert_eq!(indexed.candidates("shop", &[("app", "app-3")]), [0]);
    assert_eq!(indexed.candidates("shop", &[("app", "other")]), [0]);
    assert!(indexed.candidates("shop", &[("tier", "app-3")]).is_empty());
}
