//! What happens to a cluster: one step of a history, as the users, administrators and machines of a
//! cluster take them.

use bayplan::model::object_key::ObjectKey;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Kind, key_of, text};
use crate::bomb;
use crate::doorkeeper;
use crate::generator::dice::Dice;
use crate::pool::Pool;

/// A kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    CreatePods,
    DeletePod,
    RecreatePod,
    ChangePod,
    EndPod,
    BindByOther,
    CreateNode,
    DeleteNode,
    ChangeNode,
    Other,
    Break,
    Relist,
    LoseLeadership,
    ChangeProfiles,
    Wait,
}

/// How often each is taken.
const WEIGHTS: [(Action, usize); 15] = [
    (Action::CreatePods, 22),
    (Action::DeletePod, 14),
    (Action::RecreatePod, 4),
    (Action::ChangePod, 10),
    (Action::EndPod, 4),
    (Action::BindByOther, 4),
    (Action::CreateNode, 4),
    (Action::DeleteNode, 3),
    (Action::ChangeNode, 16),
    (Action::Other, 12),
    (Action::Break, 2),
    (Action::Relist, 5),
    (Action::LoseLeadership, 1),
    (Action::ChangeProfiles, 1),
    (Action::Wait, 2),
];

/// Draws a kind of step.
pub(crate) fn draw(dice: &mut Dice) -> Action {
    let total: usize = WEIGHTS.iter().map(|(_, weight)| weight).sum();
    let mut left = dice.below(total);
    for (action, weight) in WEIGHTS {
        if left < weight {
            return action;
        }
        left -= weight;
    }
    Action::Wait
}

/// A pod that is not there and could be, by its place in the pool.
fn absent<'a>(objects: &'a [Value], api: &ApiServer, dice: &mut Dice) -> Option<&'a Value> {
    let absent: Vec<&Value> = objects
        .iter()
        .filter(|object| {
            Kind::of(object).is_some_and(|kind| api.get(kind, &key_of(object)).is_none())
        })
        .collect();
    match absent.len() {
        0 => None,
        count => Some(absent[dice.below(count)]),
    }
}

/// The name of an object that is there.
pub(crate) fn present(api: &ApiServer, kind: Kind, dice: &mut Dice) -> Option<ObjectKey> {
    let count = api.count(kind);
    (count > 0).then(|| api.keys(kind).swap_remove(dice.below(count)))
}

/// Creates pods of the pool, most of them without a node.
pub(crate) fn create_pods(pool: &Pool, api: &mut ApiServer, dice: &mut Dice) {
    let count = match dice.below(6) {
        0 => dice.between(3, 8),
        _ => dice.between(1, 2),
    };
    for _ in 0..count {
        if let Some(pod) = absent(&pool.pods, api, dice) {
            let pod = pending(pod.clone(), dice);
            api.create(pod);
        }
    }
}

/// The pod as it is when it is new.
fn pending(mut pod: Value, dice: &mut Dice) -> Value {
    if dice.chance(90) {
        pod["spec"]["nodeName"] = Value::Null;
        pod["status"] = json!({});
    }
    pod["metadata"]["deletionTimestamp"] = Value::Null;
    if dice.chance(1) {
        pod["metadata"]["labels"][bomb::LABEL] = dice.pick(&bomb::POINTS).into();
    }
    if dice.chance(6) {
        set_label(&mut pod, doorkeeper::LABEL, dice.pick(&doorkeeper::VALUES));
    }
    if dice.chance(1) {
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "many".into();
    }
    pod
}

pub(crate) fn delete_pod(api: &mut ApiServer, dice: &mut Dice) {
    let Some(key) = present(api, Kind::Pod, dice) else {
        return;
    };
    let has_node = api
        .get(Kind::Pod, &key)
        .is_some_and(|pod| !text(pod, "/spec/nodeName").is_empty());
    let is_graceful = dice.chance(if has_node { 80 } else { 15 });
    api.delete_pod(&key, is_graceful);
}

