//! Services and controllers, from which spread constraints follow that no pod names.

use serde_json::{Value, json};

use crate::generator::families::Family;
use crate::generator::{NAMESPACES, Plan};

/// The controllers of each namespace: kind, version, name.
const CONTROLLERS: [(&str, &str, &str); 3] = [
    ("ReplicationController", "v1", "rc-db"),
    ("ReplicaSet", "apps/v1", "rs-web"),
    ("StatefulSet", "apps/v1", "ss-cache"),
];

pub(super) fn owners(plan: &Plan) -> Vec<Value> {
    if !plan.families.has(Family::Owners) {
        return Vec::new();
    }
    NAMESPACES[..3]
        .iter()
        .flat_map(|space| in_namespace(space))
        .collect()
}

fn in_namespace(namespace: &str) -> Vec<Value> {
    let template = |app: &str| {
        json!({"metadata": {"labels": {"app": app}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]}})
    };
    let metadata = |name: &str| json!({"name": name, "namespace": namespace, "uid": name});
    vec![
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("svc-front"),
            "spec": {"selector": {"tier": "front"}, "ports": [{"port": 80}]}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("svc-none"),
            "spec": {"ports": [{"port": 80}]}}),
        json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata("rc-db"),
            "spec": {"selector": {"app": "db"}, "template": template("db")}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata("rs-web"),
            "spec": {"selector": {"matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "version", "operator": "Exists"}]},
                "template": template("web")}}),
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata("ss-cache"),
            "spec": {"selector": {"matchLabels": {"app": "cache"}}, "serviceName": "svc-none",
                "template": template("cache")}}),
    ]
}

/// An owner for a pod: a controller that is there, one that is not, or none of these kinds.
pub(super) fn owner(plan: &mut Plan) -> Value {
    let (kind, version, name) = match plan.dice.below(8) {
        0 => ("ReplicaSet", "apps/v1", "rs-gone"),
        1 => ("Job", "batch/v1", "job"),
        _ => CONTROLLERS[plan.dice.below(CONTROLLERS.len())],
    };
    json!({"apiVersion": version, "kind": kind, "name": name, "uid": name, "controller": true})
}
