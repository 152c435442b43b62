//! What is written into objects, and what is left alone.

#![expect(
    clippy::needless_pass_by_value,
    reason = "json!(…) reads better without a &"
)]

use super::*;
use crate::sim::document::{NamedDocument, Object, objects};

fn read(value: Value) -> Object {
    let document = NamedDocument {
        file: "c.yaml".into(),
        index: 1,
        value,
    };
    objects(vec![document]).unwrap().remove(0)
}

fn try_complete(value: Value, classes: &[Value]) -> Result<Value, Unfit> {
    let mut object = read(value);
    let mut known = PriorityClasses::default();
    for class in classes {
        known.add(class)?;
    }
    complete(object.kind, &mut object.value, 90, &known)?;
    Ok(object.value)
}

fn completed_pod(spec: Value) -> Value {
    try_complete(pod(spec), &[]).unwrap()
}

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

fn class(name: &str, value: i64, is_default: bool) -> Value {
    json!({"metadata": {"name": name}, "value": value, "globalDefault": is_default,
        "preemptionPolicy": "Never"})
}

#[test]
fn identity_and_time_are_given_and_kept() {
    let pod = completed_pod(json!({}));
    assert_eq!(
        pod["metadata"],
        json!({"name": "p", "namespace": "default", "uid": "default/p",
            "creationTimestamp": "2024-01-01T00:01:30Z"})
    );
    assert_eq!(pod["spec"]["schedulerName"], "default-scheduler");
    let given = json!({"apiVersion": "v1", "kind": "Node", "metadata":
        {"name": "n", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"}});
    let node = try_complete(given.clone(), &[]).unwrap();
    assert_eq!(node["metadata"], given["metadata"]);
}

#[test]
fn only_bound_pods_run() {
    let bound = completed_pod(json!({"nodeName": "n"}));
    let running = json!({"phase": "Running", "startTime": "2024-01-01T00:01:30Z"});
    assert_eq!(bound["status"], running);
    let pending = completed_pod(json!({"nodeName": ""}));
    assert_eq!(pending["status"], json!({"phase": "Pending"}));
}

#[test]
fn requests_come_from_limits_and_numbers_become_texts() {
    let resources = json!({"limits": {"cpu": 2, "memory": "1Gi"}, "requests": {"cpu": 0.5}});
    let pod = completed_pod(json!({"initContainers": [{"resources": resources}]}));
    assert_eq!(
        pod["spec"]["initContainers"][0]["resources"]["requests"],
        json!({"cpu": "0.5", "memory": "1Gi"})
    );
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"capacity": {"cpu": 4}}});
    let node = try_complete(node, &[]).unwrap();
    assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
}

#[test]
fn requests_of_the_whole_pod_are_those_of_its_containers_or_else_the_limits() {
    let pod = completed_pod(json!({
        "containers": [{"resources": {"requests": {"cpu": "250m"}}},
            {"resources": {"requests": {"cpu": "1"}}}],
        "resources": {"limits": {"cpu": "4", "memory": "2Gi"}}}));
    assert_eq!(
        pod["spec"]["resources"]["requests"],
        json!({"cpu": "1250m", "memory": "2Gi"})
    );
    let pod = completed_pod(json!({
        "containers": [{"resources": {"requests": {"memory": "64Mi"},
            "limits": {"hugepages-2Mi": "4Mi"}}}],
        "resources": {"requests": {"cpu": "2"}}}));
    assert_eq!(
        pod["spec"]["resources"]["requests"],
        json!({"cpu": "2", "memory": "67108864", "hugepages-2Mi": "4194304"})
    );
}

