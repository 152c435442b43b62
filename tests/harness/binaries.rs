//! The binaries of the control plane, built by `tests/controlplane/build` when they are missing.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use tokio::process::Command;
use tokio::sync::OnceCell;

static FOLDER: OnceCell<PathBuf> = OnceCell::const_new();

/// The folder with etcd, kube-apiserver, kube-scheduler, kubectl and helm. The first call builds
/// what is missing, minutes on a fresh machine; progress goes to standard error.
pub(crate) async fn folder() -> anyhow::Result<&'static Path> {
    FOLDER
        .get_or_try_init(|| build(&[]))
        .await
        .map(PathBuf::as_path)
}

/// A binary that is not among the usual ones, like kube-controller-manager.
pub(crate) async fn extra(name: &str) -> anyhow::Result<PathBuf> {
    Ok(build(&[name]).await?.join(name))
}

async fn build(names: &[&str]) -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/build");
    let output = Command::new(&script)
        .args(names)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("{} cannot be run", script.display()))?;
    ensure!(
        output.status.success(),
        "the control plane could not be built, see above"
    );
    let text = String::from_utf8(output.stdout)?;
    let last = text
        .lines()
        .last()
        .context("the build script printed no folder")?;
    Ok(PathBuf::from(last))
}
