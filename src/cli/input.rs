//! Files that commands read, and places in them.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use crate::cli::Failure;

/// The name that stands for standard input.
const STDIN: &str = "-";

/// Largest file that is read: a dump of a cluster of 5,000 nodes and 150,000 pods fits.
const MAX_BYTES: u64 = 4 << 30;

/// Reads a text file, or standard input if `path` is `-`.
///
/// # Errors
/// One sentence with the name of the file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let name = name(path);
    let fail = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::NotFound => format!("there is no file {name}; check the path"),
            io::ErrorKind::IsADirectory => {
                format!("{name} is a directory; name the files in it")
            }
            io::ErrorKind::InvalidData => format!("{name} is not a text file; give YAML or JSON"),
            _ => format!("cannot read {name}: {error}"),
        };
        Failure::usage(message)
    };
    let mut text = String::new();
    let read = if path.as_os_str() == STDIN {
        io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path).map_err(fail)?;
        file.take(MAX_BYTES).read_to_string(&mut text)
    };
    read.map_err(fail)?;
    Ok(text)
}

/// How messages call the file at `path`.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == STDIN {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
