//! `bayplan version`: what was built, and which scheduler it follows.

use clap::{Args, ValueEnum};

use crate::cli::{Exit, Failure, Output};

/// The release of Kubernetes whose kube-scheduler decides what is right.
const KUBERNETES: &str = "1.37";

/// Print the version, the commit and the Kubernetes release that Bayplan follows.
#[derive(Args, Debug)]
pub(super) struct VersionArgs {
    /// Form of the answer.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(arguments: &VersionArgs, output: &mut Output<'_>) -> Result<Exit, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let commit = env!("BAYPLAN_COMMIT");
    match arguments.output {
        Format::Text => output.line(format_args!(
            "bayplan {version} (commit {commit}, Kubernetes {KUBERNETES})"
        ))?,
        Format::Json => output.line(serde_json::json!({
            "version": version,
            "commit": commit,
            "kubernetes": KUBERNETES,
        }))?,
    }
    Ok(Exit::Success)
}
