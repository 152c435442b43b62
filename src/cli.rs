//! The command line: one file a command, one place for output, one set of exit codes ([`Exit`]).

#![expect(
    clippy::doc_markdown,
    reason = "--help prints the comments as they are"
)]

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::options::Options;

mod completion;
mod configuration_file;
mod crd;
mod exit;
mod finding;
mod input;
mod man;
mod output;
mod run;
mod simulate;
mod validate;
mod version;
mod yaml;

pub use exit::{Exit, Failure};
pub use output::Output;

/// A Kubernetes scheduler that decides what kube-scheduler decides, faster, and says why.
#[derive(Debug, Parser)]
#[command(
    name = "bayplan",
    version,
    arg_required_else_help = true,
    args_override_self = true,
    max_term_width = 100,
    subcommand_required = true,
    after_help = "Flags of 'run' may also stand before it: bayplan --leader-elect=false run"
)]
struct Cli {
    #[command(flatten)]
    before: Options,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Simulate(simulate::SimulateArgs),
    Validate(validate::ValidateArgs),
    Crd(crd::CrdArgs),
    Version(version::VersionArgs),
    Completion(completion::CompletionArgs),
    Man(man::ManArgs),
}

/// Runs the command that `arguments` (the program's name first) ask for.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut output = Output {
        data: &mut io::stdout().lock(),
        notes: &mut io::stderr(),
    };
    let exit = match execute(arguments, &mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            for message in &failure.messages {
                output.note(format_args!("error: {message}"));
            }
            failure.exit
        }
    };
    ExitCode::from(exit.code())
}

fn execute(
    arguments: impl IntoIterator<Item = OsString>,
    output: &mut Output<'_>,
) -> Result<Exit, Failure> {
    let cli = match parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help to standard output and errors to standard error.
            error.print()?;
            return Ok(if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Success
            });
        }
    };
    match cli.command {
        Command::Run(arguments) => run::run(&cli.before, &arguments, output),
        Command::Simulate(arguments) => simulate::run(&arguments, output),
        Command::Validate(arguments) => validate::run(&arguments, output),
        Command::Crd(_) => crd::run(output),
        Command::Version(arguments) => version::run(&arguments, output),
        Command::Completion(arguments) => completion::run(&arguments, output),
        Command::Man(arguments) => man::run(&arguments, output),
    }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    if let Some(flag) = misplaced_flag(&matches) {
        let message = format!("the flag --{flag} belongs to 'bayplan run'");
        return Err(command.error(ErrorKind::ArgumentConflict, message));
    }
    Cli::from_arg_matches(&matches)
}

/// The tree of commands. Flags of `run` are shown there, not at the root, where they are allowed.
fn command() -> clap::Command {
    let own = |argument: &clap::Arg| !matches!(argument.get_id().as_str(), "help" | "version");
    Cli::command().mut_args(|argument| {
        let hide = own(&argument);
        argument.hide(hide)
    })
}

/// A flag of `run` that stands before another command.
fn misplaced_flag(matches: &ArgMatches) -> Option<String> {
    if matches.subcommand_name() == Some("run") {
        return None;
    }
    let given = |id: &&clap::Id| {
        matches.try_get_raw(id.as_str()).is_ok()
            && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    };
    let id = matches.ids().find(given)?;
    Some(match id.as_str() {
        "verbosity" => "v".to_owned(),
        name => name.replace('_', "-"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        command().debug_assert();
    }
}
