//! The format of the files in `benches/workloads`, which all benches read.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

/// Classes that `$CLASS` takes in turn.
const CLASSES: usize = 100;

/// Pods of one kind, and what is around them. In all of it `$POD` is the name of a pod, `$NODE` that
/// of one node after the other, `$CLASS` one number of a hundred after the other, `$NAMESPACE` where
/// the pods are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[allow(dead_code, reason = "the engine alone needs less")]
pub(crate) struct WorkloadFile {
    /// What is there beside nodes and pods.
    #[serde(default)]
    pub(crate) objects: Vec<Value>,
    /// What the pods have beside name and requests.
    pub(crate) pod: Value,
    /// Pods that fit for each node, where the workload itself limits them.
    #[serde(default)]
    pub(crate) most_per_node: Option<usize>,
    /// Other pods, which are there before.
    #[serde(default)]
    pub(crate) crowd: Option<Crowd>,
    /// What is made for each pod, before it.
    #[serde(default)]
    pub(crate) with_each_pod: Vec<Value>,
    /// Whether kube-controller-manager must run, for budgets and volumes.
    #[serde(default)]
    pub(crate) controllers: bool,
    /// What comes and goes meanwhile.
    #[serde(default)]
    pub(crate) churn: Vec<Value>,
}

/// Pods that are there before those that are measured.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[allow(dead_code, reason = "the engine alone needs less")]
pub(crate) struct Crowd {
    /// How many for each node.
    pub(crate) per_node: usize,
    /// What they have beside their name.
    pub(crate) pod: Value,
}

impl WorkloadFile {
    /// All workloads with their names, in the order of the names.
    pub(crate) fn all() -> Vec<(String, Self)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/workloads");
        let files = fs::read_dir(&folder).expect("benches/workloads must be there");
        let mut paths: Vec<_> = files
            .map(|file| file.expect("it must be readable").path())
            .collect();
        paths.sort();
        let workloads = paths.iter().map(|path| {
            let text = fs::read_to_string(path).expect("a workload must be readable");
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let file = serde_yaml::from_str(&text);
            (
                name.into_owned(),
                file.expect("a workload must have its format"),
            )
        });
        workloads.collect()
    }
}

/// Fills in the placeholders for the pod called `name`, which is number `number`.
pub(crate) fn filled_in(
    template: &Value,
    name: &str,
    number: usize,
    node: &str,
    namespace: &str,
) -> Value {
    let text = template.to_string();
    let text = text
        .replace("$POD", name)
        .replace("$NODE", node)
        .replace("$NAMESPACE", namespace)
        .replace("$CLASS", &(number % CLASSES).to_string());
    serde_json::from_str(&text).expect("it must stay JSON")
}

/// A whole pod from the template of a workload: 100m and 500Mi if it does not say otherwise.
pub(crate) fn pod(
    template: &Value,
    name: &str,
    number: usize,
    node: &str,
    namespace: &str,
) -> Value {
    let mut pod = filled_in(template, name, number, node, namespace);
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = namespace.into();
    if !pod["spec"]["containers"].is_array() {
        pod["spec"]["containers"] = json!([{"name": "c"}]);
    }
    let container = &mut pod["spec"]["containers"][0];
    if container["resources"].is_null() {
        container["resources"] = json!({"requests": {"cpu": "100m", "memory": "500Mi"}});
    }
    pod
}

/// What an API server wants of such a pod as well: its scheduler, and images.
#[allow(dead_code, reason = "the engine alone needs less")]
pub(crate) fn as_posted(mut pod: Value, scheduler: &str) -> Vec<u8> {
    pod["spec"]["schedulerName"] = scheduler.into();
    let containers = pod["spec"]["containers"].as_array_mut();
    for container in containers.into_iter().flatten() {
        container["image"] = "c".into();
    }
    pod.to_string().into_bytes()
}
