//! etcd and kube-apiserver on free ports of 127.0.0.1, in a folder of their own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};
use tempfile::TempDir;

use super::audit::{AuditLog, POLICY};
use super::credentials::{Credentials, write_private};
use super::process::Process;
use super::wait::POLL_INTERVAL;
use super::{binaries, kubeconfig, reaper};

/// Ready within seconds on an idle machine; a busy one with two cores needs far longer.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// A port that was free can be taken before the server binds it.
const START_ATTEMPTS: u32 = 4;

/// Longer than any test or demo; the API server issues what is asked for.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// What can differ between control planes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Leaves the folder with data, logs and kubeconfigs behind.
    pub(crate) keep: bool,
    /// Further arguments of kube-apiserver, after the usual ones.
    pub(crate) apiserver_args: Vec<String>,
}

/// A running control plane. Dropping it kills its processes and removes its folder.
pub(crate) struct ControlPlane {
    // Dropped in this order: the API server goes before its store, the folder goes last.
    apiserver: Process,
    etcd: Process,
    client: Client,
    url: String,
    credentials: Credentials,
    binaries: &'static Path,
    folder: Folder,
    logs: AtomicU32,
}

impl ControlPlane {
    /// Builds missing binaries, starts etcd and kube-apiserver and waits until the latter is ready.
    pub(crate) async fn start(options: Options) -> anyhow::Result<Self> {
        let binaries = binaries::folder().await?;
        for _ in 0..START_ATTEMPTS {
            if let Some(started) = Self::start_once(&options, binaries).await? {
                return Ok(started);
            }
        }
        bail!("{START_ATTEMPTS} times in a row a port was taken")
    }

    /// `None` when somebody took a port between our look and the server's start.
    async fn start_once(
        options: &Options,
        binaries: &'static Path,
    ) -> anyhow::Result<Option<Self>> {
        let folder = Folder::create(options.keep)?;
        let credentials = Credentials::create(folder.path())?;
        write_private(&folder.path().join("audit-policy.yaml"), POLICY)?;
        let [etcd_port, peer_port, port] = free_ports()?;
        let url = format!("https://127.0.0.1:{port}");
        let kubeconfig = folder.path().join("admin.kubeconfig");
        let ca = &credentials.ca_certificate;
        kubeconfig::write(&kubeconfig, &url, ca, "admin", &credentials.admin_token)?;

        let log = |name: &str| folder.path().join(name);
        let mut etcd = Process::spawn(
            "etcd",
            etcd_command(binaries, folder.path(), etcd_port, peer_port),
            &log("etcd.log"),
        )?;
        let mut command = apiserver_command(binaries, folder.path(), &credentials, etcd_port, port);
        command.args(&options.apiserver_args);
        let mut apiserver = Process::spawn("kube-apiserver", command, &log("kube-apiserver.log"))?;

        let client = kubeconfig::client(&kubeconfig).await?;
        if !is_ready(&client, &mut etcd, &mut apiserver).await? {
            return Ok(None);
        }
        Ok(Some(Self {
            apiserver,
            etcd,
            client,
            url,
            credentials,
            binaries,
            folder,
            logs: AtomicU32::new(0),
        }))
    }

