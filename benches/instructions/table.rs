//! The table of counts that is checked in.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// By how much a count may grow, and by how much it may shrink before the table is called stale.
pub(crate) const TOLERANCE_PERCENT: u64 = 5;

const HEAD: &str = "\
# Instructions

What `make instructions` counts, and holds later counts against. `make instructions UPDATE=1` writes
this file. [docs/performance.md](../docs/performance.md) says what is counted.
";

/// Counts of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) operation: String,
    /// Executed by the program itself.
    pub(crate) instructions: u64,
}

/// All counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) architecture: String,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    fn path() -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "benches", "instructions.md"]
            .iter()
            .collect()
    }

    /// Reads the table that is checked in.
    pub(crate) fn read() -> Result<Self, String> {
        let path = Self::path();
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Self::parse(&text).ok_or_else(|| {
            format!(
                "{} is no table; write it anew with UPDATE=1",
                path.display()
            )
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut table = Self {
            architecture: String::new(),
            rows: Vec::new(),
        };
        for line in text.lines() {
            if let Some(architecture) = line.strip_prefix("Architecture: ") {
                architecture
                    .trim_end_matches('.')
                    .clone_into(&mut table.architecture);
            }
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [_, operation, instructions, _] = cells[..] else {
                continue;
            };
            if let Ok(instructions) = instructions.parse() {
                let operation = operation.to_owned();
                table.rows.push(Row {
                    operation,
                    instructions,
                });
            }
        }
        (!table.rows.is_empty() && !table.architecture.is_empty()).then_some(table)
    }

    /// Writes the table that is checked in.
    pub(crate) fn write(&self) -> Result<(), String> {
        let path = Self::path();
        fs::write(&path, self.markdown())
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// The file.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("{HEAD}\nArchitecture: {}.\n\n", self.architecture);
        text.push_str("| operation | instructions |\n|---|---:|\n");
        for row in &self.rows {
            writeln!(text, "| {} | {} |", row.operation, row.instructions)
                .expect("a text must be writable");
        }
        text
    }

    /// Prints these counts beside those of `before`; tells whether one grew too much.
    pub(crate) fn compare(&self, before: &Self) -> Result<bool, String> {
        if self.architecture != before.architecture {
            return Err(format!(
                "the table is for {}, this machine is {}: counts cannot be compared; run it on a \
                 machine like that, or read the counts with UPDATE=1 and do not commit them",
                before.architecture, self.architecture
            ));
        }
        let names = |table: &Self| table.rows.iter().map(|r| r.operation.clone()).collect();
        let (here, there): (Vec<String>, Vec<String>) = (names(self), names(before));
        if here != there {
            return Err("the table has other operations; write it anew with UPDATE=1".to_owned());
        }
        println!(
            "{:<58} {:>14} {:>14} {:>8}",
            "OPERATION", "TABLE", "NOW", "CHANGE"
        );
        let mut has_grown = false;
        for (now, then) in self.rows.iter().zip(&before.rows) {
            has_grown |= line(&now.operation, then.instructions, now.instructions);
        }
        Ok(has_grown)
    }
}

/// Prints one comparison; tells whether the count grew too much.
fn line(name: &str, then: u64, now: u64) -> bool {
    let limit = then + then * TOLERANCE_PERCENT / 100;
    let floor = then - then * TOLERANCE_PERCENT / 100;
    let verdict = match now {
        _ if now > limit => "GREW",
        _ if now < floor => "shrank: the table should be renewed",
        _ => "",
    };
    let permille = i128::from(now) * 1000 / i128::from(then.max(1)) - 1000;
    let (sign, whole) = (if permille < 0 { '-' } else { '+' }, permille.abs());
    let change = format!("{sign}{}.{} %", whole / 10, whole % 10);
    println!("{name:<58} {then:>14} {now:>14} {change:>8} {verdict}");
    now > limit
}
