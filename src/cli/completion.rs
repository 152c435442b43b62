//! `bayplan completion`: scripts that let shells complete commands and flags.

use clap::Args;
use clap_complete::Shell;

use crate::cli::{self, Exit, Failure, Output};

/// Print a completion script for a shell.
///
/// For bash: source <(bayplan completion bash)
#[derive(Args, Debug)]
pub(super) struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionArgs, output: &mut Output<'_>) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli::command(), "bayplan", &mut script);
    output.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