/// The pod is deleted, and another one of its name created.
pub(crate) fn recreate_pod(pool: &Pool, api: &mut ApiServer, dice: &mut Dice) {
    let Some(key) = present(api, Kind::Pod, dice) else {
        return;
    };
    api.remove(Kind::Pod, &key);
    if let Some(pod) = pool.pods.iter().find(|pod| key_of(pod) == key) {
        let pod = pending(pod.clone(), dice);
        api.create(pod);
    }
}

pub(crate) fn end_pod(api: &mut ApiServer, dice: &mut Dice) {
    if let Some(key) = present(api, Kind::Pod, dice) {
        let phase = *dice.pick(&[&"Succeeded", &"Failed"]);
        api.update(Kind::Pod, &key, |pod| {
            if !text(pod, "/spec/nodeName").is_empty() {
                pod["status"]["phase"] = phase.into();
            }
        });
    }
}

pub(crate) fn change_pod(api: &mut ApiServer, dice: &mut Dice) {
    let Some(key) = present(api, Kind::Pod, dice) else {
        return;
    };
    let which = dice.below(6);
    let label = *dice.pick(&[&"web", &"db", &"cache", &"none"]);
    let cpu = *dice.pick(&[&"50m", &"200m", &"1", &"3"]);
    let tier = dice.pick(&["front", "back"]);
    api.update(Kind::Pod, &key, |pod| match which {
        0 => set_label(pod, "app", label),
        1 => set_label(pod, "tier", tier),
        2 => push(
            &mut pod["spec"],
            "tolerations",
            json!({"operator": "Exists"}),
        ),
        // Gates go one by one.
        3 => {
            if let Some(gates) = pod["spec"]["schedulingGates"].as_array_mut() {
                gates.pop();
            }
        }
        4 => disarm(pod),
        _ => resize(pod, cpu),
    });
}

fn resize(pod: &mut Value, cpu: &str) {
    let container = &mut pod["spec"]["containers"][0];
    if container["resources"]["requests"]["cpu"].is_string() {
        container["resources"]["requests"]["cpu"] = cpu.into();
    }
}

/// Unless the labels cannot be read.
fn set_label(object: &mut Value, key: &str, value: &str) {
    let labels = &mut object["metadata"]["labels"];
    if !labels.is_array() {
        labels[key] = value.into();
    }
}

fn push(object: &mut Value, field: &str, item: Value) {
    match object[field].as_array_mut() {
        Some(items) => items.push(item),
        None => object[field] = json!([item]),
    }
}

/// Another scheduler, or a person, binds a pod.
pub(crate) fn bind_by_other(api: &mut ApiServer, dice: &mut Dice) {
    let pods = api.list(Kind::Pod);
    let waiting: Vec<ObjectKey> = pods
        .filter(|(_, pod)| text(pod, "/spec/nodeName").is_empty())
        .map(|(key, _)| key.clone())
        .collect();
    let Some(node) = present(api, Kind::Node, dice) else {
        return;
    };
    if !waiting.is_empty() {
        let key = &waiting[dice.below(waiting.len())];
        let uid = api
            .get(Kind::Pod, key)
            .map(|pod| text(pod, "/metadata/uid").to_owned());
        // It is no fault if the server refuses it.
        let _ = api.bind(key, &uid.unwrap_or_default(), &node.name);
    }
}

pub(crate) fn create_node(pool: &Pool, api: &mut ApiServer, dice: &mut Dice) {
    if let Some(node) = absent(&pool.nodes, api, dice) {
        api.create(node.clone());
    }
}

/// A node goes; now and then it comes back at once as another one of its name.
pub(crate) fn delete_node(pool: &Pool, api: &mut ApiServer, dice: &mut Dice) {
    let Some(key) = present(api, Kind::Node, dice) else {
        return;
    };
    api.remove(Kind::Node, &key);
    let node = pool.nodes.iter().find(|node| key_of(node) == key);
    if let Some(node) = node.filter(|_| dice.chance(40)) {
        api.create(node.clone());
    }
}

