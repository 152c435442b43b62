//! What pods ask for: sidecars, init containers, overhead, nothing, resizes.

use serde_json::{Value, json};

use crate::builders::{container, node, on, pod, requesting, sidecar};
use crate::verdict::decide;

fn cpu(amount: &str) -> Value {
    json!({"cpu": amount})
}

// CASES C01; A1.1, A1.2
#[test]
fn sidecars_run_beside_the_containers_and_count_with_them() {
    let verdict = decide!([
        node("n1", "2"),
        pod(
            "q",
            json!({"initContainers": [sidecar("s", cpu("1"))],
            "containers": [container("main", cpu("1500m"))]})
        ),
        pod(
            "fits",
            json!({"initContainers": [sidecar("s", cpu("1"))],
            "containers": [container("main", cpu("1"))]})
        ),
    ]);
    assert!(verdict.is_pending("q"));
    assert!(verdict.of("q").message.contains("1 Insufficient cpu"));
    assert_eq!(verdict.node("fits"), Some("n1"));
}

// CASES C02; A1.2, A1.3
#[test]
fn an_init_container_needs_room_beside_the_sidecars_before_it_only() {
    let init = || container("i", cpu("2"));
    let containers = || json!([container("main", cpu("1"))]);
    let before = pod(
        "before",
        json!({"initContainers": [sidecar("s", cpu("1")), init()],
        "containers": containers()}),
    );
    let after = pod(
        "after",
        json!({"initContainers": [init(), sidecar("s", cpu("1"))],
        "containers": containers()}),
    );
    let verdict = decide!([node("n1", "2"), before, after]);
    assert!(verdict.is_pending("before"));
    assert_eq!(verdict.node("after"), Some("n1"));
}

// CASES C05; A1.9, A1.10
#[test]
fn a_zero_request_fits_on_an_overcommitted_node() {
    let verdict = decide!([
        node("n1", "4"),
        on(pod("run", requesting(cpu("5"))), "n1"),
        pod("nothing", json!({})),
        pod(
            "zeros",
            requesting(json!({"nvidia.com/gpu": "0", "cpu": "0"}))
        ),
        pod("some", requesting(cpu("10m"))),
    ]);
    assert_eq!(verdict.node("nothing"), Some("n1"));
    assert_eq!(verdict.node("zeros"), Some("n1"));
    assert!(verdict.is_pending("some"));
}

// CASES C05
#[test]
fn the_count_of_pods_limits_also_those_that_ask_for_nothing() {
    let mut objects = vec![node("n1", "4"), node("full", "4")];
    for index in 0..110 {
        objects.push(on(pod(&format!("run-{index}"), json!({})), "full"));
    }
    objects.push(pod(
        "q",
        json!({"nodeSelector": {"kubernetes.io/hostname": "full"}}),
    ));
    let verdict = decide!(objects);
    assert!(verdict.is_pending("q"));
    assert!(verdict.of("q").message.contains("1 Too many pods"));
}

// CASES A1.4
#[test]
fn init_containers_count_in_scores_too() {
    let verdict = decide!([
        node("n1", "8"),
        node("n2", "8"),
        on(
            pod("run", json!({"initContainers": [container("i", cpu("6"))]})),
            "n1"
        ),
        pod("q", requesting(cpu("1"))),
    ]);
    assert_eq!(verdict.node("q"), Some("n2"));
}

// CASES A1.5
#[test]
fn a_finished_init_container_still_holds_its_room() {
    let spec = || {
        json!({"initContainers": [container("i", cpu("3"))],
        "containers": [container("main", cpu("30m"))]})
    };
    let verdict = decide!([
        node("n1", "4"),
        on(pod("a", spec()), "n1"),
        pod("b", spec())
    ]);
    assert!(verdict.is_pending("b"));
}

// CASES A1.6
#[test]
fn devices_of_a_sidecar_are_not_those_of_the_container() {
    let mut nodes = [node("eight", "8"), node("sixteen", "8")];
    nodes[0]["status"]["allocatable"]["example.com/npu"] = "8".into();
    nodes[1]["status"]["allocatable"]["example.com/npu"] = "16".into();
    let npus = || json!({"example.com/npu": "8"});
    let [eight, sixteen] = nodes;
    let verdict = decide!([
        eight,
        sixteen,
        pod(
            "q",
            json!({
        "initContainers": [sidecar("s", npus())], "containers": [container("main", npus())]})
        )
    ]);
    assert_eq!(verdict.feasible("q"), ["sixteen"]);
    assert_eq!(
        verdict.of("q").rejections["eight"].reasons,
        ["Insufficient example.com/npu"]
    );
}

