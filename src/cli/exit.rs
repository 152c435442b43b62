//! How a command ends: the exit code and, if it failed, why.

use std::io;

/// The exit codes of all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; the answer is yes; `run` was asked to stop.
    Success,
    /// The answer is no; `run` lost its lease.
    No,
    /// A flag, a file or its content cannot be used.
    Usage,
    /// The cluster cannot be reached.
    Unreachable,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The code that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }
}

/// Why a command could not do its work, in sentences for a person.
#[derive(Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// One line each; none if nobody is there to read them.
    pub messages: Vec<String>,
}

impl Failure {
    /// Something that was given cannot be used.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            messages: vec![message.into()],
        }
    }
}

impl From<io::Error> for Failure {
    /// Output failed. A reader that has seen enough, such as `head`, is no failure.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                exit: Exit::Success,
                messages: Vec::new(),
            };
        }
        Self {
            exit: Exit::No,
            messages: vec![format!("cannot write the output: {error}")],
        }
    }
}
