//! The chart in a real API server.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

use std::time::Duration;

use kube::Client;
use serde_json::Value;

use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::kubeconfig;
use crate::helm::chart;

mod install;
mod rights;

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(1);

async fn start() -> anyhow::Result<ControlPlane> {
    ControlPlane::start(Options::default()).await
}

/// Runs `helm COMMAND bayplan CHART --namespace NAMESPACE ARGS` and returns what it prints.
async fn helm(
    control_plane: &ControlPlane,
    command: &str,
    namespace: &str,
    args: &[&str],
) -> anyhow::Result<String> {
    let chart = chart();
    let chart = chart.to_str().expect("the path must be UTF-8");
    let mut all = vec![command, "bayplan", chart, "--namespace", namespace];
    all.extend(args);
    control_plane.helm(&all).await
}

/// Runs `kubectl get ARGS --output json`.
async fn get(control_plane: &ControlPlane, args: &[&str]) -> anyhow::Result<Value> {
    let mut all = vec!["get", "--output", "json"];
    all.extend(args);
    Ok(serde_json::from_str(&control_plane.kubectl(&all).await?)?)
}

/// A client with a token of a service account.
async fn client(
    control_plane: &ControlPlane,
    namespace: &str,
    account: &str,
) -> anyhow::Result<Client> {
    let file = control_plane
        .service_account_kubeconfig(namespace, account)
        .await?;
    kubeconfig::client(&file).await
}