// CASES A1.16
#[test]
fn a_resource_that_only_an_init_container_asks_for_counts() {
    let verdict = decide!([
        node("n1", "8"),
        pod(
            "q",
            json!({
        "initContainers": [container("i", json!({"hugepages-2Mi": "4Mi", "memory": "4Mi"}))]})
        )
    ]);
    assert!(
        verdict
            .of("q")
            .message
            .contains("Insufficient hugepages-2Mi")
    );
}

// CASES A1.11
#[test]
fn ephemeral_storage_that_no_node_reports_is_insufficient() {
    let verdict = decide!([
        node("n1", "8"),
        pod("q", requesting(json!({"ephemeral-storage": "1Gi"})))
    ]);
    assert!(
        verdict
            .of("q")
            .message
            .contains("1 Insufficient ephemeral-storage")
    );
}

// CASES A1.2
#[test]
fn overhead_comes_on_top_of_the_larger_of_start_and_run() {
    let spec = |overhead: &str| {
        json!({"overhead": {"cpu": overhead},
        "initContainers": [container("i", cpu("2"))],
        "containers": [container("main", cpu("1"))]})
    };
    let verdict = decide!([
        node("n1", "2500m"),
        pod("large", spec("600m")),
        pod("small", spec("500m"))
    ]);
    assert!(verdict.is_pending("large"));
    assert_eq!(verdict.node("small"), Some("n1"));
}

/// A running pod whose request is being changed.
fn resized(spec: &str, allocated: &str, actual: &str) -> Value {
    let mut run = on(pod("run", requesting(cpu(spec))), "n1");
    run["status"]["containerStatuses"] = json!([{"name": "main",
        "allocatedResources": cpu(allocated), "resources": {"requests": cpu(actual)}}]);
    run
}

// CASES A1.7, E
#[test]
fn a_lowered_request_is_held_until_it_is_carried_out() {
    let verdict = decide!([
        node("n1", "4"),
        resized("1", "3", "3"),
        pod("two", requesting(cpu("2"))),
        pod("one", requesting(cpu("1")))
    ]);
    assert!(verdict.is_pending("two"));
    assert_eq!(verdict.node("one"), Some("n1"));
}

// CASES A1.8
#[test]
fn a_raised_request_holds_the_room_that_it_waits_for() {
    let mut run = resized("5", "1", "1");
    run["status"]["conditions"] =
        json!([{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]);
    let verdict = decide!([node("n1", "4"), run, pod("q", requesting(cpu("1")))]);
    assert!(verdict.is_pending("q"));
}

// CASES A1.7
#[test]
fn a_resize_that_cannot_be_done_holds_what_was_allocated() {
    let mut run = resized("5", "1", "1");
    run["status"]["conditions"] =
        json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
    let verdict = decide!([node("n1", "4"), run, pod("q", requesting(cpu("3")))]);
    assert_eq!(verdict.node("q"), Some("n1"));
}

// CASES A1.17
#[test]
fn scores_count_containers_without_requests_with_defaults_and_zeros_as_zeros() {
    let verdict = decide!([
        node("defaults", "1"),
        node("zeros", "1"),
        on(pod("a", json!({})), "defaults"),
        on(
            pod("b", requesting(json!({"cpu": "0", "memory": "0"}))),
            "zeros"
        ),
        pod("q", requesting(cpu("100m"))),
    ]);
    let score = |node| verdict.raw_score("q", node, "NodeResourcesFit");
    assert!(score("defaults") < score("zeros"));
    assert_eq!(verdict.node("q"), Some("zeros"));
}

// CASES A1.18
#[test]
fn a_node_that_overflows_by_defaults_gets_no_full_score_for_balance() {
    let mut objects = vec![node("crowded", "15600m"), node("empty", "15600m")];
    for index in 0..60 {
        let spec = requesting(json!({"memory": "1Gi"}));
        objects.push(on(pod(&format!("run-{index}"), spec), "crowded"));
    }
    objects.push(pod("q", requesting(json!({"cpu": "1", "memory": "1Gi"}))));
    let verdict = decide!(objects);
    assert_eq!(verdict.node("q"), Some("empty"));
    assert!(verdict.raw_score("q", "crowded", "NodeResourcesBalancedAllocation") < 100);
}

// CASES A1.1, A1.4: the kind, with requests of the whole pod
#[test]
fn requests_of_the_whole_pod_stand_for_those_of_its_containers() {
    let spec = |whole: &str| {
        json!({"resources": {"requests": cpu(whole)},
        "initContainers": [sidecar("s", cpu("1"))],
        "containers": [container("main", cpu("1"))]})
    };
    let verdict = decide!([
        node("n1", "3"),
        pod("four", spec("4")),
        pod("three", spec("3"))
    ]);
    assert!(verdict.is_pending("four"));
    assert_eq!(verdict.node("three"), Some("n1"));
}
