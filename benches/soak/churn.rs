//! Lets pods, namespaces and nodes come and go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::arena::{Arena, WORKERS, node_name, pods_path};
use crate::harness::bayplan::RELEASE;
use crate::nodes;
use crate::population::{NEVER_FIT, Pod, Population, Step};
use crate::requests;
use crate::workload_file::{self, WorkloadFile};
use crate::writes;

/// Where namespaces are.
const NAMESPACES: &str = "/api/v1/namespaces";
/// Pods that fit nowhere and stay all the time, so that the flush of what waited for minutes has
/// something to do.
const STANDING: usize = 20;
/// Their namespace.
const STANDING_NAMESPACE: &str = "standing";

/// Makes the pods that have a node from the beginning, and those that never fit and stay.
pub(crate) async fn fill(arena: &Arena, population: &mut Population) -> anyhow::Result<()> {
    let hands = Hands::of(arena);
    let namespace = Step::MakeNamespace(STANDING_NAMESPACE.to_owned());
    hands.carry_out(namespace).await?;
    let mut bodies = hands.standing();
    for step in population.fill() {
        match step {
            Step::Make(pod) => bodies.push((pod.namespace(), hands.body(pod, Place::Node))),
            step => hands.carry_out(step).await?,
        }
    }
    let total = bodies.len();
    requests::post_all(arena.admin(), WORKERS, total, move |number| {
        let (namespace, body) = &bodies[number];
        [(pods_path(namespace), body.clone())]
    })
    .await
    .context("the cluster cannot be filled with pods")
}

/// What comes and goes. Dropping it ends that.
pub(crate) struct Churn(JoinSet<anyhow::Result<()>>);

impl Churn {
    /// Begins, and goes on until `end`.
    pub(crate) fn start(arena: &Arena, population: Population, rate: usize, end: Instant) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(churn_pods(Hands::of(arena), population, rate, end));
        tasks.spawn(nodes::churn(arena.admin().clone(), arena.nodes(), end));
        Self(tasks)
    }

    /// Fails if it could not go on.
    pub(crate) fn ensure_running(&mut self) -> anyhow::Result<()> {
        while let Some(ended) = self.0.try_join_next() {
            ended??;
        }
        Ok(())
    }

    /// Waits for the end, after which every pod that fits can be bound.
    pub(crate) async fn finish(mut self) -> anyhow::Result<()> {
        while let Some(ended) = self.0.join_next().await {
            ended??;
        }
        Ok(())
    }
}

async fn churn_pods(
    hands: Hands,
    mut population: Population,
    rate: usize,
    end: Instant,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut in_flight = JoinSet::new();
    for number in 0_u32.. {
        let due = started + Duration::from_secs_f64(f64::from(number) / rate as f64);
        if due >= end {
            break;
        }
        tokio::time::sleep_until(due.into()).await;
        for step in population.advance() {
            let hands = hands.clone();
            if matches!(step, Step::MakeNamespace(_)) {
                // Its pods cannot be made before.
                hands.carry_out(step).await?;
                continue;
            }
            in_flight.spawn(async move { hands.carry_out(step).await });
        }
        while let Some(ended) = in_flight.try_join_next() {
            ended??;
        }
        while in_flight.len() > WORKERS
            && let Some(ended) = in_flight.join_next().await
        {
            ended??;
        }
    }
    while let Some(ended) = in_flight.join_next().await {
        ended??;
    }
    for step in population.open_all() {
        hands.carry_out(step).await?;
    }
    Ok(())
}

/// Where a pod begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the queue, behind its gate if it has one.
    Queue,
    /// On a node.
    Node,
}

/// Carries steps out.
#[derive(Clone)]
struct Hands {
    client: Client,
    nodes: usize,
    /// Pods by workload: of its crowd, if it has one.
    templates: Arc<BTreeMap<String, Value>>,
}

impl Hands {
    fn of(arena: &Arena) -> Self {
        let pod = |file: WorkloadFile| file.crowd.map_or(file.pod, |crowd| crowd.pod);
        let files = WorkloadFile::all().into_iter();
        Self {
            client: arena.admin().clone(),
            nodes: arena.nodes(),
            templates: Arc::new(files.map(|(name, file)| (name, pod(file))).collect()),
        }
    }

    async fn carry_out(&self, step: Step) -> anyhow::Result<()> {
        let client = &self.client;
        match step {
            Step::MakeNamespace(name) => {
                let body = json!({"metadata": {"name": name}}).to_string();
                requests::post(client, NAMESPACES, body.into()).await
            }
            Step::Make(pod) => {
                let body = self.body(pod, Place::Queue).into();
                requests::post(client, &pods_path(&pod.namespace()), body).await
            }
            Step::OpenGate(pod) => {
                let open = json!({"spec": {"schedulingGates": null}});
                writes::merge(client, &path_of(pod), &open).await
            }
            // What plays kubelet confirms it.
            Step::Delete(pod) => writes::delete(client, &path_of(pod)).await,
            Step::DropNamespace(name) => self.drop_namespace(&name).await,
        }
    }

    /// Plays the namespace controller, which would look for what is left, as well.
    async fn drop_namespace(&self, name: &str) -> anyhow::Result<()> {
        let path = format!("{NAMESPACES}/{name}");
        writes::delete(&self.client, &path).await?;
        let done = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name}, "spec": {"finalizers": []}});
        writes::put(&self.client, &format!("{path}/finalize"), &done).await
    }

    fn body(&self, pod: Pod, place: Place) -> Vec<u8> {
        let (name, number, node) = (pod.name(), pod.number, node_name(pod.number % self.nodes));
        let template = &self.templates[pod.workload()];
        let mut body = workload_file::pod(template, &name, number, &node, &pod.namespace());
        if place == Place::Node {
            body["spec"]["nodeName"] = node.into();
            body["spec"]["schedulingGates"].take();
        }
        workload_file::as_posted(body, RELEASE)
    }

    /// Pods that never fit, with their namespace.
    fn standing(&self) -> Vec<(String, Vec<u8>)> {
        let template = &self.templates[NEVER_FIT];
        let pod = |number: usize| {
            let name = format!("{NEVER_FIT}-standing-{number}");
            let pod = workload_file::pod(template, &name, number, "", STANDING_NAMESPACE);
            let body = workload_file::as_posted(pod, RELEASE);
            (STANDING_NAMESPACE.to_owned(), body)
        };
        (0..STANDING).map(pod).collect()
    }
}

fn path_of(pod: Pod) -> String {
    format!("{}/{}", pods_path(&pod.namespace()), pod.name())
}
