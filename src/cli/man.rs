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
    if let Some(dir) = &arguments.dir {
        clap_mangen::generate_to(root, dir).map_err(|error| {
            let dir = dir.display();
            Failure::usage(format!("cannot write manual pages to {dir}: {error}"))
        })?;
        return Ok(Exit::Success);
    }
    root.build();
    let described = match &arguments.command {
        None => root,
        Some(name) => root
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| unknown_command(&root, name))?,
    };
    let mut page = Vec::new();
    Man::new(described).render(&mut page)?;
    output.text(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}

fn unknown_command(root: &clap::Command, name: &str) -> Failure {
    let known: Vec<_> = root
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let known = known.join(", ");
    Failure::usage(format!("there is no command {name:?}; use one of {known}"))
}
