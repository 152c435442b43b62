use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::framework::extension_points::{
    Change, FilterVerdict, PreFilterExtensions, PreFilterVerdict, PreScoreVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, QueueingHint,
};
use crate::model::objects::{ReplicaSet, ReplicationController, Service, StatefulSet};
use crate::plugins::fixtures::{Cluster, NodeBuilder, PodBuilder, make_node, make_pod};

fn plugin(cluster: &mut Cluster, args: Value) -> PodTopologySpread {
    let args = serde_json::from_value(args).unwrap();
    cluster.compile(|scope| PodTopologySpread::new(&args, scope))
}

/// Over `key`, counting pods with `app: web`.
fn constraint(key: &str, when: &str) -> Value {
    json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}}})
}

fn hard(key: &str) -> Value {
    constraint(key, "DoNotSchedule")
}

fn soft(key: &str) -> Value {
    constraint(key, "ScheduleAnyway")
}

fn with(mut constraint: Value, field: &str, value: Value) -> Value {
    constraint[field] = value;
    constraint
}

fn web(name: &str) -> PodBuilder {
    make_pod(name).label("app", "web")
}

fn spread(pod: &PodBuilder, constraints: &[Value]) -> PodBuilder {
    pod.clone()
        .spec(json!({"topologySpreadConstraints": constraints}))
}

fn zone(node: &str, zone: &str) -> NodeBuilder {
    make_node(node).label("zone", zone)
}

/// `a1` and `a2` in zone a, `b` in zone b, `none` in no zone; two web pods in a, one in b.
fn zones() -> Cluster {
    let nodes = [zone("a1", "a"), zone("a2", "a"), zone("b", "b")];
    Cluster::new(nodes.into_iter().chain([make_node("none")]))
        .with_running(&web("w1").on("a1"))
        .with_running(&web("w2").on("a2"))
        .with_running(&web("w3").on("b"))
}

fn text(verdict: FilterVerdict) -> String {
    match verdict {
        FilterVerdict::Fits => "fits".to_owned(),
        FilterVerdict::Rejected(rejection) if rejection.is_unresolvable() => {
            format!("unresolvable: {}", rejection.message())
        }
        FilterVerdict::Rejected(rejection) => rejection.message(),
        FilterVerdict::Failed(error) => error.message,
    }
}

/// The verdict on every node, or what `PreFilter` said instead.
fn verdicts(cluster: &Cluster, plugin: &PodTopologySpread) -> Vec<String> {
    let (mut state, pod) = (CycleState::default(), cluster.view());
    match plugin.pre_filter(&mut state, &pod, &cluster.snapshot()) {
        PreFilterVerdict::Proceed => {
            let nodes = cluster.snapshot().nodes();
            nodes
                .map(|node| text(plugin.filter(&state, &pod, &node)))
                .collect()
        }
        PreFilterVerdict::Failed(error) => vec![error.message],
        other => vec![format!("{other:?}")],
    }
}

/// The nodes that fit, by name.
fn fitting(cluster: Cluster, pod: &PodBuilder) -> Vec<String> {
    let mut cluster = cluster.with_pod(pod);
    let plugin = plugin(&mut cluster, json!({}));
    let cluster = cluster.counted(&plugin);
    let nodes = cluster.snapshot().nodes();
    let names: Vec<String> = nodes.map(|node| node.name().to_string()).collect();
    let verdicts = verdicts(&cluster, &plugin);
    assert_eq!(names.len(), verdicts.len(), "{verdicts:?}");
    let fits = names
        .into_iter()
        .zip(verdicts)
        .filter(|(_, verdict)| verdict == "fits");
    fits.map(|(name, _)| name).collect()
}

#[test]
fn a_pod_may_not_widen_the_gap_to_the_emptiest_domain_beyond_the_skew() {
    let mut cluster = zones().with_pod(&spread(&web("p"), &[hard("zone")]));
    let plugin = plugin(&mut cluster, json!({}));
    assert_eq!(
        verdicts(&cluster, &plugin),
        [
            REASON,
            REASON,
            "fits",
            &format!("unresolvable: {REASON_MISSING_LABEL}")
        ]
    );
    let wider = with(hard("zone"), "maxSkew", json!(2));
    assert_eq!(
        fitting(zones(), &spread(&web("p"), &[wider])),
        ["a1", "a2", "b"]
    );
}

