//! `bayplan version`: what was built, and which scheduler it follows.

use clap::{Args, ValueEnum};
use serde::Serialize;

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

#[derive(Debug, Serialize)]
struct Version {
    version: &'static str,
    commit: &'static str,
    kubernetes: &'static str,
}

pub(super) fn run(arguments: &VersionArgs, output: &mut Output<'_>) -> Result<Exit, Failure> {
    let Version {
        version,
        commit,
        kubernetes,
    } = Version {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("BAYPLAN_COMMIT"),
        kubernetes: KUBERNETES,
    };
    match arguments.output {
        Format::Text => output.line(format_args!(
            "bayplan {version} (commit {commit}, Kubernetes {kubernetes})"
        ))?,
        Format::Json => output.line(serde_json::json!({
            "version": version,
            "commit": commit,
            "kubernetes": kubernetes,
        }))?,
    }
    Ok(Exit::Success)
}
