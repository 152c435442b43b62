//! Host ports.

use serde_json::{Value, json};

use crate::builders::{node, on, pod};
use crate::verdict::decide;

fn container(port: Value) -> Value {
    json!({"name": "main", "image": "registry.example/main:1", "ports": [port]})
}

fn using(port: Value) -> Value {
    json!({"containers": [container(port)]})
}

fn port(number: u16) -> Value {
    json!({"containerPort": number, "hostPort": number})
}

fn started_with(restart_policy: Option<&str>) -> Value {
    let mut init = container(port(8081));
    init["name"] = "init".into();
    if let Some(policy) = restart_policy {
        init["restartPolicy"] = policy.into();
    }
    json!({"initContainers": [init]})
}

// CASES C06; A2.19
#[test]
fn ports_of_sidecars_are_taken_and_those_of_init_containers_are_not() {
    let verdict = decide!([
        node("sidecar", "4"),
        node("init", "4"),
        on(pod("a", started_with(Some("Always"))), "sidecar"),
        on(pod("b", started_with(None)), "init"),
        pod("q", using(port(8081))),
        pod("r", started_with(Some("Always"))),
        pod("s", started_with(None))
    ]);
    assert_eq!(verdict.node("q"), Some("init"));
    assert_eq!(
        verdict.of("q").rejections["sidecar"].reasons,
        ["node(s) didn't have free ports for the requested pod ports"]
    );
    assert!(verdict.is_pending("r"));
    assert!(verdict.node("s").is_some());
}

// CASES A2.20
#[test]
fn a_port_is_taken_on_one_address_or_on_all() {
    let at = |ip: &str| using(json!({"containerPort": 80, "hostPort": 8080, "hostIP": ip}));
    let verdict = decide!([
        node("n1", "4"),
        on(pod("run", at("10.1.1.1")), "n1"),
        pod("same", at("10.1.1.1")),
        pod("every", at("0.0.0.0")),
        pod("unnamed", using(port(8080))),
        pod("other", at("10.1.1.2")),
        pod("v6", at("::"))
    ]);
    assert!(verdict.is_pending("same"));
    assert!(verdict.is_pending("every"));
    assert!(verdict.is_pending("unnamed"));
    assert_eq!(verdict.node("other"), Some("n1"));
    assert_eq!(verdict.node("v6"), Some("n1"));
}

// CASES A2.21
#[test]
fn one_number_may_be_used_by_every_protocol() {
    let with = |protocol: &str| {
        using(json!({"containerPort": 80, "hostPort": 8080, "protocol": protocol}))
    };
    let verdict = decide!([
        node("n1", "4"),
        on(pod("run", with("TCP")), "n1"),
        pod("udp", with("UDP")),
        pod("sctp", with("SCTP")),
        pod("tcp", with("TCP")),
        pod("again", with("UDP"))
    ]);
    assert_eq!(verdict.node("udp"), Some("n1"));
    assert_eq!(verdict.node("sctp"), Some("n1"));
    assert!(verdict.is_pending("tcp"));
    assert!(verdict.is_pending("again"));
}

// CASES C06 (note), A2.23
#[test]
fn a_pod_in_the_network_of_the_host_takes_the_ports_that_it_declares() {
    let hosted = |declared: bool| {
        let mut spec = using(json!({"containerPort": 9100}));
        spec["hostNetwork"] = true.into();
        if !declared {
            spec["containers"][0]["ports"] = json!([]);
        }
        spec
    };
    let verdict = decide!([
        node("n1", "4"),
        on(pod("run", hosted(true)), "n1"),
        pod("same", hosted(true)),
        pod("silent", hosted(false))
    ]);
    assert!(verdict.is_pending("same"));
    assert_eq!(verdict.node("silent"), Some("n1"));
}
