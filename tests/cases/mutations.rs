//! Objects with random damage, straight into the engine: nothing panics, nothing stays behind, and
//! other pods get what they would have got.

use std::sync::Arc;

use bayplan::apis::effective_profile::EffectiveProfile;
use bayplan::engine::cache::listers::{Listed, ObjectEvent};
use bayplan::engine::decision::{Decision, Outcome};
use bayplan::engine::effect::{EffectAction, EffectOutcome};
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::{Engine, EngineConfig};
use bayplan::model::objects::{
    CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    PodDisruptionBudget, ReplicaSet, Service, StorageClass,
};
use bayplan::model::timestamp::Timestamp;
use bayplan::plugins::registry::Registry;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::builders::{labeled, node, object, on, pod, requesting, with_labels};
use crate::volumes::{bound, using};

const ZONE: &str = "topology.kubernetes.io/zone";

/// The name and UID of what is damaged, which stay as they are.
const DAMAGED: &str = "damaged";

/// A change of one place of an object.
#[derive(Clone, Debug)]
enum Damage {
    Replace(Index, Value),
    Remove(Index),
    Repeat(Index),
}

fn nasty_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!([null])),
        Just(json!("")),
        Just(json!("garbage ✓\u{0}")),
        Just(json!("a/b/c")),
        Just(json!("v".repeat(300))),
        Just(json!("-1")),
        Just(json!("1e400")),
        Just(json!("9223372036854775808")),
        Just(json!("Exists")),
        Just(json!("In")),
        Just(json!("Gt")),
        Just(json!(ZONE)),
        Just(json!("n1")),
        Just(json!("2024-13-01T00:00:00Z")),
        Just(json!("2024-01-01T00:00:00Z")),
        Just(json!(true)),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(i32::MAX)),
        Just(json!(i32::MIN)),
        Just(json!(i64::MAX)),
        Just(json!(i64::MIN)),
        Just(json!(1.5)),
        any::<String>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
    ]
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let damage = prop_oneof![
        4 => (any::<Index>(), nasty_value()).prop_map(|(place, value)| Damage::Replace(place, value)),
        1 => any::<Index>().prop_map(Damage::Remove),
        1 => any::<Index>().prop_map(Damage::Repeat),
    ];
    prop::collection::vec(damage, 1..4)
}

/// The paths of all places in `value`.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        let path = format!("{path}/{key}");
        found.push(path.clone());
        places(value, &path, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                below(&index.to_string(), value);
            }
        }
        _ => {}
    }
}

/// The path of what holds a place, and the place in that.
fn parent_and_key(path: &str) -> (&str, String) {
    let (parent, key) = path.rsplit_once('/').unwrap();
    (parent, key.replace("~1", "/").replace("~0", "~"))
}

