//! Objects of small clusters.

use serde_json::{Value, json};

/// A node with this much CPU, ample memory, room for 110 pods and its hostname.
pub(crate) fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}}})
}

/// `node` with one more label.
pub(crate) fn labeled(mut node: Value, key: &str, value: &str) -> Value {
    node["metadata"]["labels"][key] = value.into();
    node
}

/// A pod with the fields of `spec`, to be placed. It has one container that asks for nothing unless
/// `spec` has containers.
pub(crate) fn pod(name: &str, spec: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}});
    merge(&mut pod["spec"], spec);
    pod
}

/// `pod` with labels.
pub(crate) fn with_labels(mut pod: Value, labels: &[(&str, &str)]) -> Value {
    for (key, value) in labels {
        pod["metadata"]["labels"][*key] = (*value).into();
    }
    pod
}

/// `pod` running on a node.
pub(crate) fn on(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = node.into();
    pod["status"]["phase"] = "Running".into();
    pod
}

/// Containers of which the first asks for these resources.
pub(crate) fn requesting(requests: Value) -> Value {
    json!({"containers": [container("main", requests)]})
}

/// A container with requests.
pub(crate) fn container(name: &str, requests: Value) -> Value {
    json!({"name": name, "image": "registry.example/main:1", "resources": {"requests": requests}})
}

/// A container that is started before the others and runs beside them.
pub(crate) fn sidecar(name: &str, requests: Value) -> Value {
    let mut sidecar = container(name, requests);
    sidecar["restartPolicy"] = "Always".into();
    sidecar
}

/// An object of another kind.
pub(crate) fn object(api_version: &str, kind: &str, name: &str, fields: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    merge(&mut object, fields);
    object
}

fn merge(object: &mut Value, fields: Value) {
    let (Value::Object(object), Value::Object(fields)) = (object, fields) else {
        unreachable!("only objects are merged");
    };
    object.extend(fields);
}
