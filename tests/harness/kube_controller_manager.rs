//! The real kube-controller-manager, with the few controllers that a scheduler needs beside it.

use std::path::PathBuf;
use std::process::Command;

use tokio::sync::OnceCell;

use super::binaries;
use super::control_plane::{ControlPlane, free_port};
use super::process::Process;

/// Status of disruption budgets, binding of volumes, claims of ephemeral volumes, and the service
/// accounts that every namespace has.
const CONTROLLERS: &str = "disruption-controller,persistentvolume-binder-controller,\
    ephemeral-volume-controller,serviceaccount-controller";

static BINARY: OnceCell<PathBuf> = OnceCell::const_new();

impl ControlPlane {
    /// Starts kube-controller-manager as the administrator; it ends when the value is dropped. The
    /// first call builds it if it is missing, minutes on a fresh machine.
    pub(crate) async fn kube_controller_manager(&self) -> anyhow::Result<Process> {
        let build = || binaries::extra("kube-controller-manager");
        let binary = BINARY.get_or_try_init(build).await?;
        let log = self.log_file("kube-controller-manager");
        let mut command = Command::new(binary);
        command
            .current_dir(self.folder())
            .arg(format!("--kubeconfig={}", self.kubeconfig().display()))
            .arg(format!("--controllers={CONTROLLERS}"))
            .arg("--leader-elect=false")
            // What a lost race leaves undone is done at the next turn: 15 s by default.
            .arg("--pvclaimbinder-sync-period=1s")
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={}", free_port()?));
        Process::spawn("kube-controller-manager", command, &log)
    }
}
