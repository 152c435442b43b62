//! Filters that are asked once per node class must say the same of every node of the class.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::engine::framework::Plugin;
use crate::engine::framework::extension_points::{FilterScope, FilterVerdict};
use crate::plugins::fixtures::{Cluster, NodeBuilder, PodBuilder, make_node, make_pod};
use crate::plugins::node_affinity::NodeAffinity;
use crate::plugins::node_declared_features::NodeDeclaredFeatures;
use crate::plugins::node_unschedulable::NodeUnschedulable;
use crate::plugins::taint_toleration::TaintToleration;

/// Where the nodes of a class differ is their name; few values make classes of several nodes.
fn node() -> impl Strategy<Value = (Option<&'static str>, Option<&'static str>, bool)> {
    let effect = prop::sample::select(vec!["NoSchedule", "NoExecute", "PreferNoSchedule"]);
    let zone = prop::sample::select(vec!["a", "b"]);
    (
        prop::option::of(zone),
        prop::option::of(effect),
        any::<bool>(),
    )
}

fn build_node(
    index: usize,
    (zone, effect, cordoned): (Option<&str>, Option<&str>, bool),
) -> NodeBuilder {
    let mut node = make_node(&format!("n{index}"));
    if let Some(zone) = zone {
        node = node.label("zone", zone);
    }
    if let Some(effect) = effect {
        node = node.taint("k", "v", effect);
    }
    if cordoned {
        node = node.unschedulable();
    }
    node
}

fn pod() -> impl Strategy<Value = PodBuilder> {
    let toleration = (
        prop::sample::select(vec!["", "k", "node.kubernetes.io/unschedulable"]),
        prop::sample::select(vec!["", "NoSchedule", "NoExecute"]),
    );
    let key = prop::sample::select(vec!["zone", "kubernetes.io/hostname"]);
    let operator = prop::sample::select(vec!["In", "NotIn"]);
    let values = vec(prop::sample::select(vec!["a", "b", "n0", "n1", "n2"]), 1..3);
    let field = prop::sample::select(vec!["matchExpressions", "matchFields"]);
    let affinity = prop::option::of((key, operator, values, field));
    (prop::option::of(toleration), affinity).prop_map(|(toleration, affinity)| {
        let mut pod = make_pod("p");
        if let Some((key, effect)) = toleration {
            pod = pod.toleration(key, "Exists", "", effect);
        }
        if let Some((key, operator, mut values, field)) = affinity {
            let (mut key, mut term) = (key, "matchExpressions");
            if field == "matchFields" {
                (key, term) = ("metadata.name", field);
                values.truncate(1);
            }
            let terms = serde_json::json!([{term: [
                {"key": key, "operator": operator, "values": values}]}]);
            pod = pod.spec(serde_json::json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}));
        }
        pod
    })
}

/// The first node of the class that says otherwise than the one before, if the plugin claims that
/// none does.
fn contradiction(cluster: &Cluster, plugin: &impl Plugin) -> Option<(String, FilterVerdict)> {
    let filter = plugin.as_filter()?;
    if filter.scope(&cluster.view()) == FilterScope::Node {
        return None;
    }
    let mut of_class = std::collections::BTreeMap::new();
    let verdicts = cluster.filter(plugin);
    cluster
        .snapshot()
        .nodes()
        .zip(verdicts)
        .find_map(|(node, verdict)| {
            let of_class = of_class
                .entry(node.class_id().index())
                .or_insert_with(|| verdict.clone());
            (*of_class != verdict).then(|| (node.name().to_string(), verdict))
        })
}

proptest! {
    #[test]
    fn the_verdict_on_a_class_is_the_verdict_on_each_of_its_nodes(
        nodes in vec(node(), 1..12),
        pod in pod(),
    ) {
        let nodes = nodes.into_iter().enumerate();
        let nodes = nodes.map(|(index, node)| build_node(index, node));
        let mut cluster = Cluster::new(nodes).with_pod(&pod);
        let unschedulable = cluster.compile(NodeUnschedulable::new);
        let affinity = cluster.compile(|scope| NodeAffinity::try_new(None, scope)).unwrap();
        prop_assert_eq!(contradiction(&cluster, &unschedulable), None);
        prop_assert_eq!(contradiction(&cluster, &TaintToleration), None);
        prop_assert_eq!(contradiction(&cluster, &affinity), None);
        prop_assert_eq!(contradiction(&cluster, &NodeDeclaredFeatures), None);
    }
}
