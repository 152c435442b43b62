//! How etcd and kube-apiserver are started, and when they are ready.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use kube::Client;

use super::super::credentials::Credentials;
use super::super::process::Process;
use super::super::wait::POLL_INTERVAL;

/// Ready within seconds on an idle machine; a busy one with two cores needs far longer.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// Three ports that were free a moment ago, all different.
pub(super) fn free_ports() -> anyhow::Result<[u16; 3]> {
    let listeners = [bind_any()?, bind_any()?, bind_any()?].map(|listener| listener.local_addr());
    let mut ports = [0; 3];
    for (port, address) in ports.iter_mut().zip(listeners) {
        *port = address?.port();
    }
    Ok(ports)
}

/// A port that was free a moment ago, for a server that a test starts.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(bind_any()?.local_addr()?.port())
}

fn bind_any() -> anyhow::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", 0)).context("there is no free port on 127.0.0.1")
}

/// What both servers of one control plane are started with.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) binaries: &'static Path,
    pub(super) folder: PathBuf,
    pub(super) credentials: Credentials,
    pub(super) etcd_port: u16,
    pub(super) peer_port: u16,
    pub(super) port: u16,
    pub(super) apiserver_args: Vec<String>,
}

impl Launch {
    /// The address of kube-apiserver.
    pub(super) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Starts etcd.
    pub(super) fn etcd(&self) -> anyhow::Result<Process> {
        let client_url = format!("http://127.0.0.1:{}", self.etcd_port);
        let peer_url = format!("http://127.0.0.1:{}", self.peer_port);
        let mut command = Command::new(self.binaries.join("etcd"));
        command
            .current_dir(&self.folder)
            .arg("--name=test")
            .arg(format!("--data-dir={}", self.folder.join("etcd").display()))
            .arg(format!("--listen-client-urls={client_url}"))
            .arg(format!("--advertise-client-urls={client_url}"))
            .arg(format!("--listen-peer-urls={peer_url}"))
            .arg(format!("--initial-advertise-peer-urls={peer_url}"))
            .arg(format!("--initial-cluster=test={peer_url}"))
            // The data need not survive a power cut.
            .arg("--unsafe-no-fsync")
            // Room for 150,000 large pods; the default is 2 GiB.
            .arg("--quota-backend-bytes=8589934592")
            .arg("--log-level=warn");
        Process::spawn("etcd", command, &self.folder.join("etcd.log"))
    }

    /// Starts kube-apiserver; a second start goes on with the same log file.
    pub(super) fn apiserver(&self) -> anyhow::Result<Process> {
        let mut command = Command::new(self.binaries.join("kube-apiserver"));
        let mut file = |flag: &str, path: &Path| {
            command.arg(format!("--{flag}={}", path.display()));
        };
        let credentials = &self.credentials;
        file("tls-cert-file", &credentials.server_certificate);
        file("tls-private-key-file", &credentials.server_key);
        file(
            "service-account-signing-key-file",
            &credentials.service_account_key,
        );
        file(
            "service-account-key-file",
            &credentials.service_account_public_key,
        );
        file("token-auth-file", &credentials.token_file);
        file("audit-policy-file", &self.folder.join("audit-policy.yaml"));
        file("audit-log-path", &self.folder.join("audit.log"));
        command
            .current_dir(&self.folder)
            .arg(format!(
                "--etcd-servers=http://127.0.0.1:{}",
                self.etcd_port
            ))
            .arg("--bind-address=127.0.0.1")
            .arg("--advertise-address=127.0.0.1")
            .arg(format!("--secure-port={}", self.port))
            // There is no Service in front of this server, and its address would be refused there.
            .arg("--endpoint-reconciler-type=none")
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg("--authorization-mode=RBAC")
            // Nobody makes the service accounts of namespaces; nobody lifts the not-ready taint that
            // every new node would get.
            .arg("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
            .arg("--max-requests-inflight=4000")
            .arg("--max-mutating-requests-inflight=2000")
            // In MiB: one file, never rotated, so that the checks see every request.
            .arg("--audit-log-maxsize=1048576")
            .args(&self.apiserver_args);
        Process::spawn(
            "kube-apiserver",
            command,
            &self.folder.join("kube-apiserver.log"),
        )
    }
}

/// Waits for `/readyz`. False when a server ended because its port was taken.
pub(super) async fn is_ready(
    client: &Client,
    etcd: &mut Process,
    apiserver: &mut Process,
) -> anyhow::Result<bool> {
    let deadline = tokio::time::Instant::now() + START_TIMEOUT;
    while tokio::time::Instant::now() < deadline {
        let request = http::Request::get("/readyz").body(Vec::new())?;
        let answer =
            tokio::time::timeout(Duration::from_secs(5), client.request_text(request)).await;
        // Looked at after the answer: with its port taken, our etcd has ended and the API server
        // has become ready on the etcd of somebody else.
        for process in [&mut *etcd, &mut *apiserver] {
            let Some(status) = process.exit_status()? else {
                continue;
            };
            let output = process.log_tail(20);
            if output.contains("address already in use") {
                return Ok(false);
            }
            bail!(
                "{} ended at its start ({status}):\n{output}",
                process.name()
            );
        }
        if matches!(answer, Ok(Ok(text)) if text == "ok") {
            return Ok(true);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    bail!(
        "kube-apiserver is not ready after {START_TIMEOUT:?}:\n{}",
        apiserver.log_tail(20)
    )
}
