//! Tables: printed as they grow, kept as Markdown and JSON in `target/bench`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Map, Value, json};

/// A table of measurements.
#[derive(Debug)]
pub(crate) struct Table {
    name: &'static str,
    title: String,
    columns: &'static [&'static str],
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// An empty table; its head is printed.
    pub(crate) fn new(
        name: &'static str,
        title: impl Into<String>,
        columns: &'static [&'static str],
    ) -> Self {
        let title = title.into();
        let table = Self {
            name,
            title,
            columns,
            rows: Vec::new(),
        };
        print!("\n{}", table.head());
        table
    }

    /// Adds a row, and prints it.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<Value>>) {
        let cells = cells.into();
        assert_eq!(cells.len(), self.columns.len(), "{}", self.name);
        println!("{}", markdown_row(&cells));
        self.rows.push(cells);
    }

    fn head(&self) -> String {
        let columns = self.columns.join(" | ");
        let rule = "---|".repeat(self.columns.len());
        format!("### {}\n\n| {columns} |\n|{rule}\n", self.title)
    }

    fn markdown(&self) -> String {
        let mut text = self.head();
        for row in &self.rows {
            writeln!(text, "{}", markdown_row(row)).expect("a text must be writable");
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let columns = self.columns.iter().map(|column| (*column).to_owned());
            columns.zip(row.iter().cloned()).collect::<Map<_, _>>()
        });
        json!({"title": self.title, "rows": rows.collect::<Vec<_>>()})
    }
}

/// Writes the tables as `target/bench/NAME.md` and `.json`; tells where.
pub(crate) fn save(name: &str, tables: &[Table]) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench");
    fs::create_dir_all(&folder)?;
    let markdown: Vec<_> = tables.iter().map(Table::markdown).collect();
    let path = folder.join(format!("{name}.md"));
    fs::write(&path, markdown.join("\n"))?;
    let tables = tables.iter().map(|table| (table.name, table.json()));
    let json: Map<_, _> = tables
        .map(|(name, table)| (name.to_owned(), table))
        .collect();
    fs::write(
        folder.join(format!("{name}.json")),
        format!("{:#}\n", Value::Object(json)),
    )?;
    Ok(path)
}

/// A measurement of which the fraction says nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "measurements are positive, and casts saturate"
)]
pub(crate) fn whole(number: f64) -> Value {
    Value::from(number.round() as u64)
}

fn markdown_row(cells: &[Value]) -> String {
    let cells: Vec<_> = cells.iter().map(cell).collect();
    format!("| {} |", cells.join(" | "))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => with_separators(whole),
            (None, Some(part)) => format!("{part:.2}"),
            (None, None) => number.to_string(),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// `1,234,567`.
fn with_separators(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
