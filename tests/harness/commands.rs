//! Runs kubectl, helm and the real kube-scheduler against a control plane.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::control_plane::{ControlPlane, free_port};
use super::credentials::write_private;
use super::process::Process;

/// kubectl and helm wait for the API server at most; they do not schedule.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(2);

impl ControlPlane {
    /// Runs kubectl as the administrator and returns its standard output; an error with what it
    /// said if it fails.
    pub(crate) async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        success("kubectl", args, &self.kubectl_output(args).await?)
    }

    /// Runs kubectl as the administrator, successful or not.
    pub(crate) async fn kubectl_output(&self, args: &[&str]) -> anyhow::Result<Output> {
        self.run("kubectl", args).await
    }

    /// Runs helm as the administrator and returns its standard output; an error with what it said
    /// if it fails.
    pub(crate) async fn helm(&self, args: &[&str]) -> anyhow::Result<String> {
        success("helm", args, &self.helm_output(args).await?)
    }

    /// Runs helm as the administrator, successful or not.
    pub(crate) async fn helm_output(&self, args: &[&str]) -> anyhow::Result<Output> {
        self.run("helm", args).await
    }

    async fn run(&self, program: &str, args: &[&str]) -> anyhow::Result<Output> {
        let mut command = tokio::process::Command::new(self.binary(program));
        // The home keeps caches and settings of the person at the keyboard out of it.
        let home = self.folder().join("home");
        command
            .args(args)
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", &home)
            .env("HELM_CACHE_HOME", home.join("helm/cache"))
            .env("HELM_CONFIG_HOME", home.join("helm/config"))
            .env("HELM_DATA_HOME", home.join("helm/data"))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        tokio::time::timeout(COMMAND_TIMEOUT, command.output())
            .await
            .with_context(|| format!("{program} {} ran too long", args.join(" ")))?
            .with_context(|| format!("{program} cannot be run"))
    }

    /// Starts the real kube-scheduler with this `KubeSchedulerConfiguration` (`{}` for its
    /// defaults) as the user of `kubeconfig`. It runs without leader election unless the
    /// configuration says otherwise, and ends when the value is dropped.
    pub(crate) fn kube_scheduler(
        &self,
        configuration: Value,
        kubeconfig: &Path,
    ) -> anyhow::Result<Process> {
        let mut completed = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": { "leaderElect": false },
            "clientConnection": { "kubeconfig": kubeconfig, "qps": 1000, "burst": 2000 },
        });
        merge(&mut completed, configuration);
        let log = self.log_file("kube-scheduler");
        let file = log.with_extension("yaml");
        write_private(&file, &serde_json::to_string_pretty(&completed)?)?;
        let mut command = Command::new(self.binary("kube-scheduler"));
        command
            .current_dir(self.folder())
            .arg(format!("--config={}", file.display()))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={}", free_port()?));
        Process::spawn("kube-scheduler", command, &log)
    }
}

/// Objects are merged field by field; of anything else the overlay wins.
fn merge(base: &mut Value, overlay: Value) {
    match (base, overlay) {
        (Value::Object(base), Value::Object(overlay)) => {
            for (key, value) in overlay {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, overlay) => *base = overlay,
    }
}

fn success(program: &str, args: &[&str], output: &Output) -> anyhow::Result<String> {
    if !output.status.success() {
        bail!(
            "{program} {} failed ({}):\n{}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout.clone()).with_context(|| format!("{program} printed no text"))
}