#[test]
fn ports_of_the_hosts_network_are_ports_of_the_node() {
    let ports = json!([{"containerPort": 80}, {"containerPort": 53, "hostPort": 5353,
        "protocol": "UDP"}]);
    let containers = json!([{"ports": ports}]);
    let ports_of = |on_host: bool| {
        let pod = completed_pod(json!({"hostNetwork": on_host, "containers": containers}));
        pod["spec"]["containers"][0]["ports"].clone()
    };
    let udp = json!({"containerPort": 53, "hostPort": 5353, "protocol": "UDP"});
    assert_eq!(
        ports_of(true),
        json!([{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}, udp])
    );
    assert_eq!(
        ports_of(false),
        json!([{"containerPort": 80, "protocol": "TCP"}, udp])
    );
}

#[test]
fn priorities_come_from_classes() {
    let resolve = |spec: Value, classes: &[Value]| {
        let pod = try_complete(pod(spec), classes).map_err(|unfit| unfit.problem)?;
        let spec = &pod["spec"];
        Ok((
            spec["priority"].as_i64().unwrap(),
            spec["preemptionPolicy"].as_str().unwrap().to_owned(),
        ))
    };
    let lower = "PreemptLowerPriority".to_owned();
    let never = "Never".to_owned();
    let classes = [
        class("high", 9, false),
        class("b", 5, true),
        class("a", 3, true),
    ];
    assert_eq!(resolve(json!({}), &[]), Ok((0, lower.clone())));
    assert_eq!(resolve(json!({}), &classes), Ok((3, never.clone())));
    let high = json!({"priorityClassName": "high"});
    assert_eq!(resolve(high.clone(), &classes), Ok((9, never)));
    let critical = json!({"priorityClassName": "system-node-critical"});
    assert_eq!(
        resolve(critical, &classes),
        Ok((2_000_001_000, lower.clone()))
    );
    let printed = json!({"priorityClassName": "high", "priority": 7});
    assert_eq!(resolve(printed, &[]), Ok((7, lower)));
    let missing: Result<(i64, String), String> = resolve(high, &[]);
    assert_eq!(
        missing.unwrap_err(),
        "no PriorityClass \"high\" for the pod \"default/p\""
    );
}

#[test]
fn label_keys_are_merged_once() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "labels": {"app": "web", "hash": "x"}},
        "spec": {
            "topologySpreadConstraints": [
                {"matchLabelKeys": ["hash", "absent"], "labelSelector": {}},
                {"matchLabelKeys": ["hash"]}],
            "affinity": {"podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm":
                    {"mismatchLabelKeys": ["hash"], "labelSelector": {"matchExpressions": null}}}]}}}});
    let once = try_complete(pod, &[]).unwrap();
    let constraints = &once["spec"]["topologySpreadConstraints"];
    assert_eq!(
        constraints[0]["labelSelector"],
        json!({"matchExpressions": [{"key": "hash", "operator": "In", "values": ["x"]}]})
    );
    assert_eq!(constraints[1].get("labelSelector"), None);
    let terms = "/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    assert_eq!(
        once.pointer(terms).unwrap()[0]["podAffinityTerm"]["labelSelector"],
        json!({"matchExpressions": [{"key": "hash", "operator": "NotIn", "values": ["x"]}]})
    );
    assert_eq!(try_complete(once.clone(), &[]).unwrap(), once);
}

#[test]
fn objects_of_a_wrong_shape_are_left_to_the_decoder() {
    for spec in [json!("text"), json!([1]), json!({"containers": {"a": 1}})] {
        let _ = try_complete(pod(spec), &[]);
    }
    for field in [
        "containers",
        "topologySpreadConstraints",
        "affinity",
        "resources",
    ] {
        for value in [json!("x"), json!(["x"]), json!({"limits": "x"})] {
            completed_pod(json!({field: value}));
        }
    }
    completed_pod(json!({"containers": [{"ports": ["x"], "resources": {"limits": {"cpu": {}}}}]}));
}

#[test]
fn storage_is_completed_as_the_api_server_does() {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "c"}});
    let class = try_complete(class, &[]).unwrap();
    assert_eq!(class["volumeBindingMode"], "Immediate");
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": 5}}}});
    let claim = try_complete(claim, &[]).unwrap();
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "5");
}
