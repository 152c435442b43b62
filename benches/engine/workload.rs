//! Workloads from `benches/workloads`: pods of one kind, the shapes of `scheduler_perf`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bayplan::engine::cache::listers::{Listed, ObjectEvent};
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{Pod, Service};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::{node_name, uid};
use crate::profiled::decode;

/// Classes that `$CLASS` takes in turn.
const CLASSES: usize = 100;

/// Pods of one kind.
pub(crate) struct Workload {
    /// The name of the file.
    pub(crate) name: String,
    file: File,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// What is there beside nodes and pods.
    #[serde(default)]
    objects: Vec<Value>,
    /// What the pods have beside name and requests. `$POD` is their name, `$NODE` that of one node
    /// after the other, `$CLASS` one number of a hundred after the other.
    pod: Value,
}

impl Workload {
    /// All workloads, by name.
    pub(crate) fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/workloads");
        let files = fs::read_dir(&folder).expect("benches/workloads must be there");
        let mut paths: Vec<_> = files
            .map(|file| file.expect("it must be readable").path())
            .collect();
        paths.sort();
        let workloads = paths.iter().map(|path| {
            let text = fs::read_to_string(path).expect("a workload must be readable");
            let file = serde_yaml::from_str(&text);
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let file = file.expect("a workload must be a list of objects and a pod");
            Self { name, file }
        });
        workloads.collect()
    }

    /// What comes before the pods.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ClusterEvent> + '_ {
        let services = self.services();
        services.map(|service| ClusterEvent::Listed(Service::event(ObjectEvent::Applied(service))))
    }

    /// The end of what comes before the pods.
    pub(crate) fn objects_gone(&self) -> impl Iterator<Item = ClusterEvent> + '_ {
        let services = self.services();
        services.map(|service| ClusterEvent::Listed(Service::event(ObjectEvent::Deleted(service))))
    }

    fn services(&self) -> impl Iterator<Item = Arc<Service>> + '_ {
        let objects = self.file.objects.iter();
        objects.map(|object| match object["kind"].as_str() {
            Some("Service") => Arc::new(decode(object.clone())),
            _ => unreachable!("workload {}: only services are known", self.name),
        })
    }

    /// The pod of this number, which asks for an amount of memory of its own: no other pod is of
    /// its class.
    pub(crate) fn pod_of_its_own_class(&self, number: usize, nodes: usize) -> Arc<Pod> {
        let mut pod = Arc::unwrap_or_clone(self.pod(number, nodes));
        let requests = &mut pod.spec.containers[0].resources.requests;
        requests.insert("memory".to_owned(), format!("{}Ki", 400_000 + number));
        Arc::new(pod)
    }

    /// The pod of this number in a cluster of `nodes` nodes.
    pub(crate) fn pod(&self, number: usize, nodes: usize) -> Arc<Pod> {
        let name = format!("pod-{number}");
        let text = self.file.pod.to_string();
        let text = text
            .replace("$POD", &name)
            .replace("$NODE", &node_name(number % nodes))
            .replace("$CLASS", &(number % CLASSES).to_string());
        let mut pod: Value = serde_json::from_str(&text).expect("it must stay JSON");
        pod["metadata"]["name"] = name.as_str().into();
        pod["metadata"]["uid"] = uid(3, number).into();
        pod["metadata"]["namespace"] = "default".into();
        pod["spec"]["schedulerName"] = "bayplan".into();
        if !pod["spec"]["containers"].is_array() {
            pod["spec"]["containers"] = json!([{"name": "c"}]);
        }
        pod["spec"]["containers"][0]["resources"] =
            json!({"requests": {"cpu": "100m", "memory": "500Mi"}});
        Arc::new(decode(pod))
    }
}
