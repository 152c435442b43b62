//! Workloads from `benches/workloads`: pods of one kind, the shapes of `scheduler_perf`.

use std::sync::Arc;

use bayplan::engine::cache::listers::{Listed, ObjectEvent};
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{Pod, Service};

use crate::cluster::{node_name, uid};
use crate::profiled::decode;
use crate::workload_file::{self, WorkloadFile};

/// Pods of one kind.
pub(crate) struct Workload {
    /// The name of the file.
    pub(crate) name: String,
    file: WorkloadFile,
}

impl Workload {
    /// All workloads that need nothing but nodes, pods and services, by name.
    pub(crate) fn all() -> Vec<Self> {
        let files = WorkloadFile::all().into_iter();
        files
            .filter(|(_, file)| {
                file.crowd.is_none() && file.with_each_pod.is_empty() && file.churn.is_empty()
            })
            .map(|(name, file)| Self { name, file })
            .collect()
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
        let (name, node) = (format!("pod-{number}"), node_name(number % nodes));
        let mut pod = workload_file::pod(&self.file.pod, &name, number, &node, "default");
        pod["metadata"]["uid"] = uid(3, number).into();
        pod["spec"]["schedulerName"] = "bayplan".into();
        Arc::new(decode(pod))
    }
}
