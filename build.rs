//! Tells `bayplan version` which commit was built.
//!
//! `BAYPLAN_COMMIT` says it where there is no repository, as in an image build. Otherwise release
//! builds ask git; others do not, since they would be built anew after every commit.

use std::env::var_os;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BAYPLAN_COMMIT");
    let given = var_os("BAYPLAN_COMMIT").and_then(|commit| commit.into_string().ok());
    let commit = given
        .filter(|commit| !commit.is_empty())
        .or_else(commit_of_release)
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BAYPLAN_COMMIT={commit}");
}

fn commit_of_release() -> Option<String> {
    if var_os("PROFILE")? != "release" {
        return None;
    }
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        // A path that does not exist would have the package built anew every time.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// What git answers; `None` without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}
