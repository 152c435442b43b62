//! The workloads of `benches/workloads`, made on the API server.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use kube::core::{DynamicObject, TypeMeta};
use kube::discovery::{Scope, pinned_kind};
use kube::{Client, Resource};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::arena::{Arena, WORKERS, node_name, pods_path};
use crate::harness::objects;
use crate::requests;
use crate::workload_file::{self, WorkloadFile};

/// What comes and goes does so this often.
const CHURN: Duration = Duration::from_millis(250);

/// Where there is room for few pods, so many of ten places are for the backlog; the others are for
/// pods that arrive afterwards.
const BACKLOG_TENTHS: usize = 6;

/// Pods of one kind.
#[derive(Clone)]
pub(crate) struct Workload {
    /// The name of the file.
    pub(crate) name: String,
    file: Arc<WorkloadFile>,
}

impl Workload {
    /// All workloads, by name.
    pub(crate) fn all() -> Vec<Self> {
        let files = WorkloadFile::all().into_iter();
        let workload = |(name, file)| Self {
            name,
            file: Arc::new(file),
        };
        files.map(workload).collect()
    }

    /// How many pods there are places for.
    fn room(&self, nodes: usize) -> Option<usize> {
        self.file.most_per_node.map(|most| most * nodes)
    }

    /// Pods of the backlog if `wanted` are.
    pub(crate) fn backlog(&self, wanted: usize, nodes: usize) -> usize {
        let room = self.room(nodes);
        room.map_or(wanted, |room| wanted.min(room * BACKLOG_TENTHS / 10))
    }

    /// Pods that can arrive after a backlog, if `wanted` are to.
    pub(crate) fn arrivals(&self, wanted: usize, backlog: usize, nodes: usize) -> usize {
        let room = self.room(nodes);
        room.map_or(wanted, |room| wanted.min(room.saturating_sub(backlog)))
    }

    /// Makes what is around the pods.
    pub(crate) async fn prepare(
        &self,
        arena: &mut Arena,
        namespace: &str,
        scheduler: &'static str,
    ) -> anyhow::Result<()> {
        if self.file.controllers {
            arena.start_controllers().await?;
        }
        for object in &self.file.objects {
            let mut object = workload_file::filled_in(object, "", 0, "", namespace);
            if object["metadata"]["namespace"].is_string() {
                object["metadata"]["namespace"] = namespace.into();
            }
            unless_there(objects::create_one(arena.admin(), object).await)?;
        }
        let Some(crowd) = &self.file.crowd else {
            return Ok(());
        };
        let total = arena.nodes() * crowd.per_node;
        post_pods(arena, &crowd.pod, ("crowd", total), namespace, scheduler)
            .await
            .with_context(|| format!("the crowd of {} cannot be made", self.name))
    }

    /// Makes the pods that wait for a scheduler.
    pub(crate) async fn make_backlog(
        &self,
        arena: &Arena,
        namespace: &str,
        pods: usize,
        scheduler: &'static str,
    ) -> anyhow::Result<()> {
        self.make_companions(arena, namespace, "pod", pods).await?;
        post_pods(arena, &self.file.pod, ("pod", pods), namespace, scheduler)
            .await
            .with_context(|| format!("the pods of {} cannot be made", self.name))
    }

    /// Makes what pods called `prefix-N` come with.
    pub(crate) async fn make_companions(
        &self,
        arena: &Arena,
        namespace: &str,
        prefix: &str,
        pods: usize,
    ) -> anyhow::Result<()> {
        for template in &self.file.with_each_pod {
            let path = path_of(arena.admin(), template, namespace).await?;
            let (file, nodes) = (template.clone(), arena.nodes());
            let (prefix, namespace) = (prefix.to_owned(), namespace.to_owned());
            requests::post_all(arena.admin(), WORKERS, pods, move |number| {
                let (name, node) = (format!("{prefix}-{number}"), node_name(number % nodes));
                let object = workload_file::filled_in(&file, &name, number, &node, &namespace);
                [(path.clone(), object.to_string().into_bytes())]
            })
            .await
            .with_context(|| format!("what pods of {} come with cannot be made", self.name))?;
        }
        Ok(())
    }

    /// One more pod.
    pub(crate) fn body(
        &self,
        name: &str,
        number: usize,
        nodes: usize,
        namespace: &str,
        scheduler: &str,
    ) -> Vec<u8> {
        pod(&self.file.pod, name, number, nodes, namespace, scheduler)
    }

    /// Lets what comes and goes do so, until the value is dropped.
    pub(crate) async fn churn(
        &self,
        client: &Client,
        namespace: &str,
        scheduler: &str,
    ) -> anyhow::Result<Churn> {
        let mut objects = Vec::new();
        for template in &self.file.churn {
            let path = path_of(client, template, namespace).await?;
            let mut object = workload_file::filled_in(template, "", 0, "", namespace);
            if object["kind"] == "Pod" {
                object["spec"]["schedulerName"] = scheduler.into();
            }
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let this_one = format!("{path}/{name}?gracePeriodSeconds=0");
            objects.push((path, this_one, object.to_string()));
        }
        let client = client.clone();
        Ok(Churn(tokio::spawn(async move {
            while !objects.is_empty() {
                for (path, this_one, object) in &objects {
                    requests::post(&client, path, object.clone().into()).await?;
                    tokio::time::sleep(CHURN).await;
                    requests::delete(&client, this_one).await?;
                }
            }
            Ok(())
        })))
    }
}

/// What comes and goes. Dropping it ends that.
pub(crate) struct Churn(JoinHandle<anyhow::Result<()>>);

impl Drop for Churn {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes so many pods, called `prefix-N`.
async fn post_pods(
    arena: &Arena,
    template: &Value,
    (prefix, total): (&'static str, usize),
    namespace: &str,
    scheduler: &'static str,
) -> anyhow::Result<()> {
    let (template, nodes, namespace) = (template.clone(), arena.nodes(), namespace.to_owned());
    requests::post_all(arena.admin(), WORKERS, total, move |number| {
        let name = format!("{prefix}-{number}");
        let pod = pod(&template, &name, number, nodes, &namespace, scheduler);
        [(pods_path(&namespace), pod)]
    })
    .await
}

fn pod(
    template: &Value,
    name: &str,
    number: usize,
    nodes: usize,
    namespace: &str,
    scheduler: &str,
) -> Vec<u8> {
    let node = node_name(number % nodes);
    let pod = workload_file::pod(template, name, number, &node, namespace);
    workload_file::as_posted(pod, scheduler)
}

/// Where objects like this one are.
async fn path_of(client: &Client, object: &Value, namespace: &str) -> anyhow::Result<String> {
    let types: TypeMeta = serde_json::from_value(object.clone())?;
    let (resource, capabilities) = pinned_kind(client, &(&types).try_into()?).await?;
    let namespace = match capabilities.scope {
        Scope::Cluster => None,
        Scope::Namespaced => Some(namespace),
    };
    Ok(DynamicObject::url_path(&resource, namespace))
}

fn unless_there<T>(created: anyhow::Result<T>) -> anyhow::Result<()> {
    match created {
        Ok(_) => Ok(()),
        Err(error) => match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            _ => Err(error),
        },
    }
}