fn damaged(mut object: Value, damages: &[Damage]) -> Value {
    for damage in damages {
        let mut paths = Vec::new();
        places(&object, "", &mut paths);
        let (Damage::Replace(place, _) | Damage::Remove(place) | Damage::Repeat(place)) = damage;
        if paths.is_empty() {
            break;
        }
        let path = place.get(&paths);
        let (parent, key) = parent_and_key(path);
        match (damage, object.pointer_mut(parent).unwrap()) {
            (Damage::Replace(_, value), parent) => match parent {
                Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
                other => other[&*key] = value.clone(),
            },
            (Damage::Remove(_), Value::Object(fields)) => {
                fields.remove(&key);
            }
            (Damage::Repeat(_), Value::Array(items)) => {
                let item = items[key.parse::<usize>().unwrap()].clone();
                items.push(item);
            }
            _ => {}
        }
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    for field in ["name", "uid"] {
        object["metadata"][field] = DAMAGED.into();
    }
    object["metadata"]["namespace"] = "default".into();
    object
}

/// A pod that uses about everything.
fn rich_pod() -> Value {
    let selector = || {
        json!({"matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["y", "z"]}]})
    };
    let term = || {
        json!({"topologyKey": ZONE, "labelSelector": selector(),
        "namespaceSelector": selector(), "namespaces": ["default"], "matchLabelKeys": ["app"]})
    };
    let terms = || {
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [term()],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term()}]})
    };
    let node_term = || {
        json!({
        "matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}]})
    };
    let container = |name: &str| {
        json!({"name": name, "image": "registry.example/main:1",
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "1Gi", "example.com/x": "0"},
            "limits": {"cpu": "1"}}})
    };
    let mut sidecar = container("sidecar");
    sidecar["restartPolicy"] = "Always".into();
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"labels": {"app": "x", "tier": "w"}, "annotations": {"a": "b"},
            "creationTimestamp": "2024-01-01T00:00:00Z", "resourceVersion": "7",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs",
                "uid": "rs", "controller": true}]},
        "spec": {"priority": 0, "overhead": {"cpu": "10m"}, "nodeSelector": {ZONE: "a"},
            "initContainers": [sidecar, container("init")], "containers": [container("main")],
            "resources": {"requests": {"cpu": "500m"}}, "preemptionPolicy": "Never",
            "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule",
                "tolerationSeconds": 5}, {"operator": "Exists"}],
            "affinity": {"podAffinity": terms(), "podAntiAffinity": terms(), "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_term()]},
                "preferredDuringSchedulingIgnoredDuringExecution":
                    [{"weight": 3, "preference": node_term()}]}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "minDomains": 1,
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector(),
                "matchLabelKeys": ["app"], "nodeTaintsPolicy": "Honor"}],
            "volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "d", "csi": {"driver": "d.example"}}]},
        "status": {"phase": "Pending", "nominatedNodeName": "n1",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"},
                "resources": {"requests": {"cpu": "2"}}}]}})
}

fn rich_node() -> Value {
    let mut node = labeled(node(DAMAGED, "4"), ZONE, "a");
    node["spec"] = json!({"unschedulable": false,
        "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]});
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
    node["status"]["images"] = json!([{"names": ["registry.example/main:1"], "sizeBytes": 5}]);
    node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    node["status"]["declaredFeatures"] = json!(["F"]);
    node
}

/// Objects that are looked up, each of which may be the damaged one.
fn listed_objects() -> Vec<Value> {
    let [claim, volume] = bound(DAMAGED, "ReadWriteOnce");
    let selector =
        || json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]});
    vec![
        claim,
        volume,
        object("v1", "Namespace", DAMAGED, json!({})),
        object(
            "v1",
            "Service",
            DAMAGED,
            json!({"spec": {"selector": {"app": "x"}}}),
        ),
        object(
            "apps/v1",
            "ReplicaSet",
            DAMAGED,
            json!({"spec": {"selector": selector()}}),
        ),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            DAMAGED,
            json!({
            "spec": {"selector": selector()}, "status": {"disruptionsAllowed": 1}}),
        ),
        object(
            "storage.k8s.io/v1",
            "StorageClass",
            DAMAGED,
            json!({"provisioner": "d.example",
            "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies":
                [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]}),
        ),
        object(
            "storage.k8s.io/v1",
            "CSINode",
            DAMAGED,
            json!({"spec": {"drivers": [
            {"name": "d.example", "nodeID": "x", "allocatable": {"count": 1}}]}}),
        ),
        object(
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            DAMAGED,
            json!({
            "storageClassName": DAMAGED, "capacity": "1Gi", "nodeTopology": selector()}),
        ),
    ]
}

fn decoded<T: DeserializeOwned>(value: &Value) -> Option<Arc<T>> {
    serde_json::from_value(value.clone()).ok().map(Arc::new)
}

/// The coming and the going of an object, as the watches tell it; nothing if it cannot be decoded.
fn listed<K: Listed + DeserializeOwned>(value: &Value) -> Option<[ClusterEvent; 2]> {
    let object = decoded::<K>(value)?;
    Some([
        ClusterEvent::Listed(K::event(ObjectEvent::Applied(Arc::clone(&object)))),
        ClusterEvent::Listed(K::event(ObjectEvent::Deleted(object))),
    ])
}