pub(crate) fn change_node(pool: &Pool, api: &mut ApiServer, dice: &mut Dice) {
    let Some(key) = present(api, Kind::Node, dice) else {
        return;
    };
    let which = dice.below(9);
    let other = pool.nodes[dice.below(pool.nodes.len())].clone();
    let (label, zone) = (dice.pick(&["ssd", "hdd"]), dice.pick(&["z1", "z2", "z3"]));
    let cpu = *dice.pick(&[&"1", &"2", &"4", &"8", &"16"]);
    let effect = dice.pick(&["NoSchedule", "NoExecute", "PreferNoSchedule"]);
    let is_readable = dice.chance(90);
    api.update(Kind::Node, &key, |node| match which {
        0 => {
            node["spec"]["unschedulable"] =
                (!node["spec"]["unschedulable"].as_bool().unwrap_or(false)).into();
        }
        1 => node["spec"]["taints"] = other["spec"]["taints"].clone(),
        2 => {
            let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": effect});
            push(&mut node["spec"], "taints", taint);
        }
        3 => node["spec"]["taints"] = json!([]),
        4 => set_label(node, "disk", label),
        5 => set_label(node, "topology.kubernetes.io/zone", zone),
        6 if is_readable => node["status"]["allocatable"] = other["status"]["allocatable"].clone(),
        6 => node["status"]["allocatable"]["memory"] = "much".into(),
        7 => node["status"]["allocatable"]["cpu"] = cpu.into(),
        _ => {
            for field in ["images", "declaredFeatures"] {
                node["status"][field] = other["status"][field].clone();
            }
        }
    });
}

/// Something of another kind comes, changes or goes.
pub(crate) fn change_other(pool: &Pool, api: &mut ApiServer, dice: &mut Dice) {
    let object = &pool.others[dice.below(pool.others.len())];
    let Some(kind) = Kind::of(object) else {
        return;
    };
    let key = key_of(object);
    if api.get(kind, &key).is_none() {
        return api.create(object.clone());
    }
    if dice.chance(40) {
        return api.remove(kind, &key);
    }
    let like = pool
        .others
        .iter()
        .filter(|other| Kind::of(other) == Some(kind));
    let like: Vec<&Value> = like.collect();
    let other = like[dice.below(like.len())].clone();
    api.update(kind, &key, |object| match kind {
        Kind::Namespace => object["metadata"]["labels"] = other["metadata"]["labels"].clone(),
        Kind::CsiNode | Kind::CsiDriver => object["spec"] = other["spec"].clone(),
        Kind::CsiStorageCapacity => object["capacity"] = other["capacity"].clone(),
        Kind::PersistentVolume if !object["spec"]["claimRef"].is_object() => {
            object["spec"]["nodeAffinity"] = other["spec"]["nodeAffinity"].clone();
            object["metadata"]["labels"] = other["metadata"]["labels"].clone();
            object["status"]["phase"] = "Available".into();
        }
        Kind::StorageClass => object["allowedTopologies"] = other["allowedTopologies"].clone(),
        Kind::Service => object["spec"]["selector"] = other["spec"]["selector"].clone(),
        _ => {}
    });
}

/// An object gets a field that cannot be decoded; tells which, and how it was.
pub(crate) fn break_object(api: &mut ApiServer, dice: &mut Dice) -> Option<(Kind, ObjectKey)> {
    let kind = *dice.pick(&[
        &Kind::Pod,
        &Kind::Pod,
        &Kind::Node,
        &Kind::PersistentVolumeClaim,
    ]);
    let key = present(api, kind, dice)?;
    api.update(kind, &key, |object| {
        object["metadata"]["labels"] = json!(["broken"]);
    });
    Some((kind, key))
}

/// Labels can be read again.
pub(crate) fn mend_object(api: &mut ApiServer, kind: Kind, key: &ObjectKey) {
    api.update(kind, key, |object| {
        if object["metadata"]["labels"].is_array() {
            object["metadata"]["labels"] = json!({"app": "web"});
        }
    });
}

/// Nothing makes the scheduler panic or holds pods any more.
pub(crate) fn defuse(api: &mut ApiServer) {
    for key in api.keys(Kind::Pod) {
        api.update(Kind::Pod, &key, disarm);
    }
}

/// Takes away the labels by which a pod disturbs the scheduler.
fn disarm(pod: &mut Value) {
    if let Some(labels) = pod["metadata"]["labels"].as_object_mut() {
        labels.remove(bomb::LABEL);
        labels.remove(doorkeeper::LABEL);
    }
}
