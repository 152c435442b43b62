//! The cluster on which everybody is measured: one control plane, its nodes, its running pods.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use serde_json::{Value, json};

use crate::harness::bayplan::{Installation, NAMESPACE, RELEASE};
use crate::harness::builders::make_node;
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::process::{Process, Usage};
use crate::harness::{create, kubeconfig};
use crate::requests;

/// The zones of the cluster.
const ZONES: usize = 10;
/// Requests in flight while the cluster is filled: what the loops use.
pub(crate) const WORKERS: usize = 64;
/// Where the running pods are.
const RUNNING: &str = "running";
/// What is left of the last measurement settles.
const SETTLE: Duration = Duration::from_secs(1);

/// The cluster.
pub(crate) struct Arena {
    controllers: Option<Process>,
    admin: Client,
    installation: Installation,
    /// The chart's `ServiceAccount`, as whom the loops and Bayplan come.
    account: Client,
    nodes: usize,
    running: usize,
    namespaces: usize,
    control_plane: ControlPlane,
}

impl Arena {
    /// Starts a control plane with nodes of 4 CPUs and 32 GiB in ten zones, and installs Bayplan.
    pub(crate) async fn open(nodes: usize, binary: &Path) -> anyhow::Result<Self> {
        let apiserver_args = [
            // No log of every request, as the tests have it.
            "--audit-log-path=",
            "--audit-policy-file=",
            // The pods of a measurement go as fast as they came.
            "--delete-collection-workers=32",
        ];
        let options = Options {
            apiserver_args: apiserver_args.map(str::to_owned).to_vec(),
            ..Options::default()
        };
        let control_plane = ControlPlane::start(options).await?;
        let admin = control_plane.client();
        let installation = Installation::install(&control_plane, binary, &[]).await?;
        let path = control_plane
            .service_account_kubeconfig(NAMESPACE, RELEASE)
            .await?;
        let account = kubeconfig::client(&path).await?;
        let all = (0..nodes).map(|number| node(&node_name(number), number));
        create::nodes(&admin, all.collect()).await?;
        Ok(Self {
            controllers: None,
            admin,
            installation,
            account,
            nodes,
            running: 0,
            namespaces: 0,
            control_plane,
        })
    }

    /// Makes the pods that `pod` makes of a number and a node, as many on each node. There is no
    /// kubelet, so their phase stays Pending, which schedulers do not look at.
    pub(crate) async fn fill(
        &mut self,
        running: usize,
        pod: impl Fn(usize, &str) -> Value + Send + Sync + 'static,
    ) -> anyhow::Result<()> {
        if running > 0 && self.running == 0 {
            self.make_namespace(RUNNING).await?;
        }
        let (nodes, first) = (self.nodes, self.running);
        let missing = running.saturating_sub(first);
        requests::post_all(&self.admin, WORKERS, missing, move |number| {
            let number = first + number;
            let pod = pod(number, &node_name(number % nodes));
            [(pods_path(RUNNING), pod.to_string().into_bytes())]
        })
        .await
        .context("the cluster cannot be filled with running pods")?;
        self.running = self.running.max(running);
        Ok(())
    }

    /// A namespace that nobody has used.
    pub(crate) async fn fresh_namespace(&mut self) -> anyhow::Result<String> {
        self.namespaces += 1;
        let name = format!("bench-{}", self.namespaces);
        self.make_namespace(&name).await?;
        Ok(name)
    }

    async fn make_namespace(&self, name: &str) -> anyhow::Result<()> {
        // The label is what `anti-affinity-namespaces` selects.
        let body = json!({"metadata": {"name": name, "labels": {"team": "devops"}}});
        let body = body.to_string().into_bytes().into();
        requests::post(&self.admin, "/api/v1/namespaces", body).await
    }

    /// Starts kube-controller-manager once.
    pub(crate) async fn start_controllers(&mut self) -> anyhow::Result<()> {
        if self.controllers.is_none() {
            self.controllers = Some(self.control_plane.kube_controller_manager().await?);
        }
        Ok(())
    }

    /// Removes the pods of a namespace.
    pub(crate) async fn clear(&self, namespace: &str) -> anyhow::Result<()> {
        let path = pods_path(namespace);
        while requests::count(&self.admin, &path).await?.0 > 0 {
            let at_once = format!("{path}?gracePeriodSeconds=0");
            // The server ends a request after a minute; what is left goes with the next one.
            requests::delete(&self.admin, &at_once).await?;
        }
        tokio::time::sleep(SETTLE).await;
        Ok(())
    }

    /// What the API server has used so far.
    pub(crate) fn apiserver_usage(&mut self) -> anyhow::Result<Usage> {
        let [_, apiserver] = self.control_plane.processes();
        apiserver.usage()
    }

    /// The administrator.
    pub(crate) fn admin(&self) -> &Client {
        &self.admin
    }

    /// The chart's `ServiceAccount`.
    pub(crate) fn account(&self) -> &Client {
        &self.account
    }

    pub(crate) fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    pub(crate) fn installation(&self) -> &Installation {
        &self.installation
    }

    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Ends everything.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        drop(self.controllers);
        self.control_plane.stop()
    }
}

/// A node of 4 CPUs and 32 GiB in the zone that number has.
pub(crate) fn node(name: &str, number: usize) -> Node {
    make_node(name)
        .label(
            "topology.kubernetes.io/zone",
            &format!("zone-{}", number % ZONES),
        )
        .allocatable("memory", "32Gi")
        .build()
}

/// The name of a node.
pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// Where the pods of a namespace are.
pub(crate) fn pods_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}
