//! Classes and symbols are held as often as something uses them: nothing leaks, nothing is freed
//! too early.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::engine::Engine;
use crate::engine::audit::Findings;
use crate::engine::cache::nodes::NodeFacts;
use crate::model::pod_info::PodInfo;

pub(super) fn audit(engine: &Engine, findings: &mut Findings) {
    let vocabulary = &engine.cache.vocabulary;
    let classes = count(pods(engine).map(|pod| pod.class));
    let has = vocabulary.pod_class_references();
    compare("pod class", has, &classes, findings);
    let labels = count(pods(engine).map(|pod| pod.labels));
    let has = vocabulary.label_set_references();
    compare("label set", has, &labels, findings);
    let facts = engine.cache.nodes.facts.iter().flatten();
    let classes = count(facts.map(|facts| facts.class));
    let has = vocabulary.node_class_references();
    compare("node class", has, &classes, findings);
    audit_symbols(engine, findings);
}

/// Every pod that holds references, once for each copy.
fn pods(engine: &Engine) -> impl Iterator<Item = &PodInfo> {
    let queued = engine.queue.pods().map(|(pod, _)| &pod.info);
    let on_their_way = engine.bindings.views().filter_map(|view| view.queued);
    let nominated = engine.cache.nominator.iter().map(|(_, pod)| pod);
    let cached = engine.cache.pods();
    let kept = engine.classes.pods();
    let in_books = queued.chain(on_their_way).chain(nominated);
    in_books.chain(cached).chain(kept)
}

fn audit_symbols(engine: &Engine, findings: &mut Findings) {
    let (cache, symbols) = (&engine.cache, engine.cache.vocabulary.symbols());
    let facts = cache.nodes.facts.iter().flatten();
    let held = cache
        .vocabulary
        .held()
        .chain(facts.flat_map(NodeFacts::held))
        .chain(cache.topology.counted.held())
        .chain(cache.topology.namespaces.held())
        .chain(engine.profiles.held())
        .chain(engine.classes.held());
    let wanted = count(held);
    for (symbol, references) in symbols.references() {
        let users = wanted.get(&symbol).copied().unwrap_or(0);
        let about = || format!("the number of references to {:?}", symbols.text(symbol));
        findings.expect(about, &references, &users);
    }
    let known: BTreeMap<_, _> = symbols.references().collect();
    for symbol in wanted.keys().filter(|symbol| !known.contains_key(symbol)) {
        findings.add(format!("{symbol:?} is held and not known"));
    }
}

fn count<T: Ord>(uses: impl Iterator<Item = T>) -> BTreeMap<T, u32> {
    let mut counts = BTreeMap::new();
    for used in uses {
        *counts.entry(used).or_default() += 1;
    }
    counts
}

fn compare<T: Ord + Debug>(
    what: &str,
    has: impl Iterator<Item = (T, u32)>,
    wanted: &BTreeMap<T, u32>,
    findings: &mut Findings,
) {
    let has: BTreeMap<T, u32> = has.collect();
    if has == *wanted {
        return;
    }
    for (id, references) in &has {
        let users = wanted.get(id).copied().unwrap_or(0);
        findings.expect(
            || format!("the number of references to {what} {id:?}"),
            references,
            &users,
        );
    }
    for id in wanted.keys().filter(|id| !has.contains_key(id)) {
        findings.add(format!("{what} {id:?} is used and not known"));
    }
}