fn coming_and_going(kind: &str, value: &Value) -> Option<[ClusterEvent; 2]> {
    match kind {
        "Node" => decoded::<Node>(value).map(|node| {
            [
                ClusterEvent::NodeApplied(Arc::clone(&node)),
                ClusterEvent::NodeDeleted(node),
            ]
        }),
        "Pod" => decoded::<Pod>(value).map(|pod| {
            [
                ClusterEvent::PodApplied(Arc::clone(&pod)),
                ClusterEvent::PodDeleted(pod),
            ]
        }),
        "PersistentVolumeClaim" => listed::<PersistentVolumeClaim>(value),
        "PersistentVolume" => listed::<PersistentVolume>(value),
        "Namespace" => listed::<Namespace>(value),
        "Service" => listed::<Service>(value),
        "ReplicaSet" => listed::<ReplicaSet>(value),
        "PodDisruptionBudget" => listed::<PodDisruptionBudget>(value),
        "StorageClass" => listed::<StorageClass>(value),
        "CSINode" => listed::<CsiNode>(value),
        "CSIStorageCapacity" => listed::<CsiStorageCapacity>(value),
        other => panic!("{other} is not damaged here"),
    }
}

/// An engine with three nodes and some pods.
fn engine() -> Engine {
    let mut engine = Engine::new(EngineConfig::default());
    engine.tick(Timestamp::from_seconds(1_704_067_200));
    let spec = serde_json::from_value(json!({"schedulerName": "default-scheduler"})).unwrap();
    let profile = EffectiveProfile::try_new(&spec, &Registry).unwrap();
    let profile = Registry.build(&profile, 1, engine.symbols_mut()).unwrap();
    engine.handle(ClusterEvent::ProfilesChanged(vec![profile]));
    for (name, zone) in [("n1", "a"), ("n2", "b"), ("n3", "c")] {
        apply(&mut engine, "Node", &labeled(node(name, "4"), ZONE, zone));
    }
    let [mut claim, volume] = bound("c", "ReadWriteOnce");
    claim["metadata"]["namespace"] = "default".into();
    apply(&mut engine, "PersistentVolumeClaim", &claim);
    apply(&mut engine, "PersistentVolume", &volume);
    for (name, node) in [("r1", "n1"), ("r2", "n2")] {
        let running = with_labels(on(pod(name, using(&["c"])), node), &[("app", "x")]);
        apply(&mut engine, "Pod", &identified(running, name));
    }
    engine
}

fn identified(mut pod: Value, name: &str) -> Value {
    pod["metadata"]["uid"] = name.into();
    pod["metadata"]["namespace"] = "default".into();
    pod
}

fn apply(engine: &mut Engine, kind: &str, value: &Value) {
    let [coming, _] = coming_and_going(kind, value).expect("the object must decode");
    engine.handle(coming);
}

/// Pods of a higher priority than the damaged one.
fn add_others(engine: &mut Engine) {
    let mut spread = requesting(json!({"cpu": "1"}));
    spread["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "x"}}}]);
    let apart = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}]}}});
    let specs = [
        requesting(json!({"cpu": "3"})),
        spread,
        apart,
        using(&["c"]),
        requesting(json!({"cpu": "100"})),
    ];
    for (index, mut spec) in specs.into_iter().enumerate() {
        spec["priority"] = 1_000.into();
        let name = format!("other-{index}");
        let other = with_labels(pod(&name, spec), &[("app", "x")]);
        apply(engine, "Pod", &identified(other, &name));
    }
}

