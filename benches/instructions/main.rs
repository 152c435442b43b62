//! Instructions that a fixed set of operations takes, counted by callgrind and held against
//! `benches/instructions.md`: a regression shows on a noisy machine.
//!
//! `make instructions` fails when a count grew by more than 5 %; `make instructions UPDATE=1`
//! writes the table anew. Counted is what the program itself executes: the C library is left out,
//! since it chooses its `memcpy` by the processor and its `malloc` by its release. What is left depends
//! on the toolchain, which `rust-toolchain.toml` pins, and on the architecture, which the table names.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![allow(clippy::print_stderr, reason = "it says what is wrong")]
#![allow(
    clippy::disallowed_methods,
    reason = "it reads UPDATE from the environment"
)]

#[path = "../engine/bindings.rs"]
mod bindings;
#[path = "../engine/cluster.rs"]
#[allow(dead_code, reason = "shared with the bench of the engine")]
mod cluster;
#[path = "../engine/profiled.rs"]
mod profiled;
#[path = "../engine/workload.rs"]
#[allow(dead_code, reason = "shared with the bench of the engine")]
mod workload;
#[path = "../workload_file.rs"]
mod workload_file;

mod callgrind;
mod operations;
mod table;

use std::env;
use std::process::ExitCode;

use crate::operations::OPERATIONS;
use crate::table::{Row, Table};

/// With the number of an operation behind it: the program carries it out instead of counting.
const CARRY_OUT: &str = "--carry-out=";

fn main() -> ExitCode {
    let mut arguments = env::args();
    if let Some(number) = arguments.find_map(|a| a.strip_prefix(CARRY_OUT)?.parse().ok()) {
        operations::carry_out_one(number);
        return ExitCode::SUCCESS;
    }
    match count() {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count() -> Result<ExitCode, String> {
    let counts = callgrind::count(CARRY_OUT, OPERATIONS.len())?;
    let rows = OPERATIONS.iter().zip(counts);
    let rows = rows.map(|(operation, instructions)| Row {
        operation: operation.name.to_owned(),
        instructions,
    });
    let now = Table {
        architecture: env::consts::ARCH.to_owned(),
        rows: rows.collect(),
    };
    if env::var("UPDATE").is_ok_and(|update| update == "1") {
        now.write()?;
        print!("{}", now.markdown());
        return Ok(ExitCode::SUCCESS);
    }
    let before = Table::read()?;
    let grown = now.compare(&before)?;
    Ok(if grown {
        eprintln!(
            "instructions: a count grew by more than {} %; make it cheaper, or run 'make \
             instructions UPDATE=1' and commit the table with the change, saying why",
            table::TOLERANCE_PERCENT
        );
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
