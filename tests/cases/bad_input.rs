//! Objects that the API server would refuse, and references to nothing: the one pod gets upstream's
//! message, and the others their places.
//!
//! Where upstream's records are compared, its API validation was left out.

use serde_json::{Value, json};

use crate::builders::{labeled, node, object, on, pod, requesting, with_labels};
use crate::verdict::{Verdict, decide, simulated};
use crate::volumes::{bound, using};

const ZONE: &str = "topology.kubernetes.io/zone";

/// Two nodes, the objects, and a pod beside them.
fn beside(objects: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut cluster = vec![
        labeled(node("n1", "4"), ZONE, "a"),
        labeled(node("n2", "4"), ZONE, "b"),
    ];
    cluster.extend(objects);
    cluster.push(with_labels(pod("ok", json!({})), &[("app", "x")]));
    cluster
}

fn message_of<'a>(verdict: &'a Verdict, pod: &str) -> &'a str {
    assert!(
        verdict.node("ok").is_some(),
        "the pod beside must be placed"
    );
    &verdict.of(pod).message
}

fn expression(key: &str, operator: &str, values: Value) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

/// Selectors with everything that can be wrong with one.
fn wrong_selectors() -> Vec<(&'static str, Value)> {
    let long = "v".repeat(64);
    vec![
        ("operator", expression("a", "Like", json!(["1"]))),
        (
            "no-operator",
            json!({"matchExpressions": [{"key": "a", "operator": ""}]}),
        ),
        ("in-null", expression("a", "In", Value::Null)),
        ("in-empty", expression("a", "In", json!([]))),
        ("not-in", expression("a", "NotIn", json!([]))),
        ("exists", expression("a", "Exists", json!(["1", "<&>"]))),
        ("absent", expression("a", "DoesNotExist", json!(["b c"]))),
        ("key", expression("a b", "Exists", json!([]))),
        ("empty-key", expression("", "Exists", json!([]))),
        ("empty-prefix", expression("/a", "Exists", json!([]))),
        ("empty-name", expression("a.b/", "Exists", json!([]))),
        ("prefix", expression("Ex_/a", "Exists", json!([]))),
        ("slashes", expression("a/b/c", "Exists", json!([]))),
        ("long-key", expression(&"-".repeat(64), "Exists", json!([]))),
        (
            "long-prefix",
            expression(&format!("{}/a", "p".repeat(254)), "Exists", json!([])),
        ),
        (
            "values",
            expression("a", "In", json!(["fine", "b c", "-", "b c"])),
        ),
        ("long-value", expression("a", "In", json!([long]))),
        ("key-and-value", expression("a b", "NotIn", json!(["b c"]))),
        ("labels", json!({"matchLabels": {"a b": "ü"}})),
        (
            "unicode",
            expression("ключ", "In", json!(["значение \"'\\"])),
        ),
    ]
}

// CASES C31; A16.174, B12
#[test]
fn a_pod_with_a_wrong_affinity_selector_waits_alone() {
    let near = |selector: &Value| {
        json!({"affinity": {"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": ZONE, "labelSelector": selector}]}}})
    };
    let pods = wrong_selectors();
    let pods = pods
        .iter()
        .map(|(name, selector)| pod(name, near(selector)));
    let verdict = decide!(beside(pods));
    for (name, _) in wrong_selectors() {
        let message = message_of(&verdict, name);
        assert!(
            message.contains("parsing pod: requiredAffinityTerms: "),
            "{message}"
        );
    }
}

// CASES C31
#[test]
fn every_list_of_affinity_terms_is_judged_and_each_names_itself() {
    let wrong = |selector: Value| json!({"topologyKey": ZONE, "labelSelector": selector});
    let operator = || wrong(expression("a", "Like", json!(["1"])));
    let both = || {
        json!({
        "requiredDuringSchedulingIgnoredDuringExecution": [operator()],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1,
            "podAffinityTerm": wrong(expression("a b", "Exists", json!([])))}]})
    };
    let mut namespaces = wrong(json!({}));
    namespaces["namespaceSelector"] = expression("a", "In", json!([]));
    let affinity = |kind: &str, lists: Value| json!({"affinity": {kind: lists}});
    let verdict = decide!(beside([
        pod(
            "all",
            json!({"affinity": {"podAffinity": both(), "podAntiAffinity": both()}})
        ),
        pod("anti", affinity("podAntiAffinity", both())),
        pod(
            "namespaces",
            affinity(
                "podAffinity",
                json!({"requiredDuringSchedulingIgnoredDuringExecution": [namespaces]})
            )
        )
    ]));
    let message = message_of(&verdict, "all");
    for list in [
        "requiredAffinity",
        "requiredAntiAffinity",
        "preferredAffinity",
        "preferredAntiAffinity",
    ] {
        assert!(message.contains(&format!("{list}Terms: ")), "{message}");
    }
}

