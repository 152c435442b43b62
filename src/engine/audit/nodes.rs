//! The columns of the nodes equal a recount from the objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Engine;
use crate::engine::audit::Findings;
use crate::engine::audit::expected::{Expected, Load};
use crate::engine::audit::readings::{Amounts, NodeReading, Port};
use crate::engine::cache::nodes::NodeFacts;
use crate::model::node_class::HOSTNAME_LABEL;
use crate::model::objects::Node;
use crate::model::pod_info::PodUid;
use crate::model::resources::Resources;
use crate::model::symbols::Symbols;
use crate::model::vocabulary::Vocabulary;

pub(super) fn audit(engine: &Engine, expected: &Expected<'_>, findings: &mut Findings) {
    let nodes = &engine.cache.nodes;
    let mut seen = BTreeSet::new();
    for (index, name) in nodes.names.iter().enumerate() {
        let is_used = nodes.facts[index].is_some() || !nodes.pods[index].is_empty();
        if is_used && !seen.insert(&**name) {
            findings.add(format!("node {name} has two slots"));
        }
        let nothing = Load::default();
        let load = expected.loads.get(&**name).filter(|_| is_used);
        audit_load(engine, index, load.unwrap_or(&nothing), findings);
        let node = expected.nodes.get(&**name).filter(|_| is_used);
        audit_facts(engine, index, node.copied(), findings);
    }
    for (name, load) in &expected.loads {
        if !seen.contains(name) {
            findings.add(format!(
                "node {name} is missing and has {} pods",
                load.pods.len()
            ));
        }
    }
    for name in expected.nodes.keys().filter(|name| !seen.contains(*name)) {
        findings.add(format!("node {name} is missing"));
    }
    let count = expected.nodes.len();
    findings.expect(|| "the count of nodes".to_owned(), &nodes.len(), &count);
    let count = expected.seats.len();
    let pods = engine.cache.pods().count();
    findings.expect(|| "the count of pods on nodes".to_owned(), &pods, &count);
    audit_images(engine, expected, findings);
}

fn audit_load(engine: &Engine, index: usize, load: &Load<'_>, findings: &mut Findings) {
    let (nodes, symbols) = (&engine.cache.nodes, engine.cache.vocabulary.symbols());
    let about = |what: &str| format!("{what} of node {}", nodes.names[index]);
    let requested = by_name(&nodes.requested[index], symbols);
    findings.expect(|| about("what pods request"), &requested, &load.requested);
    let non_zero = nodes.non_zero_requested[index];
    let non_zero = (non_zero.milli_cpu, non_zero.memory);
    findings.expect(|| about("what scores count"), &non_zero, &load.non_zero);
    let ports: BTreeMap<Port, u32> = nodes.used_ports[index]
        .iter()
        .map(|(port, users)| {
            let ip = port.ip.map_or("0.0.0.0", |ip| symbols.text(ip));
            let key = (
                symbols.text(port.protocol).to_owned(),
                port.port,
                ip.to_owned(),
            );
            (key, users)
        })
        .collect();
    let ports: BTreeMap<&Port, u32> = ports.iter().map(|(port, users)| (port, *users)).collect();
    findings.expect(|| about("the ports in use"), &ports, &load.ports);
    let places = nodes.pods[index].iter();
    let pods = places.filter_map(|place| engine.cache.pod_in(*place));
    let mut pods: Vec<&PodUid> = pods.map(|pod| &pod.uid).collect();
    pods.sort_unstable();
    let wanted: Vec<&PodUid> = load.pods.iter().copied().collect();
    findings.expect(|| about("the pods"), &pods, &wanted);
}

/// Amounts by name, without those that are 0.
fn by_name(resources: &Resources, symbols: &Symbols) -> Amounts {
    let dense = [
        ("cpu", resources.milli_cpu),
        ("memory", resources.memory),
        ("ephemeral-storage", resources.ephemeral_storage),
    ];
    let scalars = resources.scalars().iter();
    let scalars = scalars.map(|(name, amount)| (symbols.text(*name), *amount));
    dense
        .into_iter()
        .chain(scalars)
        .filter(|(_, amount)| *amount != 0)
        .map(|(name, amount)| (name.to_owned(), amount))
        .collect()
}

fn audit_facts(
    engine: &Engine,
    index: usize,
    node: Option<(&Node, &NodeReading)>,
    findings: &mut Findings,
) {
    let (nodes, vocabulary) = (&engine.cache.nodes, &engine.cache.vocabulary);
    let name = &nodes.names[index];
    let about = |what: &str| format!("{what} of node {name}");
    let facts = nodes.facts[index].as_ref();
    findings.expect(
        || format!("whether node {name} is known"),
        &facts.is_some(),
        &node.is_some(),
    );
    let (Some(facts), Some((node, reading))) = (facts, node) else {
        return;
    };
    let has = by_name(&nodes.allocatable[index], vocabulary.symbols());
    findings.expect(|| about("the room"), &has, &reading.room);
    let pods = &nodes.allowed_pods[index];
    findings.expect(|| about("the room for pods"), pods, &reading.pods);
    let labels = labels(facts, vocabulary);
    let wanted = node.metadata.labels.iter().flatten();
    let wanted = wanted.map(|(key, value)| (&**key, &**value)).collect();
    findings.expect(|| about("the labels"), &labels, &wanted);
    let class = vocabulary.node_class(facts.class);
    let taints: Vec<(&str, &str)> = class
        .taints
        .iter()
        .map(|taint| {
            (
                vocabulary.symbols().text(taint.key),
                vocabulary.symbols().text(taint.value),
            )
        })
        .collect();
    let wanted = node.spec.taints.iter();
    let wanted: Vec<(&str, &str)> = wanted
        .map(|taint| (&*taint.key, taint.value.as_deref().unwrap_or("")))
        .collect();
    findings.expect(|| about("the taints"), &taints, &wanted);
    let cordoned = node.spec.unschedulable;
    findings.expect(|| about("the cordon"), &class.unschedulable, &cordoned);
}

fn labels<'a>(facts: &NodeFacts, vocabulary: &'a Vocabulary) -> BTreeMap<&'a str, &'a str> {
    let symbols = vocabulary.symbols();
    let class = vocabulary.node_class(facts.class);
    let pairs = class.labels.pairs().iter();
    let shared = pairs.map(|(key, value)| (symbols.text(*key), symbols.text(*value)));
    let own = facts
        .hostname
        .map(|value| (HOSTNAME_LABEL, symbols.text(value)));
    shared.chain(own).collect()
}

/// On how many nodes each image lies.
fn audit_images(engine: &Engine, expected: &Expected<'_>, findings: &mut Findings) {
    let symbols = engine.cache.vocabulary.symbols();
    let mut wanted = BTreeMap::<&str, u32>::new();
    for (node, _) in expected.nodes.values() {
        let names = node.status.images.iter().flat_map(|image| &image.names);
        let names: BTreeSet<&str> = names.map(|name| &**name).collect();
        for name in names {
            *wanted.entry(name).or_default() += 1;
        }
    }
    let images = engine.cache.nodes.images.iter();
    let has: BTreeMap<&str, u32> = images
        .map(|(name, state)| (symbols.text(name), state.nodes))
        .collect();
    findings.expect(|| "the count of nodes by image".to_owned(), &has, &wanted);
}
