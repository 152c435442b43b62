//! `bayplan man`: manual pages, made from the same tree as `--help`.

use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use crate::cli::{self, Exit, Failure, Output};

/// Print a manual page, or write all of them to a directory.
///
/// To read one: bayplan man run | man -l -
#[derive(Args, Debug)]
pub(super) struct ManArgs {
    /// The command to describe; without it the whole program is.
    #[arg(conflicts_with = "dir")]
    command: Option<String>,

    /// Write the pages of all commands to this directory.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &ManArgs, output: &mut Output<'_>) -> Result<Exit, Failure> {
    let mut root = cli::command();
    root.build();
    if let Some(dir) = &arguments.dir {
        for command in std::iter::once(&root).chain(root.get_subcommands()) {
            let path = dir.join(format!("{}.1", title(command)));
            std::fs::write(&path, page(command)?).map_err(|error| {
                let path = path.display();
                Failure::usage(format!("cannot write the manual page {path}: {error}"))
            })?;
        }
        return Ok(Exit::Success);
    }
    let described = match &arguments.command {
        None => &root,
        Some(name) => root
            .find_subcommand(name)
            .ok_or_else(|| unknown_command(&root, name))?,
    };
    output.text(&page(described)?)?;
    Ok(Exit::Success)
}

/// The name of the page: `bayplan` or `bayplan-run`.
fn title(command: &clap::Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

fn page(command: &clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .source(concat!("bayplan ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn unknown_command(root: &clap::Command, name: &str) -> Failure {
    let known: Vec<_> = root
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let known = known.join(", ");
    Failure::usage(format!("there is no command {name:?}; use one of {known}"))
}
