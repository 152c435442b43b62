//! Counts by domain equal a recount from the objects.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::engine::audit::expected::{Expected, Seat};
use crate::engine::audit::selector::{select, text};
use crate::engine::audit::terms::{Term, of_engine};
use crate::engine::audit::{Findings, Truth};
use crate::engine::cache::topology::counted_terms::{CountedTerm, Domains};
use crate::engine::cache::topology::domain_counts::DomainCounts;
use crate::model::symbols::Symbols;

/// Counts by the text of a domain.
type Counts = BTreeMap<String, i64>;

pub(super) fn audit(
    engine: &Engine,
    truth: &Truth,
    expected: &Expected<'_>,
    findings: &mut Findings,
) {
    let (topology, symbols) = (&engine.cache.topology, engine.cache.vocabulary.symbols());
    for (term, counts) in topology.counted.iter() {
        let wanted = recount(term, expected, symbols);
        let has = by_text(counts, symbols);
        findings.expect(
            || format!("the count of {}", described(term, symbols)),
            &has,
            &wanted,
        );
    }
    let mut wanted = BTreeMap::<&Term, Counts>::new();
    for seat in &expected.seats {
        for term in &seat.reading.terms {
            if let Some(domain) = label(seat, &term.1, expected) {
                let counts = wanted.entry(term).or_default();
                *counts.entry(domain).or_default() += 1;
            }
        }
    }
    let carried = topology.carried.iter();
    let has: BTreeMap<Term, Counts> = carried
        .map(|(term, counts)| (of_engine(term, symbols), by_text(counts, symbols)))
        .collect();
    let has = has
        .iter()
        .map(|(term, counts)| (term, counts.clone()))
        .collect();
    findings.expect(|| "the count of carried terms".to_owned(), &has, &wanted);
    audit_namespaces(engine, truth, findings);
}

fn by_text(counts: &DomainCounts, symbols: &Symbols) -> Counts {
    let counts = counts.iter();
    counts
        .map(|(domain, count)| (text(domain, symbols).to_owned(), count))
        .collect()
}

/// The label `key` of the node of the pod, if the node is known.
fn label(seat: &Seat<'_>, key: &str, expected: &Expected<'_>) -> Option<String> {
    let labels = expected.nodes.get(seat.node)?.0.metadata.labels.as_ref()?;
    labels.get(key).cloned()
}

fn recount(term: &CountedTerm, expected: &Expected<'_>, symbols: &Symbols) -> Counts {
    let mut counts = Counts::new();
    for seat in &expected.seats {
        let terminates = seat.pod.metadata.deletion_timestamp.is_some();
        if terminates && !term.counts_terminating {
            continue;
        }
        let domain = match term.domains {
            Domains::Label(key) => label(seat, text(key, symbols), expected),
            Domains::Nodes => expected
                .nodes
                .contains_key(seat.node)
                .then(|| seat.node.to_owned()),
        };
        let Some(domain) = domain else { continue };
        if select(&term.all_of, seat.pod, expected, symbols) {
            *counts.entry(domain).or_default() += 1;
        }
    }
    counts
}

fn described(term: &CountedTerm, symbols: &Symbols) -> String {
    let selectors = term.all_of.iter().map(|selector| {
        let names = selector.namespaces.iter();
        let names: Vec<&str> = names.map(|name| text(*name, symbols)).collect();
        let labels = crate::engine::audit::selector::form(&selector.labels, symbols);
        format!("pods in {names:?} with [{labels}]")
    });
    let selectors: Vec<String> = selectors.collect();
    let domains = match term.domains {
        Domains::Label(key) => text(key, symbols),
        Domains::Nodes => "node",
    };
    format!("{} by {domains}", selectors.join(" and "))
}

/// The labels of namespaces are those of the objects.
fn audit_namespaces(engine: &Engine, truth: &Truth, findings: &mut Findings) {
    let symbols = engine.cache.vocabulary.symbols();
    for (name, namespace) in &truth.namespaces {
        let known = symbols.get(name);
        let known = known.and_then(|name| engine.cache.topology.namespaces.get(name));
        let pairs = known.map(|labels| labels.pairs().iter());
        let has: Option<BTreeMap<&str, &str>> = pairs.map(|pairs| {
            pairs
                .map(|(key, value)| (symbols.text(*key), symbols.text(*value)))
                .collect()
        });
        let labels = namespace.metadata.labels.iter().flatten();
        let wanted = labels.map(|(key, value)| (&**key, &**value)).collect();
        findings.expect(
            || format!("the labels of namespace {name}"),
            &has,
            &Some(wanted),
        );
    }
}