#[test]
fn a_pod_that_is_not_of_the_kind_does_not_count_itself() {
    let other = spread(&make_pod("p"), &[hard("zone")]);
    assert_eq!(fitting(zones(), &other), ["a1", "a2", "b"]);
}

#[test]
fn too_few_domains_make_the_emptiest_one_count_as_empty() {
    let domains = |least: i32| {
        let constraint = with(hard("zone"), "minDomains", json!(least));
        fitting(zones(), &spread(&web("p"), &[constraint]))
    };
    assert_eq!(domains(2), ["b"]);
    assert!(domains(3).is_empty());
}

#[test]
fn nodes_that_the_affinity_rules_out_are_no_domains_unless_they_are_to_be() {
    let nodes = || {
        zones()
            .with_running(&web("w4").on("b"))
            .with_running(&web("w5").on("b"))
    };
    let pod = || web("p").node_selector("zone", "a");
    assert_eq!(
        fitting(nodes(), &spread(&pod(), &[hard("zone")])),
        ["a1", "a2", "b"]
    );
    let ignoring = with(hard("zone"), "nodeAffinityPolicy", json!("Ignore"));
    assert_eq!(fitting(nodes(), &spread(&pod(), &[ignoring])), ["a1", "a2"]);
}

#[test]
fn tainted_nodes_are_domains_unless_taints_are_honoured() {
    let nodes = || {
        Cluster::new([
            zone("a", "a"),
            zone("b", "b").taint("k", "", "NoExecute"),
            zone("c", "c").taint("k", "", "PreferNoSchedule"),
        ])
        .with_running(&web("w1").on("a"))
        .with_running(&web("w2").on("c"))
    };
    assert_eq!(fitting(nodes(), &spread(&web("p"), &[hard("zone")])), ["b"]);
    let honouring = with(hard("zone"), "nodeTaintsPolicy", json!("Honor"));
    assert_eq!(
        fitting(nodes(), &spread(&web("p"), &[honouring])),
        ["a", "b", "c"]
    );
}

#[test]
fn pods_of_other_namespaces_and_pods_being_deleted_are_not_counted() {
    let nodes = Cluster::new([zone("a", "a"), zone("b", "b")])
        .with_running(&web("w1").on("a").metadata(json!({"namespace": "other"})))
        .with_running(
            &web("w2")
                .on("a")
                .metadata(json!({"deletionTimestamp": "2024-01-01T00:00:00Z"})),
        );
    assert_eq!(
        fitting(nodes, &spread(&web("p"), &[hard("zone")])),
        ["a", "b"]
    );
}

#[test]
fn an_empty_selector_counts_nobody_but_the_pod_and_an_absent_one_not_even_that() {
    let selector = |selector: Value| {
        let constraint = with(hard("zone"), "labelSelector", selector);
        let at_least = with(constraint, "minDomains", json!(9));
        fitting(zones(), &spread(&web("p"), &[at_least]))
    };
    assert_eq!(selector(json!({})), ["a1", "a2", "b"]);
    assert_eq!(selector(Value::Null), ["a1", "a2", "b"]);
}

#[test]
fn match_label_keys_narrow_to_the_pods_own_revision() {
    let revision = |name: &str, revision: &str| web(name).label("revision", revision);
    let nodes = || {
        Cluster::new([zone("a", "a"), zone("b", "b")])
            .with_running(&revision("w1", "1").on("a"))
            .with_running(&revision("w2", "2").on("b"))
    };
    let constraint = with(
        hard("zone"),
        "matchLabelKeys",
        json!(["revision", "absent"]),
    );
    let pod = |number| spread(&revision("p", number), std::slice::from_ref(&constraint));
    assert_eq!(fitting(nodes(), &pod("1")), ["b"]);
    assert_eq!(fitting(nodes(), &pod("2")), ["a"]);
    assert_eq!(fitting(nodes(), &pod("3")), ["a", "b"]);
}

