//! `bayplan simulate --generate`: decisions about a generated cluster, line by line or counted.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use crate::cli::simulate::Format;
use crate::cli::{Exit, Failure, Output};
use crate::sim::generated::{self, GenerateOptions, GeneratedDecision};
use crate::sim::{NamedDocument, SimulateOptions};

pub(super) fn run(
    documents: Vec<NamedDocument>,
    options: &SimulateOptions,
    generate: &GenerateOptions,
    format: Format,
    output: &mut Output<'_>,
) -> Result<Exit, Failure> {
    let Output { data, notes } = output;
    let mut lines = BufWriter::new(data);
    let mut failed = None;
    let note = |note| drop(writeln!(notes, "note: {note}"));
    let each = |decision: &GeneratedDecision| {
        if format == Format::Table {
            return ControlFlow::Continue(());
        }
        let line = serde_json::to_string(decision).map_err(std::io::Error::from);
        match line.and_then(|line| writeln!(lines, "{line}")) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let summary = generated::run(documents, options, generate, note, each)
        .map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if format == Format::Table {
        write!(lines, "{summary}")?;
    }
    lines.flush()?;
    Ok(Exit::Success)
}
