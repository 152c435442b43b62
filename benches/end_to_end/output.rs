//! Files with what was measured.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Writes texts by extension, all called `name`.
pub(crate) fn write(folder: &Path, name: &str, files: &[(&str, String)]) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    for (extension, text) in files {
        let path = folder.join(format!("{name}.{extension}"));
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}