#[test]
fn a_node_without_one_of_the_keys_is_no_domain_of_the_others() {
    let nodes = Cluster::new([
        zone("a", "a").label("rack", "1"),
        zone("b", "b").label("rack", "2"),
        zone("c", "c"),
    ])
    .with_running(&web("w1").on("a"))
    .with_running(&web("w2").on("b"));
    let pod = spread(&web("p"), &[hard("zone"), hard("rack")]);
    assert_eq!(fitting(nodes, &pod), ["a", "b"]);
}

#[test]
fn removing_a_pod_in_a_hypothesis_makes_room_in_its_domain_only_there() {
    let mut cluster = zones().with_pod(&spread(&web("p"), &[hard("zone")]));
    let plugin = plugin(&mut cluster, json!({}));
    let (mut state, pod) = (CycleState::default(), cluster.view());
    plugin.pre_filter(&mut state, &pod, &cluster.snapshot());
    let node = cluster.snapshot().node("a1").unwrap();
    let victim = node.pods().next().unwrap();
    let mut hypothesis = state.clone();
    plugin.remove_pod(&mut hypothesis, &pod, &victim, &node);
    assert_eq!(text(plugin.filter(&hypothesis, &pod, &node)), "fits");
    assert_eq!(text(plugin.filter(&state, &pod, &node)), REASON);
    plugin.add_pod(&mut hypothesis, &pod, &victim, &node);
    assert_eq!(text(plugin.filter(&hypothesis, &pod, &node)), REASON);
}

#[test]
fn a_selector_that_cannot_be_read_fails_the_attempt_in_upstreams_words() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
    let invalid = |constraint| with(constraint, "labelSelector", selector.clone());
    let mut cluster = zones().with_pod(&spread(&web("p"), &[invalid(hard("zone"))]));
    let spreading = plugin(&mut cluster, json!({}));
    assert_eq!(
        verdicts(&cluster, &spreading),
        [
            "get constraints from pod: obtaining pod's hard topology spread constraints: \
             \"Like\" is not a valid label selector operator"
        ]
    );
    let mut cluster = zones().with_pod(&spread(&web("p"), &[invalid(soft("zone"))]));
    let spreading = plugin(&mut cluster, json!({}));
    assert_eq!(verdicts(&cluster, &spreading), ["Skip"]);
    let nodes: Vec<_> = cluster.snapshot().nodes().collect();
    let verdict = spreading.pre_score(&mut CycleState::default(), &cluster.view(), &nodes);
    let PreScoreVerdict::Failed(error) = verdict else {
        panic!("{verdict:?} must be a failure")
    };
    assert!(error.message.starts_with(
        "calculating preScoreState: obtaining pod's soft topology spread constraints: \"Like\""
    ));
}

/// Raw and normalised scores of every node.
fn scores(cluster: Cluster, pod: &PodBuilder, args: Value) -> (Vec<i64>, Vec<i64>) {
    let mut cluster = cluster.with_pod(pod);
    let plugin = plugin(&mut cluster, args);
    let searched = cluster.scores(&plugin);
    let cluster = cluster.counted(&plugin);
    assert_eq!(searched, cluster.scores(&plugin));
    searched
}

#[test]
fn crowded_domains_score_less_and_nodes_without_the_key_nothing() {
    // ln(2 zones + 2) = 1.386: two pods weigh 2.77, one 1.39.
    let pod = spread(&web("p"), &[soft("zone")]);
    assert_eq!(
        scores(zones(), &pod, json!({})),
        (vec![3, 3, 1, 0], vec![33, 33, 100, 0])
    );
}

#[test]
fn pods_are_counted_on_the_node_itself_when_spread_over_host_names() {
    // ln(4 nodes + 2) = 1.79.
    let pod = spread(&web("p"), &[soft("kubernetes.io/hostname")]);
    assert_eq!(
        scores(zones(), &pod, json!({})),
        (vec![2, 2, 2, 0], vec![0, 0, 0, 100])
    );
}

