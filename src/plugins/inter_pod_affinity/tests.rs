use serde_json::{Value, json};

use super::*;
use crate::engine::framework::extension_points::FilterVerdict;
use crate::plugins::fixtures::{Cluster, NodeBuilder, PodBuilder, make_node, make_pod};

fn plugin() -> InterPodAffinity {
    InterPodAffinity::new(&InterPodAffinityArgs::default())
}

/// Two nodes in zone `a`, one in `b`, one in none.
fn nodes() -> [NodeBuilder; 4] {
    [
        make_node("a1").label("zone", "a"),
        make_node("a2").label("zone", "a"),
        make_node("b1").label("zone", "b"),
        make_node("none"),
    ]
}

fn term(key: &str, app: &str) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}})
}

fn required(kind: &str, terms: &[Value]) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
}

fn preferred(kind: &str, weight: i32, term: &Value) -> Value {
    json!({"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "podAffinityTerm": term}]}}})
}

fn app(name: &str, app: &str) -> PodBuilder {
    make_pod(name).label("app", app)
}

/// What is said of each node, empty if the pod fits.
fn judge(running: &[PodBuilder], pod: &PodBuilder) -> Vec<String> {
    let mut cluster = Cluster::new(nodes());
    for pod in running {
        cluster = cluster.with_running(pod);
    }
    let cluster = cluster.with_pod(pod).counted(&plugin());
    let verdicts = cluster.pre_filter_and_filter(&plugin());
    let text = |verdict| match verdict {
        FilterVerdict::Rejected(rejection) => rejection.message(),
        verdict => {
            assert_eq!(verdict, FilterVerdict::Fits);
            String::new()
        }
    };
    verdicts.into_iter().map(text).collect()
}

fn fits(running: &[PodBuilder], pod: &PodBuilder) -> [bool; 4] {
    let judged = judge(running, pod);
    std::array::from_fn(|node| judged[node].is_empty())
}

fn scores(running: &[PodBuilder], pod: &PodBuilder) -> Vec<i64> {
    let mut cluster = Cluster::new(nodes());
    for pod in running {
        cluster = cluster.with_running(pod);
    }
    let cluster = cluster.with_pod(pod).counted(&plugin());
    cluster.scores(&plugin()).1
}

#[test]
fn affinity_wants_the_domain_of_a_pod_that_meets_every_term() {
    let db = app("db", "db").label("tier", "gold").on("a1");
    let both = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"tier": "gold"}}});
    let pod = app("p", "web").spec(required("podAffinity", &[term("zone", "db"), both]));
    assert_eq!(fits(&[db], &pod), [true, true, false, false]);
    let silver = app("db", "db").label("tier", "silver").on("a1");
    assert_eq!(fits(&[silver], &pod), [false; 4]);
}

#[test]
fn the_first_pod_of_its_kind_may_go_where_every_topology_key_is() {
    let pod = app("p", "web").spec(required("podAffinity", &[term("zone", "web")]));
    assert_eq!(fits(&[], &pod), [true, true, true, false]);
    assert_eq!(
        fits(&[app("q", "web").on("b1")], &pod),
        [false, false, true, false]
    );
}

#[test]
fn anti_affinity_keeps_away_from_domains_and_does_not_mind_a_missing_key() {
    let pod = app("p", "web").spec(required("podAntiAffinity", &[term("zone", "web")]));
    let judged = judge(&[app("q", "web").on("a1")], &pod);
    let reason = "node(s) didn't match pod anti-affinity rules";
    assert_eq!(judged, [reason, reason, "", ""]);
}

#[test]
fn anti_affinity_of_pods_that_are_there_keeps_others_away() {
    let shy = app("shy", "db").on("a1");
    let shy = shy.spec(required("podAntiAffinity", &[term("zone", "web")]));
    let judged = judge(std::slice::from_ref(&shy), &app("p", "web"));
    let reason = "node(s) didn't satisfy existing pods anti-affinity rules";
    assert_eq!(judged, [reason, reason, "", ""]);
    assert_eq!(fits(&[shy], &app("p", "batch")), [true; 4]);
}

#[test]
fn a_term_without_namespaces_means_that_of_the_pod() {
    let elsewhere = app("db", "db")
        .metadata(json!({"namespace": "other"}))
        .on("a1");
    let pod = app("p", "web").spec(required("podAffinity", &[term("zone", "db")]));
    assert_eq!(fits(std::slice::from_ref(&elsewhere), &pod), [false; 4]);
    let mut named = term("zone", "db");
    named["namespaces"] = json!(["other"]);
    let pod = app("p", "web").spec(required("podAffinity", &[named]));
    assert_eq!(
        fits(std::slice::from_ref(&elsewhere), &pod),
        [true, true, false, false]
    );
    let mut everywhere = term("zone", "db");
    everywhere["namespaceSelector"] = json!({});
    let pod = app("p", "web").spec(required("podAffinity", &[everywhere]));
    assert_eq!(fits(&[elsewhere], &pod), [true, true, false, false]);
}

#[test]
fn preferences_of_both_sides_are_summed_and_scaled() {
    let pod = app("p", "web").spec(preferred("podAffinity", 10, &term("zone", "db")));
    assert_eq!(scores(&[app("db", "db").on("a1")], &pod), [100, 100, 0, 0]);
    let repelled = app("q", "db").on("b1");
    let repelled = repelled.spec(preferred("podAntiAffinity", 5, &term("zone", "web")));
    let attracted = app("r", "db").on("a1");
    let attracted = attracted.spec(required("podAffinity", &[term("zone", "web")]));
    // b1: -5; a1, a2: +1 of the required affinity (hardPodAffinityWeight); none: 0.
    assert_eq!(
        scores(&[repelled, attracted], &app("p", "web")),
        [100, 100, 0, 83]
    );
}

#[test]
fn a_selector_that_cannot_be_read_is_told_in_upstreams_words() {
    let bad = json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": [
        {"key": "app", "operator": "Like", "values": ["x"]}]}});
    let pod = app("p", "web").spec(required("podAntiAffinity", &[bad]));
    let cluster = Cluster::new(nodes()).with_pod(&pod);
    let verdict = crate::engine::framework::extension_points::PreFilterPlugin::pre_filter(
        &plugin(),
        &mut crate::engine::framework::CycleState::default(),
        &cluster.view(),
        &cluster.snapshot(),
    );
    let reason = "parsing pod: requiredAntiAffinityTerms: \"Like\" is not a valid label selector \
                  operator";
    let expected = crate::engine::framework::Rejection::unresolvable(NAME, reason);
    assert_eq!(
        verdict,
        crate::engine::framework::extension_points::PreFilterVerdict::Rejected(expected)
    );
}
