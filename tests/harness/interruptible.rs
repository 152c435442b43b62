//! Programs on a control plane that end by themselves or by Ctrl-C, and leave nothing running.

#![allow(clippy::print_stderr, reason = "programs tell a person why they ended")]

use std::process::ExitCode;

/// Runs `course`, which tells whether all is as it must be, to its end or to an interrupt. Errors
/// are printed under the program's name.
pub(crate) async fn run(
    name: &str,
    course: impl Future<Output = anyhow::Result<bool>>,
) -> ExitCode {
    let outcome = tokio::select! {
        outcome = course => outcome,
        // Dropping the course stops what it started.
        _ = tokio::signal::ctrl_c() => {
            eprintln!("{name}: interrupted, everything is stopped");
            return ExitCode::from(130);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