#[test]
fn a_wider_skew_waters_differences_down() {
    let tolerant = with(soft("zone"), "maxSkew", json!(5));
    let pod = spread(&web("p"), &[tolerant]);
    assert_eq!(
        scores(zones(), &pod, json!({})),
        (vec![7, 7, 5, 0], vec![71, 71, 100, 0])
    );
}

fn service(selector: &Value) -> Value {
    json!({"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": selector}})
}

fn default_scores(cluster: Cluster, pod: &PodBuilder) -> Option<Vec<i64>> {
    let mut cluster = cluster.with_pod(pod);
    let plugin = plugin(&mut cluster, json!({}));
    let cluster = cluster.counted(&plugin);
    let nodes: Vec<_> = cluster.snapshot().nodes().collect();
    let verdict = plugin.pre_score(&mut CycleState::default(), &cluster.view(), &nodes);
    (verdict != PreScoreVerdict::Skip).then(|| cluster.scores(&plugin).0)
}

#[test]
fn pods_of_a_service_are_spread_by_default_and_a_zone_is_not_required() {
    let selecting = service(&json!({"app": "web"}));
    let cluster = || zones().with_listed::<Service>(selecting.clone());
    // By host name ln(6) and 2, by zone (none has one) 4 where the label is: nowhere.
    assert_eq!(default_scores(cluster(), &web("p")), Some(vec![4, 4, 4, 2]));
    assert_eq!(default_scores(cluster(), &make_pod("p")), None);
    assert_eq!(default_scores(zones(), &web("p")), None);
    let nothing = zones().with_listed::<Service>(service(&Value::Null));
    assert_eq!(default_scores(nothing, &web("p")), None);
}

#[test]
fn controllers_select_their_pods_and_others_do_not() {
    let selector = json!({"matchLabels": {"app": "web"}});
    let named = |spec: Value| {
        json!({"metadata": {"name": "c", "namespace": "default"},
        "spec": {"selector": spec}})
    };
    let owned = |version: &str, kind: &str| {
        web("p").metadata(
            json!({"ownerReferences": [{"apiVersion": version, "kind": kind,
            "name": "c", "uid": "u", "controller": true}]}),
        )
    };
    let cluster = || {
        zones()
            .with_listed::<ReplicaSet>(named(selector.clone()))
            .with_listed::<StatefulSet>(named(selector.clone()))
            .with_listed::<ReplicationController>(named(json!({"app": "web"})))
    };
    for (version, kind, is_spread) in [
        ("apps/v1", "ReplicaSet", true),
        ("apps/v1", "StatefulSet", true),
        ("v1", "ReplicationController", true),
        ("v1", "ReplicaSet", false),
        ("batch/v1", "Job", false),
    ] {
        let found = default_scores(cluster(), &owned(version, kind));
        assert_eq!(found.is_some(), is_spread, "{kind}");
    }
    let gone = default_scores(zones(), &owned("apps/v1", "ReplicaSet"));
    assert_eq!(gone, None);
}

#[test]
fn a_controllers_selector_of_unknown_texts_counts_as_it_reads() {
    let selecting = |expression: Value| {
        let set = json!({"metadata": {"name": "c", "namespace": "default"},
            "spec": {"selector": {"matchExpressions": [expression]}}});
        let owner = json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "name": "c", "uid": "u", "controller": true}]});
        let cluster = zones().with_listed::<ReplicaSet>(set);
        default_scores(cluster, &make_pod("p").metadata(owner))
    };
    let not_in = json!({"key": "unknown", "operator": "NotIn", "values": ["x"]});
    assert_eq!(selecting(not_in), Some(vec![4, 4, 4, 2]));
    let within = json!({"key": "unknown", "operator": "In", "values": ["x"]});
    assert_eq!(selecting(within), Some(vec![2, 2, 2, 2]));
}

