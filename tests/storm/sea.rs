//! The cluster on which a storm breaks out.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::damage::{Damage, has_node};
use crate::harness::bayplan::{Installation, Replica};
use crate::harness::builders::{PodBuilder, make_node, make_pod};
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::kubelet::FakeKubelet;
use crate::harness::process::Process;
use crate::harness::{create, objects, wait};

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(10);

/// The label that says how important a pod is.
pub(crate) const CLASS: &str = "class";

/// CPUs of a node. A low pod takes one of them, a high pod two.
const CPUS: usize = 10;

/// High pods for every two nodes. Outside the budgets there are seven CPUs of a node to be had, so
/// three high pods fit on each.
const HIGH_PER_TWO_NODES: usize = 5;

/// Whose low pods are protected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// The label of the pods; also the name of the budget.
    pub(crate) app: &'static str,
    pub(crate) pods_per_node: usize,
    /// Of 100 pods, how many may go. 100 is no budget at all.
    percent: usize,
}

/// All low pods of a node.
pub(crate) const BUDGETS: [Budget; 3] = [
    Budget {
        app: "free",
        pods_per_node: 7,
        percent: 100,
    },
    Budget {
        app: "closed",
        pods_per_node: 2,
        percent: 0,
    },
    Budget {
        app: "half",
        pods_per_node: 1,
        percent: 50,
    },
];

impl Budget {
    pub(crate) fn allowed(&self, size: Size) -> usize {
        size.nodes * self.pods_per_node * self.percent / 100
    }

    fn object(&self, size: Size) -> Value {
        let available = size.nodes * self.pods_per_node - self.allowed(size);
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": self.app, "namespace": "default"},
            "spec": {"minAvailable": available, "selector": {"matchLabels": {"app": self.app}}}})
    }
}

/// How large a storm is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) nodes: usize,
}

impl Size {
    pub(crate) fn low(self) -> usize {
        self.nodes * CPUS
    }

    pub(crate) fn high(self) -> usize {
        self.nodes * HIGH_PER_TWO_NODES / 2
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.low(), self.high());
        write!(
            f,
            "{} full nodes, {low} low pods, {high} high pods",
            self.nodes
        )
    }
}

/// Who schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captain {
    KubeScheduler,
    Bayplan,
}

/// One of them, running.
enum Running {
    KubeScheduler(Process),
    Bayplan(Replica),
}

impl Captain {
    async fn start(self, control_plane: &ControlPlane) -> anyhow::Result<Running> {
        let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
        Ok(match self {
            Self::KubeScheduler => {
                let kubeconfig = control_plane.kubeconfig();
                let configuration = json!({"percentageOfNodesToScore": 100});
                Running::KubeScheduler(control_plane.kube_scheduler(configuration, &kubeconfig)?)
            }
            Self::Bayplan => {
                let installation = Installation::install(control_plane, binary, &[]).await?;
                Running::Bayplan(installation.start(control_plane).await?)
            }
        })
    }

    fn scheduler(self) -> &'static str {
        match self {
            Self::KubeScheduler => "default-scheduler",
            Self::Bayplan => "bayplan",
        }
    }
}

/// Lets the high pods come, waits until each has a node and all victims are gone, and counts.
pub(crate) async fn weather(captain: Captain, size: Size) -> anyhow::Result<Damage> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let kubelet = FakeKubelet::start(client.clone());
    let controllers = control_plane.kube_controller_manager().await?;
    let scheduler = captain.scheduler();
    fill(&client, scheduler, size).await?;
    let running = captain.start(&control_plane).await?;
    // It has seen the cluster when it places a pod.
    create::pods(&client, vec![pod("first", "first", scheduler).build()]).await?;
    until_placed(&client, "first", 1).await?;

    let high = (0..size.high()).map(|i| {
        let pod = pod(&format!("high-{i}"), "high", scheduler).requests("2", "64Mi");
        pod.priority_class("high").build()
    });
    let began = tokio::time::Instant::now();
    create::pods(&client, high.collect()).await?;
    until_placed(&client, "high", size.high()).await?;
    let duration = began.elapsed();
    until_settled(&client).await?;
    let damage = Damage::assess(&client, size, duration).await?;
    match running {
        Running::KubeScheduler(process) => drop(process),
        Running::Bayplan(replica) => drop(replica),
    }
    drop((controllers, kubelet));
    control_plane.stop()?;
    Ok(damage)
}

fn pod(name: &str, class: &str, scheduler: &str) -> PodBuilder {
    make_pod(name).scheduler(scheduler).label(CLASS, class)
}

/// Makes nodes that are full of running low pods, and budgets that know them.
async fn fill(client: &Client, scheduler: &str, size: Size) -> anyhow::Result<()> {
    let classes = [("low", 10), ("high", 1000)].map(|(name, value)| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value})
    });
    objects::create(client, classes).await?;
    let budgets = BUDGETS.iter().filter(|budget| budget.percent < 100);
    let guarded = budgets.clone().count();
    objects::create(client, budgets.map(|budget| budget.object(size))).await?;
    let names: Vec<_> = (0..size.nodes).map(|i| format!("n{i:03}")).collect();
    let nodes = names.iter().map(|name| {
        let node = make_node(name).allocatable("cpu", &CPUS.to_string());
        node.build()
    });
    create::nodes(client, nodes.collect()).await?;
    let low = names.iter().flat_map(|node| {
        BUDGETS.iter().flat_map(move |budget| {
            (0..budget.pods_per_node).map(move |i| {
                let pod = pod(&format!("low-{node}-{}-{i}", budget.app), "low", scheduler);
                let pod = pod.label("app", budget.app).requests("1", "64Mi");
                pod.priority_class("low").on(node).build()
            })
        })
    });
    create::pods(client, low.collect()).await?;
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client.clone());
    wait::until("the budgets to know their pods", PATIENCE, async || {
        let budgets = budgets.list(&ListParams::default()).await?.items;
        let knows = budgets.iter().filter(|budget| {
            let known = BUDGETS.iter().find(|known| known.app == budget.name_any());
            let allowed = known.map(|known| known.allowed(size));
            let status = budget.status.as_ref();
            let count = |count: Option<i32>| usize::try_from(count.unwrap_or(0)).unwrap_or(0);
            let counted = status.map(|status| {
                (
                    count(status.expected_pods),
                    count(status.disruptions_allowed),
                )
            });
            let expected = known.map_or(0, |known| known.pods_per_node * size.nodes);
            counted == allowed.map(|allowed| (expected, allowed))
        });
        Ok((knows.count() == guarded).then_some(()))
    })
    .await
}

/// Waits until `count` pods of the class have a node.
async fn until_placed(client: &Client, class: &str, count: usize) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let placed = ListParams::default()
        .fields("spec.nodeName!=")
        .labels(&format!("{CLASS}={class}"));
    wait::until(&format!("{count} {class} pods"), PATIENCE, async || {
        // Whole pods would keep the API server busy.
        let placed = pods.list_metadata(&placed).await?.items.len();
        Ok((placed >= count).then_some(()))
    })
    .await
}

/// Waits until nobody is on the way out.
async fn until_settled(client: &Client) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    wait::until("all victims to be gone", PATIENCE, async || {
        let pods = pods.list(&ListParams::default()).await?.items;
        let is_leaving = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
        let are_placed = pods.iter().all(has_node);
        Ok((are_placed && !pods.iter().any(is_leaving)).then_some(()))
    })
    .await
}