/// Tries every pod once, all effects succeeding, and tells what came out for the others.
fn decide_all(engine: &mut Engine) -> Vec<(String, Outcome)> {
    let mut outcomes = Vec::new();
    for _ in 0..32 {
        let Some(Decision { pod, outcome, .. }) = engine.schedule_one() else {
            break;
        };
        let effects: Vec<_> = engine.drain_effects().collect();
        for effect in effects {
            if !matches!(effect.action, EffectAction::RecordEvent(_)) {
                let outcome = EffectOutcome::Done {
                    resource_version: None,
                };
                engine.handle(ClusterEvent::EffectCompleted {
                    id: effect.id,
                    outcome,
                });
            }
        }
        outcomes.push((pod.to_string(), outcome));
    }
    outcomes.retain(|(pod, _)| !pod.ends_with(DAMAGED));
    outcomes
}

/// Other pods get what they get without the damaged one.
fn leaves_the_others_alone(damaged: Value) -> Result<(), TestCaseError> {
    let value = waiting_behind_all(damaged);
    let (mut with, mut without) = (engine(), engine());
    if let Some([coming, _]) = coming_and_going("Pod", &value) {
        with.handle(coming);
    }
    add_others(&mut with);
    add_others(&mut without);
    prop_assert_eq!(decide_all(&mut with), decide_all(&mut without), "{}", value);
    Ok(())
}

#[test]
fn a_pod_without_any_one_of_its_fields_leaves_the_others_their_nodes() {
    let pod = rich_pod();
    let mut paths = Vec::new();
    places(&pod, "", &mut paths);
    for path in paths {
        let mut pod = pod.clone();
        let (parent, key) = parent_and_key(&path);
        if let Value::Object(fields) = pod.pointer_mut(parent).unwrap() {
            fields.remove(&key);
            leaves_the_others_alone(damaged(pod, &[])).unwrap();
        }
    }
}

/// Whatever it says, it is a pending pod of the lowest priority.
fn waiting_behind_all(mut pod: Value) -> Value {
    if !pod["spec"].is_object() {
        pod["spec"] = json!({});
    }
    pod["spec"]["priority"] = i32::MIN.into();
    pod["spec"]["nodeName"] = Value::Null;
    pod
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    // CASES C31; A16.174
    #[test]
    fn a_damaged_pod_leaves_the_others_their_nodes(damages in damages()) {
        leaves_the_others_alone(damaged(rich_pod(), &damages))?;
    }

    #[test]
    fn a_damaged_running_pod_is_gone_without_a_trace(damages in damages(), node in "n[1-4]") {
        let mut value = waiting_behind_all(damaged(rich_pod(), &damages));
        value["spec"]["nodeName"] = node.into();
        leaves_nothing("Pod", &value)?;
    }

    #[test]
    fn a_damaged_node_is_gone_without_a_trace(damages in damages()) {
        leaves_nothing("Node", &damaged(rich_node(), &damages))?;
    }

    #[test]
    fn a_damaged_object_that_is_looked_up_is_gone_without_a_trace(
        damages in damages(), which in any::<Index>()
    ) {
        let objects = listed_objects();
        let object = which.get(&objects);
        let kind = object["kind"].as_str().unwrap().to_owned();
        leaves_nothing(&kind, &damaged(object.clone(), &damages))?;
    }
}

/// The object comes, pods are tried beside it, and when it and they are gone, decisions are what
/// they would have been.
fn leaves_nothing(kind: &str, value: &Value) -> Result<(), TestCaseError> {
    let (mut with, mut without) = (engine(), engine());
    if let Some([coming, going]) = coming_and_going(kind, value) {
        with.handle(coming);
        let mut beside = pod("beside", using(&[DAMAGED]));
        beside["spec"]["affinity"] = rich_pod()["spec"]["affinity"].take();
        let beside = identified(beside, "beside");
        let [beside_coming, beside_going] = coming_and_going("Pod", &beside).unwrap();
        with.handle(beside_coming);
        decide_all(&mut with);
        with.handle(beside_going);
        with.handle(going);
        with.drain_effects().for_each(drop);
    }
    add_others(&mut with);
    add_others(&mut without);
    prop_assert_eq!(decide_all(&mut with), decide_all(&mut without), "{}", value);
    Ok(())
}