    /// The administrator's client.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("admin.kubeconfig")
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The folder of everything that belongs to this control plane; also a place for files of the
    /// test, gone with it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A binary built with the control plane.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        self.binaries.join(name)
    }

    /// etcd and kube-apiserver, in this order.
    pub(crate) fn processes(&mut self) -> [&mut Process; 2] {
        [&mut self.etcd, &mut self.apiserver]
    }

    /// What the API server noted about the requests so far.
    pub(crate) fn audit_log(&self) -> AuditLog {
        AuditLog::new(self.folder.path().join("audit.log"))
    }

    /// A new name for a log file in the folder.
    pub(crate) fn log_file(&self, name: &str) -> PathBuf {
        let number = self.logs.fetch_add(1, Ordering::Relaxed) + 1;
        self.folder.path().join(format!("{name}-{number}.log"))
    }

    /// Writes a kubeconfig that acts as an existing service account. Each call requests a token of
    /// its own, whose id the audit log shows: so two replicas can be told apart.
    pub(crate) async fn service_account_kubeconfig(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(TOKEN_SECONDS),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("no token for service account {namespace}/{name}"))?;
        let token = answer.status.and_then(|status| status.token);
        let token = token.context("the token request was answered without a token")?;
        let number = self.logs.fetch_add(1, Ordering::Relaxed) + 1;
        let path = self
            .folder
            .path()
            .join(format!("{namespace}-{name}-{number}.kubeconfig"));
        kubeconfig::write(
            &path,
            &self.url,
            &self.credentials.ca_certificate,
            name,
            &token,
        )?;
        Ok(path)
    }

    /// Ends everything and says what could not be cleaned up; dropping does the same silently.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        let Self {
            mut apiserver,
            mut etcd,
            folder,
            ..
        } = self;
        apiserver.kill();
        etcd.kill();
        folder.remove()
    }

    /// Leaves everything running, for somebody who wants to look around; returns the folder.
    pub(crate) fn detach(self) -> anyhow::Result<PathBuf> {
        let Self {
            apiserver,
            etcd,
            folder,
            ..
        } = self;
        apiserver.detach()?;
        etcd.detach()?;
        folder.retain()
    }
}

/// Three ports that were free a moment ago, all different.
fn free_ports() -> anyhow::Result<[u16; 3]> {
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

fn etcd_command(binaries: &Path, folder: &Path, port: u16, peer_port: u16) -> Command {
    let mut command = Command::new(binaries.join("etcd"));
    command
        .current_dir(folder)
        .arg("--name=test")
        .arg(format!("--data-dir={}", folder.join("etcd").display()))
        .arg(format!("--listen-client-urls=http://127.0.0.1:{port}"))
        .arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"))
        .arg(format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"))
        .arg(format!(
            "--initial-advertise-peer-urls=http://127.0.0.1:{peer_port}"
        ))
        .arg(format!(
            "--initial-cluster=test=http://127.0.0.1:{peer_port}"
        ))
        // The data need not survive a power cut.
        .arg("--unsafe-no-fsync")
        // Room for 150,000 large pods; the default is 2 GiB.
        .arg("--quota-backend-bytes=8589934592")
        .arg("--log-level=warn");
    command
}

fn apiserver_command(
    binaries: &Path,
    folder: &Path,
    credentials: &Credentials,
    etcd_port: u16,
    port: u16,
) -> Command {
    let mut command = Command::new(binaries.join("kube-apiserver"));
    let mut file = |flag: &str, path: &Path| {
        command.arg(format!("--{flag}={}", path.display()));
    };
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
    file("audit-policy-file", &folder.join("audit-policy.yaml"));
    file("audit-log-path", &folder.join("audit.log"));
    command
        .current_dir(folder)
        .arg(format!("--etcd-servers=http://127.0.0.1:{etcd_port}"))
        .arg("--bind-address=127.0.0.1")
        .arg("--advertise-address=127.0.0.1")
        .arg(format!("--secure-port={port}"))
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
        .arg("--audit-log-maxsize=1048576");
    command
}

/// Waits for `/readyz`. False when a server ended because its port was taken.
async fn is_ready(
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

/// A temporary folder that also goes when the harness is killed.
#[derive(Debug)]
struct Folder {
    folder: TempDir,
    keep: bool,
}

impl Folder {
    fn create(keep: bool) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("bayplan-controlplane-")
            .disable_cleanup(keep)
            .tempdir()
            .context("no folder for the control plane")?;
        if !keep {
            reaper::watch_folder(folder.path())?;
        }
        Ok(Self { folder, keep })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn remove(self) -> anyhow::Result<()> {
        if self.keep {
            return Ok(());
        }
        let path = self.folder.path().to_owned();
        self.folder
            .close()
            .with_context(|| format!("{} is not removed", path.display()))?;
        reaper::forget_folder(&path)
    }

    fn retain(self) -> anyhow::Result<PathBuf> {
        reaper::forget_folder(self.folder.path())?;
        Ok(self.folder.keep())
    }
}
