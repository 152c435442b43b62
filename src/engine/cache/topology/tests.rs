use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::counted_terms::{CountedTerm, Domains};
use super::domain_counts::DomainCounts;
use crate::engine::cache::Cache;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::model::label_selector::{LabelRequirement, LabelSelector};
use crate::model::objects::{Namespace, Node, Pod};
use crate::model::pod_affinity::PodSelector;
use crate::model::pod_info::PodUid;
use crate::model::symbols::Symbol;

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];
const ZONES: [Option<&str>; 3] = [Some("a"), Some("b"), None];
const PODS: usize = 6;

/// What can happen to what is counted.
#[derive(Clone, Debug)]
enum Operation {
    Node(usize, usize),
    RemoveNode(usize),
    Pod {
        pod: usize,
        node: usize,
        app: usize,
        terminating: bool,
    },
    RemovePod(usize),
    Namespace(usize),
    Count(usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (0..NODES.len(), 0..ZONES.len()).prop_map(|(node, zone)| Operation::Node(node, zone)),
        (0..NODES.len()).prop_map(Operation::RemoveNode),
        (0..PODS, 0..NODES.len(), 0..2_usize, any::<bool>()).prop_map(
            |(pod, node, app, terminating)| Operation::Pod {
                pod,
                node,
                app,
                terminating
            }
        ),
        (0..PODS).prop_map(Operation::RemovePod),
        (0..2_usize).prop_map(Operation::Namespace),
        (0..4_usize).prop_map(Operation::Count),
    ]
}

fn node(name: &str, zone: Option<&str>) -> Node {
    let labels = zone.map(|zone| json!({"zone": zone, "kubernetes.io/hostname": name}));
    serde_json::from_value(json!({"metadata": {"name": name, "uid": name, "labels": labels}}))
        .unwrap()
}

