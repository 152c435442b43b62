use serde_json::{Value, json};

use super::*;
use crate::plugins::fixtures::{Cluster, PodBuilder, make_node, make_pod};

fn required(terms: &Value) -> PodBuilder {
    make_pod("p").spec(json!({"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}))
}

fn plugin(cluster: &mut Cluster) -> NodeAffinity {
    cluster.compile(|scope| NodeAffinity::try_new(None, scope).unwrap())
}

fn fitting(pod: &PodBuilder) -> Vec<&'static str> {
    let names = ["n1", "n2", "n3"];
    let mut cluster = Cluster::new([
        make_node("n1").label("zone", "a").label("cores", "8"),
        make_node("n2")
            .label("zone", "b")
            .label("foo", "bar")
            .label("cores", "32"),
        make_node("n3"),
    ])
    .with_pod(pod);
    let plugin = plugin(&mut cluster);
    let verdicts = cluster.filter(&plugin);
    names
        .into_iter()
        .zip(verdicts)
        .filter(|(_, v)| *v == FilterVerdict::Fits)
        .map(|x| x.0)
        .collect()
}

fn field(name: &str) -> Value {
    json!({"key": "metadata.name", "operator": "In", "values": [name]})
}

#[test]
fn operators_compare_labels_as_the_api_defines_them() {
    let all = ["n1", "n2", "n3"].as_slice();
    for (operator, key, values, want) in [
        ("In", "zone", json!(["a", "c"]), &["n1"][..]),
        ("NotIn", "zone", json!(["a"]), &["n2", "n3"]),
        ("Exists", "zone", json!(null), &["n1", "n2"]),
        ("DoesNotExist", "zone", json!([]), &["n3"]),
        ("Gt", "cores", json!(["8"]), &["n2"]),
        ("Lt", "cores", json!(["32"]), &["n1"]),
        ("Gt", "zone", json!(["0"]), &[]),
        ("In", "zone", json!([]), &[]),
        ("Gt", "cores", json!(["x"]), &[]),
        ("Near", "zone", json!(["a"]), &[]),
        ("NotIn", "nothing", json!(["a"]), all),
        ("In", "kubernetes.io/hostname", json!(["n3"]), &["n3"]),
    ] {
        let pod = required(&json!([{"matchExpressions": [
            {"key": key, "operator": operator, "values": values}]}]));
        assert_eq!(fitting(&pod), want, "{operator} {key} {values}");
    }
}

#[test]
fn terms_are_ored_requirements_anded_and_an_empty_term_is_nothing() {
    let conflict = json!({"matchFields": [field("n1"), field("n2")]});
    let foo = json!({"matchExpressions": [{"key": "foo", "operator": "In", "values": ["bar"]}]});
    assert_eq!(fitting(&required(&json!([conflict, foo]))), ["n2"]);
    assert_eq!(fitting(&required(&json!([{}]))), [""; 0]);
    assert_eq!(fitting(&required(&json!([]))), [""; 0]);
    let both = json!({"matchFields": [field("n2")], "matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["a"]}]});
    assert_eq!(fitting(&required(&json!([both]))), [""; 0]);
    let selector = required(&json!([foo])).node_selector("zone", "a");
    assert_eq!(fitting(&selector), [""; 0]);
}

#[test]
fn pods_pinned_by_name_look_at_their_nodes_only() {
    let pre_filter = |pod: &PodBuilder| {
        let mut cluster = Cluster::default().with_pod(pod);
        let plugin = plugin(&mut cluster);
        plugin.pre_filter(
            &mut CycleState::default(),
            &cluster.view(),
            &cluster.snapshot(),
        )
    };
    let (n1, n2) = (
        json!({"matchFields": [field("n1")]}),
        json!({"matchFields": [field("n2")]}),
    );
    let names = |names: &[&str]| {
        PreFilterVerdict::Nodes(names.iter().map(|name| Arc::from(*name)).collect())
    };
    assert_eq!(pre_filter(&make_pod("p")), PreFilterVerdict::Skip);
    assert_eq!(
        pre_filter(&required(&json!([n1, n2]))),
        names(&["n1", "n2"])
    );
    assert_eq!(
        pre_filter(&required(&json!([n1, {}]))),
        PreFilterVerdict::Proceed
    );
    let conflict = json!({"matchFields": [field("n1"), field("n2")]});
    assert_eq!(
        pre_filter(&required(&json!([conflict]))),
        PreFilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON_CONFLICT))
    );
    let or_label = json!({"matchExpressions": [{"key": "foo", "operator": "Exists"}]});
    assert_eq!(
        pre_filter(&required(&json!([conflict, or_label]))),
        PreFilterVerdict::Proceed
    );
}

#[test]
fn preferred_terms_add_their_weights() {
    let term = |weight: i32, zone: &str| {
        json!({"weight": weight, "preference": {"matchExpressions": [
            {"key": "zone", "operator": "In", "values": [zone]}]}})
    };
    let pod = make_pod("p").spec(json!({"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            term(3, "a"), term(5, "b"), term(2, "a"), {"weight": 50, "preference": {}}]}}}));
    let mut cluster = Cluster::new([
        make_node("n1").label("zone", "a"),
        make_node("n2").label("zone", "b"),
        make_node("n3"),
        make_node("n4").label("zone", "c"),
    ])
    .with_pod(&pod);
    let plugin = plugin(&mut cluster);
    assert_eq!(
        cluster.scores(&plugin),
        (vec![5, 5, 0, 0], vec![100, 100, 0, 0])
    );
}

#[test]
fn the_affinity_of_the_profile_holds_for_every_pod() {
    let mut cluster = Cluster::new([make_node("n1").label("pool", "x"), make_node("n2")])
        .with_pod(&make_pod("p"));
    let added: v1::NodeAffinity = serde_json::from_value(json!({
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]}}))
    .unwrap();
    let plugin = cluster.compile(|scope| NodeAffinity::try_new(Some(&added), scope).unwrap());
    assert_eq!(
        cluster.filter(&plugin),
        [
            FilterVerdict::Fits,
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON_ENFORCED))
        ]
    );
    assert_eq!(plugin.scope(&cluster.view()), FilterScope::NodeClass);
}

#[test]
fn one_verdict_per_class_is_only_given_when_no_single_node_is_meant() {
    for (pod, want) in [
        (
            make_pod("p").node_selector("zone", "a"),
            FilterScope::NodeClass,
        ),
        (
            make_pod("p").node_selector(HOSTNAME_LABEL, "n1"),
            FilterScope::Node,
        ),
        (
            required(&json!([{"matchFields": [field("n1")]}])),
            FilterScope::Node,
        ),
    ] {
        let mut cluster = Cluster::default().with_pod(&pod);
        let plugin = plugin(&mut cluster);
        assert_eq!(plugin.scope(&cluster.view()), want);
    }
}