// CASES C31
#[test]
fn a_running_pod_keeps_the_affinity_that_can_be_read() {
    let selector = json!({"matchLabels": {"app": "x"}});
    let repelling = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": ZONE, "labelSelector": selector}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm":
            {"topologyKey": ZONE, "labelSelector": expression("a", "Like", json!([]))}}]}}});
    let verdict = decide!(beside([on(pod("run", repelling), "n1")]));
    assert_eq!(verdict.feasible("ok"), ["n2"]);
}

// CASES C31
#[test]
fn a_pod_with_a_wrong_spread_selector_fails_alone() {
    let spread = |selector: &Value, when: &str| {
        json!({"topologySpreadConstraints": [{"maxSkew": 1,
        "topologyKey": ZONE, "whenUnsatisfiable": when, "labelSelector": selector}]})
    };
    let mut pods = Vec::new();
    for (name, selector) in wrong_selectors() {
        pods.push(pod(
            &format!("hard-{name}"),
            spread(&selector, "DoNotSchedule"),
        ));
        pods.push(pod(
            &format!("soft-{name}"),
            spread(&selector, "ScheduleAnyway"),
        ));
    }
    let verdict = decide!(beside(pods));
    assert!(message_of(&verdict, "hard-operator").contains("hard topology spread constraints"));
    assert!(message_of(&verdict, "soft-operator").contains("soft topology spread constraints"));
}

