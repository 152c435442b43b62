//! Something that is wrong in a file: where it is and what to do about it.

use std::fmt;

use crate::cli::input::Place;
use crate::cli::yaml::{Document, ReadError};

/// One thing that is wrong, as a line of the form `file:line:column: object: field: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The name of the file.
    pub(crate) file: String,
    /// Where in the file.
    pub(crate) place: Option<Place>,
    /// The object, like `SchedulerProfile "bayplan"`; empty if it has no name.
    pub(crate) object: String,
    /// The path of the field from the object's root; empty for the object itself.
    pub(crate) field: String,
    /// What is wrong and what to do about it, without a full stop.
    pub(crate) message: String,
}

/// An object in a file: what findings about it have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The name of the file.
    pub(crate) file: &'a str,
    /// The document that holds the object.
    pub(crate) document: &'a Document,
    /// The path of the object in the document.
    pub(crate) path: &'a str,
    /// The object, like `SchedulerProfile "bayplan"`.
    pub(crate) object: &'a str,
}

impl Finding {
    /// A file that cannot be read as YAML.
    pub(crate) fn unreadable(file: &str, error: ReadError) -> Self {
        Self {
            file: file.to_owned(),
            place: error.place,
            object: String::new(),
            field: error.field,
            message: error.message,
        }
    }
}

impl Subject<'_> {
    /// Something that is wrong with the field at `field`, counted from the object's root.
    pub(crate) fn finding(&self, field: &str, message: impl Into<String>) -> Finding {
        let path = match (self.path, field) {
            (path, "") => path.to_owned(),
            ("", field) => field.to_owned(),
            (path, field) => format!("{path}.{field}"),
        };
        Finding {
            file: self.file.to_owned(),
            place: Some(self.document.place_of(&path)),
            object: self.object.to_owned(),
            field: field.to_owned(),
            message: message.into(),
        }
    }

    /// A value that is not of the type that the field has.
    pub(crate) fn mistyped(&self, error: ReadError) -> Finding {
        let field = error.field.strip_prefix(self.path).unwrap_or(&error.field);
        self.finding(field.trim_start_matches('.'), error.message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{place}")?;
        }
        f.write_str(": ")?;
        for part in [&self.object, &self.field] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.message)
    }
}
