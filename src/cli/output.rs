//! Where commands write: data to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// The two outputs of a command.
pub struct Output<'a> {
    /// What was asked for.
    pub data: &'a mut dyn Write,
    /// What a person should know beside it.
    pub notes: &'a mut dyn Write,
}

impl Output<'_> {
    /// Writes `text` as it is.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.data.write_all(text.as_bytes())?;
        self.data.flush()
    }

    /// Writes one line.
    pub fn line(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.data, "{line}")
    }

    /// Tells a person something. If even that fails nothing more can be done.
    pub fn note(&mut self, note: impl Display) {
        drop(writeln!(self.notes, "{note}"));
    }
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}
