//! The folder of one control plane.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

use super::super::reaper;

/// A temporary folder that also goes when the harness is killed.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
    keep: bool,
}

impl Folder {
    pub(super) fn create(keep: bool) -> anyhow::Result<Self> {
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

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn remove(self) -> anyhow::Result<()> {
        if self.keep {
            return Ok(());
        }
        let path = self.folder.path().to_owned();
        self.folder
            .close()
            .with_context(|| format!("{} is not removed", path.display()))?;
        reaper::forget_folder(&path)
    }

    pub(super) fn retain(self) -> anyhow::Result<PathBuf> {
        reaper::forget_folder(self.folder.path())?;
        Ok(self.folder.keep())
    }
}