#[test]
fn absurd_spread_constraints_are_taken_as_they_are() {
    let spread = |fields: Value| {
        let mut constraint = json!({"maxSkew": 1, "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "x"}}});
        for (key, value) in fields.as_object().unwrap() {
            constraint[key] = value.clone();
        }
        json!({"topologySpreadConstraints": [constraint]})
    };
    let app = |name: &str, fields| with_labels(pod(name, spread(fields)), &[("app", "y")]);
    decide!(beside([
        app("zero", json!({"maxSkew": 0})),
        app(
            "soft-zero",
            json!({"maxSkew": 0, "whenUnsatisfiable": "ScheduleAnyway"})
        ),
        app(
            "soft-negative",
            json!({"maxSkew": -5, "whenUnsatisfiable": "ScheduleAnyway"})
        ),
        app("negative", json!({"maxSkew": -5})),
        app("most", json!({"maxSkew": i32::MAX})),
        app("domains", json!({"minDomains": -5})),
        app("many", json!({"minDomains": i32::MAX})),
        app("no-key", json!({"topologyKey": ""})),
        app(
            "policies",
            json!({"nodeAffinityPolicy": "Sometimes", "nodeTaintsPolicy": "Never"})
        ),
    ]));
}

// CASES C31: node affinity
#[test]
fn wrong_node_affinity_matches_nothing_and_fails_where_it_only_prefers() {
    let expression = |key: &str, operator: &str, values: Value| expression(key, operator, values);
    let fields = |key: &str, operator: &str, values: Value| json!({"matchFields": [{"key": key, "operator": operator, "values": values}]});
    let terms = [
        ("operator", expression(ZONE, "Like", json!(["a"]))),
        ("in", expression(ZONE, "In", json!([]))),
        ("exists", expression(ZONE, "Exists", json!(["a"]))),
        ("gt", expression(ZONE, "Gt", json!(["x"]))),
        ("gt-two", expression(ZONE, "Gt", json!(["1", "2"]))),
        ("gt-none", expression(ZONE, "Lt", Value::Null)),
        ("gt-plus", expression(ZONE, "Gt", json!(["+1"]))),
        ("key", expression("a b", "Exists", json!([]))),
        ("value", expression(ZONE, "NotIn", json!(["b c"]))),
        ("field", fields("metadata.uid", "In", json!(["n1"]))),
        ("field-not", fields("metadata.uid", "NotIn", json!(["n1"]))),
        ("field-empty", fields("metadata.uid", "In", json!([""]))),
        (
            "field-operator",
            fields("metadata.name", "Exists", json!([])),
        ),
        (
            "field-two",
            fields("metadata.name", "In", json!(["n1", "n2"])),
        ),
        ("field-none", fields("metadata.name", "NotIn", json!([]))),
        (
            "several",
            json!({"matchExpressions": [{"key": "a b", "operator": "Like"},
            {"key": "", "operator": "In"}], "matchFields": [{"key": "x", "operator": "Gt"}]}),
        ),
        ("empty", json!({})),
    ];
    let mut pods = Vec::new();
    for (name, term) in &terms {
        pods.push(pod(
            &format!("must-{name}"),
            json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}}),
        ));
        pods.push(pod(
            &format!("may-{name}"),
            json!({"affinity": {"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 1, "preference": {}}, {"weight": 2, "preference": term}]}}}),
        ));
    }
    let verdict = decide!(beside(pods));
    assert_eq!(
        message_of(&verdict, "may-in"),
        "running PreScore plugin \"NodeAffinity\": [1].matchExpressions[0].values: Invalid value: \
         []: for 'in', 'notin' operators, values set can't be empty"
    );
    assert!(verdict.is_pending("must-in"));
}

// CASES C11: topology keys
#[test]
fn topology_keys_that_are_empty_or_absent_make_no_domain() {
    let with = |kind: &str, key: &str| {
        json!({"affinity": {kind: {
        "requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}]}}})
    };
    let verdict = decide!(beside([
        pod("near-empty", with("podAffinity", "")),
        pod("near-absent", with("podAffinity", "rack")),
        pod("apart-empty", with("podAntiAffinity", "")),
        pod("apart-absent", with("podAntiAffinity", "rack")),
    ]));
    assert!(verdict.is_pending("near-empty") && verdict.is_pending("near-absent"));
    assert!(verdict.node("apart-empty").is_some() && verdict.node("apart-absent").is_some());
    assert!(verdict.node("ok").is_some());
}

// CASES E: references to nothing
#[test]
fn a_claim_that_leads_nowhere_keeps_its_pod_only() {
    let claim = |name: &str, fields: Value| {
        let mut claim = object(
            "v1",
            "PersistentVolumeClaim",
            name,
            json!({
            "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}),
        );
        for (key, value) in fields.as_object().unwrap() {
            claim["spec"][key] = value.clone();
        }
        claim
    };
    let [lost, _] = bound("lost", "ReadWriteOnce");
    let mut lost_for_good = lost.clone();
    lost_for_good["metadata"]["name"] = "lost-for-good".into();
    lost_for_good["status"]["phase"] = "Lost".into();
    let [stolen, mut thief] = bound("stolen", "ReadWriteOnce");
    thief["spec"]["claimRef"] = json!({"namespace": "default", "name": "other", "uid": "u"});
    let [reborn, mut older] = bound("reborn", "ReadWriteOnce");
    older["spec"]["claimRef"]["uid"] = "before".into();
    let [mut halfway, half] = bound("halfway", "ReadWriteOnce");
    halfway["metadata"]["annotations"] = json!({});
    let mut going = claim("going", json!({}));
    going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
    going["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let mut objects = vec![
        lost,
        lost_for_good,
        stolen,
        thief,
        reborn,
        older,
        halfway,
        half,
        going,
        claim("classless", json!({})),
        claim("unclassed", json!({"storageClassName": ""})),
        claim("class-gone", json!({"storageClassName": "gone"})),
        pod(
            "ephemeral",
            json!({"volumes": [{"name": "v",
            "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}),
        ),
        claim("foreign-v", json!({})),
        pod(
            "foreign",
            json!({"volumes": [{"name": "v",
            "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}),
        ),
    ];
    for claim in [
        "missing",
        "lost",
        "lost-for-good",
        "stolen",
        "reborn",
        "halfway",
        "going",
        "classless",
        "unclassed",
        "class-gone",
        "",
    ] {
        objects.push(pod(&format!("uses-{claim}x"), using(&[claim])));
    }
    let verdict = decide!(beside(objects));
    assert!(
        message_of(&verdict, "uses-missingx")
            .contains("persistentvolumeclaim \"missing\" not found")
    );
    assert!(message_of(&verdict, "uses-lostx").contains("persistentvolume \"pv-lost\" not found"));
}

#[test]
fn a_volume_with_a_wrong_affinity_goes_nowhere() {
    let mut objects = Vec::new();
    for (name, term) in [
        ("wrong", expression(ZONE, "Like", json!(["a"]))),
        ("empty", json!({})),
    ] {
        let [claim, mut volume] = bound(name, "ReadWriteOnce");
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [term]}});
        objects.extend([claim, volume, pod(&format!("uses-{name}"), using(&[name]))]);
    }
    let verdict = decide!(beside(objects));
    assert!(verdict.is_pending("uses-wrong") && verdict.is_pending("uses-empty"));
    assert!(verdict.node("ok").is_some());
}

#[test]
fn owners_that_are_not_there_are_no_obstacle() {
    let owned = |name: &str, api_version: &str, kind: &str| {
        let mut pod = pod(name, json!({}));
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind,
            "name": "gone", "uid": "gone", "controller": true}]);
        pod
    };
    let verdict = decide!(beside([
        owned("replica", "apps/v1", "ReplicaSet"),
        owned("nonsense", "a/b/c/d", ""),
        owned("self", "v1", "Pod")
    ]));
    for pod in ["replica", "nonsense", "self", "ok"] {
        assert!(verdict.node(pod).is_some(), "{pod}");
    }
}

#[test]
fn nodes_without_status_take_nothing_and_nodes_of_less_than_nothing_neither() {
    let bare = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}});
    let null = json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "null", "labels": null}, "spec": null, "status": null});
    let mut negative = node("negative", "-4");
    negative["status"]["allocatable"]["pods"] = "-5".into();
    let verdict = decide!(beside([
        bare,
        null,
        negative,
        pod("q", requesting(json!({"cpu": "1"})))
    ]));
    assert_eq!(verdict.feasible("q"), ["n1", "n2"]);
}

#[test]
fn pods_of_extremes_are_decided_like_others() {
    let tolerations: Vec<Value> = (0..10_000)
        .map(|index| json!({"key": format!("k{index}"), "operator": "Exists"}))
        .collect();
    let weights = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
        [{"weight": i32::MAX, "preference": expression(ZONE, "In", json!(["b"]))}]},
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": i32::MIN,
            "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": {}}}]}});
    let verdict = decide!(beside([
        pod("without-containers", json!({"containers": []})),
        pod("null-containers", json!({"containers": null})),
        pod("first", json!({"priority": i32::MAX})),
        pod("last", json!({"priority": i32::MIN})),
        pod("tolerant", json!({"tolerations": tolerations})),
        pod("weighty", json!({"affinity": weights})),
        pod("pöd-✓", json!({})),
        pod(
            "ports",
            json!({"containers": [{"name": "c", "ports": [{"hostPort": -1},
            {"hostPort": 70_000}, {"hostPort": 0}]}]})
        ),
        pod(
            "operators",
            json!({"tolerations": [{"key": "k", "operator": "Like"}]})
        ),
        on(pod("nowhere", requesting(json!({"cpu": "1"}))), "gone"),
    ]));
    assert_eq!(verdict.node("last"), verdict.node("last"));
    assert!(verdict.node("pöd-✓").is_some());
    assert!(verdict.node("ok").is_some());
}

