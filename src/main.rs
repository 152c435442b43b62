//! The `bayplan` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    bayplan::cli::main(std::env::args_os())
}