/// Every pod carries a term of its own application.
fn pod(number: usize, node: usize, app: usize, terminating: bool) -> Pod {
    let selector = json!({"matchLabels": {"app": format!("{app}")}});
    let term = json!({"topologyKey": "zone", "labelSelector": selector});
    let deleted = terminating.then_some("2024-01-01T00:00:00Z");
    serde_json::from_value(json!({
        "metadata": {"name": format!("p{number}"), "namespace": format!("ns{}", number % 2),
            "uid": format!("p{number}"), "labels": {"app": format!("{app}")},
            "deletionTimestamp": deleted},
        "spec": {"nodeName": NODES[node], "affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [term]}}}}))
    .unwrap()
}

/// The cache with the symbols of what is counted.
struct Counted {
    cache: Cache,
    symbols: BTreeMap<&'static str, Symbol>,
}

impl Counted {
    fn new() -> Self {
        let mut cache = Cache::new(1);
        let mut scope = cache.vocabulary.symbols_mut().scope();
        let texts = ["app", "0", "1", "zone", "ns0", "team", "a", "b"];
        let symbols = texts.map(|text| (text, scope.intern(text))).into();
        std::mem::forget(scope.finish());
        Self { cache, symbols }
    }

    /// The four terms: by zone or node, of one namespace or those of a team.
    fn term(&self, which: usize) -> CountedTerm {
        let symbol = |text| self.symbols[text];
        let is = |key, value| {
            LabelSelector::of(vec![LabelRequirement::In(
                symbol(key),
                Box::from([symbol(value)]),
            )])
        };
        let of_team = which.is_multiple_of(2);
        CountedTerm {
            all_of: Box::from([PodSelector {
                namespaces: if of_team {
                    Box::default()
                } else {
                    Box::from([symbol("ns0")])
                },
                namespace_selector: if of_team {
                    is("team", "a")
                } else {
                    LabelSelector::Nothing
                },
                labels: is("app", "0"),
            }]),
            domains: if which < 2 {
                Domains::Label(symbol("zone"))
            } else {
                Domains::Nodes
            },
            counts_terminating: which < 2,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Node(index, zone) => {
                self.cache
                    .apply_node(&node(NODES[*index], ZONES[*zone]))
                    .unwrap();
            }
            Operation::RemoveNode(index) => {
                self.cache.remove_node(NODES[*index]);
            }
            Operation::Pod {
                pod: number,
                node,
                app,
                terminating,
            } => {
                let pod = pod(*number, *node, *app, *terminating);
                let info = self.cache.vocabulary.compile_pod(&pod).unwrap();
                if let Some(earlier) = self.cache.add_pod(info) {
                    self.cache.vocabulary.release_pod(&earlier);
                }
            }
            Operation::RemovePod(number) => {
                let uid = PodUid(format!("p{number}").into());
                if let Some(earlier) = self.cache.remove_pod(&uid) {
                    self.cache.vocabulary.release_pod(&earlier);
                }
            }
            Operation::Namespace(team) => {
                let team = ["a", "b"][*team];
                let namespace: Namespace = serde_json::from_value(
                    json!({"metadata": {"name": "ns1", "labels": {"team": team}}}),
                )
                .unwrap();
                let event = Namespace::event(ObjectEvent::Applied(namespace.into()));
                self.cache.apply_listed(event);
            }
            Operation::Count(which) => self.cache.count_term(self.term(*which)),
        }
    }

    /// What a search over all pods finds.
    fn recount(&self, term: &CountedTerm) -> DomainCounts {
        let cluster = self.cache.snapshot();
        let mut counts = DomainCounts::default();
        for node in cluster.nodes() {
            for pod in node.pods() {
                let selector = &term.all_of[0];
                let labels = cluster.namespace_labels(pod.namespace);
                let selected = selector.selects_namespace(pod.namespace, labels)
                    && selector.labels.matches(pod.labels)
                    && (term.counts_terminating || !pod.info.is_terminating);
                let domain = match term.domains {
                    Domains::Label(key) => {
                        crate::model::node_selector::NodeLabels::label(&node, key)
                    }
                    Domains::Nodes => {
                        Some(crate::model::node_selector::NodeLabels::node_name(&node))
                    }
                };
                if let (true, Some(domain)) = (selected, domain) {
                    counts.add(domain, 1);
                }
            }
        }
        counts
    }

    fn carried(&self) -> BTreeMap<(String, String), i64> {
        let symbols = self.cache.vocabulary.symbols();
        let carried = &self.cache.snapshot().topology().carried;
        let mut found = BTreeMap::new();
        for index in 0..carried.len() {
            let counts = carried.counts(index).unwrap();
            for (domain, count) in counts.iter() {
                let domain = symbols.text(domain).to_owned();
                *found.entry((domain, "zone".to_owned())).or_insert(0) += count;
            }
        }
        found
    }

    fn recount_carried(&self) -> BTreeMap<(String, String), i64> {
        let symbols = self.cache.vocabulary.symbols();
        let mut found = BTreeMap::new();
        for node in self.cache.snapshot().nodes() {
            let zone = crate::model::node_selector::NodeLabels::label(&node, self.symbols["zone"]);
            let Some(zone) = zone else { continue };
            let key = (symbols.text(zone).to_owned(), "zone".to_owned());
            let pods = i64::try_from(node.pod_count()).unwrap();
            if pods > 0 {
                *found.entry(key).or_insert(0) += pods;
            }
        }
        found
    }
}

proptest! {
    #[test]
    fn counts_equal_a_recount_whatever_happens(
        operations in proptest::collection::vec(operation(), 1..60)
    ) {
        let mut counted = Counted::new();
        for operation in &operations {
            counted.apply(operation);
            for which in 0..4 {
                let term = counted.term(which);
                let counts = &counted.cache.topology.counted;
                if let Some(index) = counts.index(&term) {
                    prop_assert_eq!(counts.counts(index).unwrap(), &counted.recount(&term));
                }
            }
            prop_assert_eq!(counted.carried(), counted.recount_carried());
        }
    }
}