#[test]
fn null_is_what_is_absent() {
    let mut nulls = pod(
        "nulls",
        json!({"affinity": null, "tolerations": null,
        "nodeSelector": null, "topologySpreadConstraints": null, "volumes": null,
        "initContainers": null, "overhead": null, "schedulingGates": null, "priority": null,
        "containers": [{"name": "c", "image": null, "resources": null, "ports": null}]}),
    );
    for field in ["labels", "annotations", "ownerReferences"] {
        nulls["metadata"][field] = Value::Null;
    }
    nulls["status"] = Value::Null;
    let deeper = pod(
        "deeper",
        json!({"containers": [{"name": "c",
            "resources": {"requests": null, "limits": null}}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": null},
            "podAffinity": null,
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": null}}}),
    );
    let verdict = decide!(beside([nulls, deeper]));
    assert!(verdict.node("nulls").is_some());
    assert!(verdict.node("deeper").is_some());
}

#[test]
fn quantities_in_every_notation_are_read() {
    let mut objects = Vec::new();
    for (index, amount) in [
        "1e3", "1e-3", "0.1n", "5.", "+1", ".5", " 1", "100u", "1E3", "-0",
    ]
    .iter()
    .enumerate()
    {
        objects.push(pod(
            &format!("q{index}"),
            requesting(json!({"cpu": amount})),
        ));
    }
    objects.push(pod("device", requesting(json!({"example.com/x": "-1"}))));
    decide!(beside(objects));
}

#[test]
fn names_that_are_no_resources_are_not_asked_of_nodes() {
    let names = [
        "a/b/c",
        "/x",
        "x/",
        "a b/c",
        "requests.example.com/x",
        "cores",
    ];
    let asking =
        |(index, name): (usize, &&str)| pod(&format!("q{index}"), requesting(json!({*name: "1"})));
    let verdict = decide!(beside(names.iter().enumerate().map(asking)));
    assert!(
        names
            .iter()
            .enumerate()
            .all(|(index, _)| verdict.node(&format!("q{index}")).is_some())
    );
}

// Upstream counts neither as hard nor as soft what is none of the two.
#[test]
fn a_spread_constraint_of_an_unknown_kind_is_nobodys() {
    let spread = |when: &str, key: &str| {
        json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key,
            "whenUnsatisfiable": when, "labelSelector": {"matchLabels": {"app": "x"}}}]})
    };
    let verdict = decide!(beside([
        with_labels(on(pod("run", json!({})), "n1"), &[("app", "x")]),
        with_labels(pod("unknown", spread("Sometimes", ZONE)), &[("app", "x")]),
        with_labels(pod("empty", spread("", ZONE)), &[("app", "x")]),
        with_labels(
            pod("keyless", spread("Sometimes", "nowhere")),
            &[("app", "x")]
        ),
    ]));
    for name in ["unknown", "empty", "keyless"] {
        assert_eq!(verdict.feasible(name), ["n1", "n2"]);
    }
}

