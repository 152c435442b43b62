//! Bayplan itself, installed by its chart: replicas run as local processes with the arguments that
//! the chart's Deployment has, under the chart's own `ServiceAccount`, so that the chart is what is
//! tested.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::Value;

use super::control_plane::{ControlPlane, free_port};
use super::process::Process;
use super::wait;

/// Where the chart is installed.
pub(crate) const NAMESPACE: &str = "kube-system";
/// The name of the release, and so of Deployment, `ServiceAccount` and Lease.
pub(crate) const RELEASE: &str = "bayplan";

/// The installed chart.
#[derive(Debug)]
pub(crate) struct Installation {
    binary: PathBuf,
    arguments: Vec<String>,
    lease: String,
}

/// A running replica.
#[derive(Debug)]
pub(crate) struct Replica {
    /// The process.
    pub(crate) process: Process,
    /// What it is called in the Lease.
    pub(crate) identity: String,
    /// Its secure port on 127.0.0.1.
    pub(crate) port: u16,
}

impl Replica {
    /// GETs a path of the secure port as the owner of `kubeconfig`'s token.
    pub(crate) async fn get(&self, kubeconfig: &Path, path: &str) -> anyhow::Result<String> {
        let mut config = super::kubeconfig::config(kubeconfig).await?;
        config.cluster_url = format!("https://127.0.0.1:{}", self.port).parse()?;
        // The certificate was made in memory.
        config.accept_invalid_certs = true;
        config.root_cert = None;
        let client = kube::Client::try_from(config)?;
        let request = http::Request::get(path).body(Vec::new())?;
        Ok(client.request_text(request).await?)
    }

    /// Fails if a pod was placed that only the periodic flush had woken: each is a missing hint.
    pub(crate) async fn check_hints(&self, kubeconfig: &Path) -> anyhow::Result<()> {
        let metrics = self.get(kubeconfig, "/metrics").await?;
        let none = "scheduler_pod_scheduled_after_flush_total 0";
        anyhow::ensure!(
            metrics.lines().any(|line| line == none),
            "a pod waited for the flush although it fitted: {metrics}"
        );
        Ok(())
    }
}

impl Installation {
    /// Installs the chart with real helm and reads what the Deployment would run. `binary` may be
    /// relative to the current folder; replicas run in another.
    pub(crate) async fn install(
        control_plane: &ControlPlane,
        binary: &Path,
        values: &[&str],
    ) -> anyhow::Result<Self> {
        let binary = binary.canonicalize().with_context(|| {
            format!(
                "there is no binary {}: run `make release`",
                binary.display()
            )
        })?;
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/bayplan");
        let chart = chart.to_string_lossy();
        let mut helm = vec!["install", RELEASE, &chart, "--namespace", NAMESPACE];
        for value in values {
            helm.extend(["--set", value]);
        }
        control_plane.helm(&helm).await?;
        let deployments: Api<Deployment> = Api::namespaced(control_plane.client(), NAMESPACE);
        let deployment = deployments.get(RELEASE).await?;
        let containers = deployment.spec.and_then(|spec| spec.template.spec);
        let container = containers.and_then(|spec| spec.containers.into_iter().next());
        let arguments = container.and_then(|container| container.args);
        let arguments = arguments.context("the chart's Deployment has no arguments")?;
        let lease = arguments
            .iter()
            .find_map(|argument| argument.strip_prefix("--leader-elect-resource-name="))
            .unwrap_or(RELEASE)
            .to_owned();
        Ok(Self {
            binary,
            arguments,
            lease,
        })
    }

    /// Starts a replica with a token of its own. Only kubeconfig, address and port differ from the
    /// chart's arguments; flags that are given twice count as given last.
    pub(crate) async fn start(&self, control_plane: &ControlPlane) -> anyhow::Result<Replica> {
        let kubeconfig = control_plane
            .service_account_kubeconfig(NAMESPACE, RELEASE)
            .await?;
        let log = control_plane.log_file("bayplan");
        let port = free_port()?;
        let mut command = Command::new(&self.binary);
        command
            .current_dir(control_plane.folder())
            .args(&self.arguments)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={port}"));
        let mut process = Process::spawn("bayplan", command, &log)?;
        let identity = wait::until(
            "the replica to start",
            Duration::from_secs(30),
            async || {
                if let Some(status) = process.exit_status()? {
                    anyhow::bail!("bayplan ended ({status}):\n{}", process.log_tail(20));
                }
                Ok(identity_in(&std::fs::read_to_string(process.log())?))
            },
        )
        .await?;
        Ok(Replica {
            process,
            identity,
            port,
        })
    }

    /// The identity in the Lease.
    pub(crate) async fn leader(&self, control_plane: &ControlPlane) -> anyhow::Result<String> {
        let leases: Api<Lease> = Api::namespaced(control_plane.client(), NAMESPACE);
        let lease = leases.get_opt(&self.lease).await?;
        let holder = lease
            .and_then(|lease| lease.spec)
            .and_then(|spec| spec.holder_identity);
        Ok(holder.unwrap_or_default())
    }

    /// Waits until one of `replicas` holds the Lease and gives its place in the list.
    pub(crate) async fn wait_for_leader(
        &self,
        control_plane: &ControlPlane,
        replicas: &[Replica],
        patience: Duration,
    ) -> anyhow::Result<usize> {
        wait::until("a replica to lead", patience, async || {
            let leader = self.leader(control_plane).await?;
            Ok(replicas
                .iter()
                .position(|replica| replica.identity == leader))
        })
        .await
    }
}

/// The identity that a replica logs when it starts, in JSON lines.
fn identity_in(log: &str) -> Option<String> {
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|line| line["identity"].as_str().map(str::to_owned))
}
