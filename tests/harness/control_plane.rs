//! etcd and kube-apiserver on free ports of 127.0.0.1, in a folder of their own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};

use super::audit::{AuditLog, POLICY};
use super::credentials::{Credentials, write_private};
use super::process::Process;
use super::{binaries, kubeconfig};

mod folder;
mod servers;

use folder::Folder;
use servers::Launch;
pub(crate) use servers::free_port;

/// A port that was free can be taken before the server binds it.
const START_ATTEMPTS: u32 = 4;

/// Longer than any test or demo; the API server issues what is asked for.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

const ADMIN_KUBECONFIG: &str = "admin.kubeconfig";

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
    launch: Launch,
    folder: Folder,
    files: AtomicU32,
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
        write_private(&folder.path().join("audit-policy.yaml"), POLICY)?;
        let [etcd_port, peer_port, port] = servers::free_ports()?;
        let launch = Launch {
            binaries,
            folder: folder.path().to_owned(),
            credentials: Credentials::create(folder.path())?,
            etcd_port,
            peer_port,
            port,
            apiserver_args: options.apiserver_args.clone(),
        };
        let mut etcd = launch.etcd()?;
        let mut apiserver = launch.apiserver()?;

        let kubeconfig = folder.path().join(ADMIN_KUBECONFIG);
        let token = &launch.credentials.admin_token;
        kubeconfig::write(
            &kubeconfig,
            &launch.url(),
            &launch.credentials.ca_certificate,
            "admin",
            token,
        )?;
        let client = kubeconfig::client(&kubeconfig).await?;
        if !servers::is_ready(&client, &mut etcd, &mut apiserver).await? {
            return Ok(None);
        }
        let files = AtomicU32::new(0);
        Ok(Some(Self {
            apiserver,
            etcd,
            client,
            launch,
            folder,
            files,
        }))
    }

    /// Kills kube-apiserver and starts it again at the same address with the same data. Watches
    /// break and can be continued.
    pub(crate) async fn restart_apiserver(&mut self) -> anyhow::Result<()> {
        // The old one must have let go of the port.
        self.apiserver.kill();
        self.apiserver = self.launch.apiserver()?;
        let ready = servers::is_ready(&self.client, &mut self.etcd, &mut self.apiserver).await?;
        ensure!(
            ready,
            "the port of kube-apiserver was taken while it was down"
        );
        Ok(())
    }

    /// The administrator's client.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join(ADMIN_KUBECONFIG)
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        self.launch.url()
    }

    /// The folder of everything that belongs to this control plane; also a place for files of the
    /// test, gone with it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A binary built with the control plane.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        self.launch.binaries.join(name)
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
        self.file(name, "log")
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed) + 1;
        self.folder
            .path()
            .join(format!("{name}-{number}.{extension}"))
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
        let path = self.file(&format!("{namespace}-{name}"), "kubeconfig");
        let ca = &self.launch.credentials.ca_certificate;
        kubeconfig::write(&path, &self.url(), ca, name, &token)?;
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