#[test]
fn a_waiting_pod_with_the_status_of_a_running_one_is_judged_by_its_spec() {
    let mut pod = pod("q", requesting(json!({"cpu": "5"})));
    pod["status"]["conditions"] =
        json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
    let verdict = decide!(beside([pod]));
    assert!(verdict.is_pending("q"));
}

#[test]
fn a_pod_that_asks_for_less_than_nothing_fails_with_upstreams_message() {
    let verdict = decide!(beside([pod("q", requesting(json!({"cpu": "-1"})))]));
    assert_eq!(
        message_of(&verdict, "q"),
        "applying score defaultWeights on Score plugins: plugin \"NodeResourcesFit\" returns an \
         invalid score 112, it should in the range of [0, 100] after normalizing"
    );
}

// Upstream fails every attempt here; see docs/compatibility.md.
#[test]
fn a_running_pod_that_asks_for_less_than_nothing_takes_nothing() {
    let running = on(
        pod("run", requesting(json!({"cpu": "-3", "memory": "-1Gi"}))),
        "n1",
    );
    let asking = || pod("q", requesting(json!({"cpu": "1"})));
    let with = simulated(&beside([running, asking()])).unwrap();
    let without = simulated(&beside([on(pod("run", json!({})), "n1"), asking()])).unwrap();
    assert!(with.node("q").is_some() && with.node("ok").is_some());
    assert_eq!(with.feasible("q"), without.feasible("q"));
    let full = beside([
        on(pod("run", requesting(json!({"cpu": "-3"}))), "n1"),
        on(pod("full", requesting(json!({"cpu": "4"}))), "n1"),
        asking(),
    ]);
    assert_eq!(simulated(&full).unwrap().feasible("q"), ["n2"]);
}

// Upstream's arithmetic overflows here, and such pods fit anywhere; see docs/compatibility.md.
#[test]
fn more_than_there_can_be_fits_nowhere() {
    let amounts = [
        ("cpu", "1E"),
        ("cpu", "1e400"),
        ("memory", "1e30"),
        ("memory", "99999999999Ei"),
    ];
    for (resource, amount) in amounts {
        let cluster = beside([pod("q", requesting(json!({resource: amount})))]);
        let verdict = simulated(&cluster).unwrap();
        assert!(verdict.is_pending("q"), "{amount}");
        assert!(verdict.node("ok").is_some());
    }
}

#[test]
fn a_quantity_that_is_none_is_refused_with_its_place() {
    for amount in ["garbage", "", "1Ki3", "１", "1..2", "--1", "0x10"] {
        let cluster = beside([pod("q", requesting(json!({"cpu": amount})))]);
        let error = simulated(&cluster).unwrap_err();
        assert!(error.contains("cluster.yaml, document 3"), "{error}");
        assert!(error.contains("quantit"), "{error}");
    }
}

#[test]
fn a_field_of_another_type_is_refused_by_name() {
    let error = simulated(&beside([pod("q", json!({"priority": 1_i64 << 40}))])).unwrap_err();
    assert!(error.contains("spec.priority"), "{error}");
    assert!(error.contains("cluster.yaml, document 3"), "{error}");
}
