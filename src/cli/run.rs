//! `bayplan run`: the scheduler itself.

#[cfg(feature = "live")]
mod live;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::configuration_file::ConfigurationFile;
use crate::cli::{Exit, Failure, Output, input, yaml};
use crate::options::{Config, Options};

/// Schedule pods of a cluster.
///
/// Ends with 0 when asked to stop (SIGTERM), 1 when the lease is lost, 2 when flags or files are
/// wrong, 130 on Ctrl-C.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(super) struct RunArgs {
    #[command(flatten)]
    options: Options,
}

/// `before` are the flags that stood before the command.
pub(super) fn run(
    before: &Options,
    arguments: &RunArgs,
    output: &mut Output<'_>,
) -> Result<Exit, Failure> {
    let flags = [before, &arguments.options];
    let config = config(&flags)?;
    if let Some(path) = last(&flags, |options| options.write_config_to.as_ref()) {
        write(&config, path)?;
        output.note(format_args!(
            "wrote the configuration to {}",
            path.display()
        ));
        return Ok(Exit::Success);
    }
    start(config)
}

/// What flags and file ask for, or everything that is wrong with them.
fn config(flags: &[&Options]) -> Result<Config, Failure> {
    let file = match last(flags, |options| options.config.as_ref()) {
        None => None,
        Some(path) => {
            let text = input::read(path)?;
            let parsed = ConfigurationFile::parse(&input::name(path), &text);
            Some(parsed.map_err(|finding| Failure::usage(finding.to_string()))?)
        }
    };
    let settings = file.as_ref().map(|file| file.settings.clone());
    Config::try_new(settings, flags).map_err(|errors| Failure {
        exit: Exit::Usage,
        messages: errors
            .iter()
            .map(|error| match &file {
                Some(file) => file.place(error),
                None => error.to_string(),
            })
            .collect(),
    })
}

/// The value of a flag where it was given last.
fn last<'a>(
    flags: &[&'a Options],
    flag: impl Fn(&'a Options) -> Option<&'a PathBuf>,
) -> Option<&'a Path> {
    let value = flags.iter().rev().find_map(|options| flag(options));
    value.map(PathBuf::as_path)
}

fn write(config: &Config, path: &Path) -> Result<(), Failure> {
    std::fs::write(path, yaml::to_string(&config.settings)).map_err(|error| {
        let path = path.display();
        Failure::usage(format!("cannot write the configuration to {path}: {error}"))
    })
}

#[cfg(feature = "live")]
use live::start;

#[cfg(not(feature = "live"))]
fn start(_config: Config) -> Result<Exit, Failure> {
    Err(Failure::usage(
        "this build cannot reach a cluster; build it with the feature live",
    ))
}