#[test]
fn constraints_of_the_profile_stand_in_for_those_of_pods_without() {
    let args = json!({"defaultingType": "List", "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]});
    let selecting = service(&json!({"app": "web"}));
    let mut cluster = zones()
        .with_listed::<Service>(selecting)
        .with_pod(&web("p"));
    let spreading = plugin(&mut cluster, args);
    let missing = format!("unresolvable: {REASON_MISSING_LABEL}");
    assert_eq!(
        verdicts(&cluster, &spreading),
        [REASON, REASON, "fits", &missing]
    );
    let mut cluster = cluster.with_pod(&spread(&web("p"), &[soft("zone")]));
    let spreading = plugin(&mut cluster, json!({}));
    assert_eq!(verdicts(&cluster, &spreading), ["Skip"]);
}

#[test]
fn changes_that_cannot_move_a_count_do_not_wake_a_pod() {
    let mut cluster = zones()
        .with_running(&make_pod("other").on("b"))
        .with_running(&web("w9").on("b").metadata(json!({"namespace": "far"})))
        .with_pod(&spread(&web("p"), &[hard("zone")]));
    let plugin = plugin(&mut cluster, json!({}));
    let hint = |resource, action, node: Option<&str>, other: Option<&str>| {
        let cluster_now = cluster.snapshot();
        let all = cluster_now.nodes().flat_map(|node| node.pods());
        let change = Change {
            event: ClusterEventKind::new(resource, action),
            node: node.and_then(|name| cluster_now.node(name)),
            other: other.and_then(|name| all.into_iter().find(|pod| &*pod.info.key.name == name)),
            object: None,
            cluster: cluster_now,
        };
        plugin.queueing_hint(&change, &cluster.view()) == QueueingHint::Queue
    };
    let (pod, node) = (EventResource::AssignedPod, EventResource::Node);
    let b = Some("b");
    assert!(hint(pod, ActionType::ADD, b, Some("w3")));
    assert!(!hint(pod, ActionType::ADD, b, Some("other")));
    assert!(hint(pod, ActionType::UPDATE_POD_LABEL, b, Some("other")));
    assert!(!hint(pod, ActionType::UPDATE_POD_LABEL, b, Some("w9")));
    assert!(hint(pod, ActionType::DELETE, b, None));
    assert!(hint(node, ActionType::ADD, b, None));
    assert!(!hint(node, ActionType::ADD, Some("none"), None));
    assert!(!hint(
        node,
        ActionType::UPDATE_NODE_TAINT,
        Some("none"),
        None
    ));
    assert!(hint(
        node,
        ActionType::UPDATE_NODE_LABEL,
        Some("none"),
        None
    ));
    assert!(hint(node, ActionType::DELETE, None, None));
    let target = EventResource::TargetPod;
    assert!(!hint(target, ActionType::UPDATE_POD_TOLERATION, None, None));
    assert!(hint(target, ActionType::UPDATE_POD_LABEL, None, None));
}

proptest! {
    /// The counters are an optimisation: what is found with them is what a search finds.
    #[test]
    fn counters_and_search_agree(
        pods in proptest::collection::vec((0..4_usize, 0..3_usize, any::<bool>()), 0..12),
        skew in 1..3_i32,
        keys in proptest::sample::subsequence(vec!["zone", "kubernetes.io/hostname"], 1..=2),
    ) {
        let nodes = [zone("n0", "a"), zone("n1", "a"), zone("n2", "b"), make_node("n3")];
        let mut cluster = Cluster::new(nodes);
        for (index, (node, app, is_terminating)) in pods.into_iter().enumerate() {
            let deleted = is_terminating.then_some("2024-01-01T00:00:00Z");
            let pod = make_pod(&format!("w{index}"))
                .label("app", ["web", "db", "web"][app])
                .metadata(json!({"deletionTimestamp": deleted}))
                .on(&format!("n{node}"));
            cluster = cluster.with_running(&pod);
        }
        let constraints: Vec<Value> = keys
            .iter()
            .flat_map(|key| [hard(key), soft(key)])
            .map(|constraint| with(constraint, "maxSkew", json!(skew)))
            .collect();
        let mut cluster = cluster.with_pod(&spread(&web("p"), &constraints));
        let plugin = plugin(&mut cluster, json!({}));
        let searched = (verdicts(&cluster, &plugin), cluster.scores(&plugin));
        let cluster = cluster.counted(&plugin);
        prop_assert_eq!(searched, (verdicts(&cluster, &plugin), cluster.scores(&plugin)));
    }
}
