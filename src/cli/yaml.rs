//! YAML and JSON files, read and written. The only module that knows `serde_yaml`.
//!
//! A document is read into a JSON value first, as the API server would see it: `serde_yaml` itself
//! takes numbers for strings. Documents are cut apart here, so that one that cannot be read has a
//! line of its own.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::input::Place;

mod locate;
mod strict_value;

use strict_value::StrictValue;

/// One document of a file.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// What it says.
    pub(crate) value: Value,
    text: String,
    /// Lines of the file before the document.
    lines_before: usize,
}

/// Something that is no YAML, or not what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// Where, if that is known.
    pub(crate) place: Option<Place>,
    /// The path of the field, empty for the whole document.
    pub(crate) field: String,
    /// What is wrong, without a full stop.
    pub(crate) message: String,
}

/// The documents of `text`. Empty ones, such as the one behind a last `---`, are left out.
pub(crate) fn documents(text: &str) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    for (lines_before, text) in split(text) {
        let StrictValue(value) = serde_yaml::from_str(&text).map_err(|error| {
            let place = error.location().map(|at| Place {
                line: lines_before + at.line(),
                column: at.column(),
            });
            ReadError {
                place,
                field: String::new(),
                message: format!("not valid YAML: {}", without_place(&error)),
            }
        })?;
        if !value.is_null() {
            documents.push(Document {
                value,
                text,
                lines_before,
            });
        }
    }
    Ok(documents)
}

/// Cuts at the lines that begin a document, each with the number of lines before it. A document
/// keeps its `---`, since content may follow on the same line. Nothing but comments and directives
/// is no document.
fn split(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut parts: Vec<(usize, String)> = vec![(0, String::new())];
    for (number, line) in text
        .trim_start_matches('\u{feff}')
        .split_inclusive('\n')
        .enumerate()
    {
        let marker = line.strip_prefix("---");
        if marker.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            parts.push((number, String::new()));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
    }
    let says_something = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with(['#', '%'])
    };
    parts
        .into_iter()
        .filter(move |(_, part)| part.lines().any(says_something))
}

/// The message of `error` without the line and column that stand apart.
fn without_place(error: &serde_yaml::Error) -> String {
    let message = error.to_string();
    match message.find(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// Writes `value` as one document.
pub(crate) fn to_string(value: &impl Serialize) -> String {
    serde_yaml::to_string(value).expect("values with string keys must be writable as YAML")
}

impl Document {
    /// Reads the part of the document at `path` as `T`; the fields in errors begin with `path`.
    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        value: &Value,
        path: &str,
    ) -> Result<T, ReadError> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let field = match (path, error.path().to_string().as_str()) {
                (path, ".") => path.to_owned(),
                ("", field) => field.to_owned(),
                (path, field) => format!("{path}.{field}"),
            };
            ReadError {
                place: Some(self.place_of(&field)),
                message: error.into_inner().to_string(),
                field,
            }
        })
    }

    /// Where the value at `path` (`spec.plugins.filter.enabled[0].name`) stands in the file; if
    /// there is none, the nearest value around it.
    pub(crate) fn place_of(&self, path: &str) -> Place {
        let place = locate::locate(&self.text, path).unwrap_or(Place { line: 1, column: 1 });
        Place {
            line: self.lines_before + place.line,
            column: place.column,
        }
    }

    /// The objects of the document with their paths: itself, or the items of a `List`.
    pub(crate) fn objects(&self) -> Vec<(String, &Value)> {
        let is_list = self.value["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"));
        match self.value["items"].as_array() {
            Some(items) if is_list => items
                .iter()
                .enumerate()
                .map(|(i, item)| (format!("items[{i}]"), item))
                .collect(),
            _ => vec![(String::new(), &self.value)],
        }
    }
}

#[cfg(test)]
mod tests;
