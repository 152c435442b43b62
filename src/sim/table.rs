//! Records as a table for people.

use crate::sim::record::{DecisionRecord, RecordOutcome};

const HEADER: [&str; 6] = ["POD", "OUTCOME", "NODE", "SCORE", "FITS", "MESSAGE"];
/// What separates columns, as in the tables of `kubectl`.
const GAP: usize = 3;

/// One line a record under a header, and a line that counts the outcomes. `FITS` tells how many
/// of the nodes that were looked at fit.
pub fn table(records: &[DecisionRecord]) -> String {
    let rows: Vec<[String; 6]> = std::iter::once(HEADER.map(str::to_owned))
        .chain(records.iter().map(row))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEADER.len()).map(|c| width(c).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let padding = width + GAP - cell.chars().count();
            line.extend(std::iter::repeat_n(' ', padding));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&summary(records));
    text
}

fn row(record: &DecisionRecord) -> [String; 6] {
    let node = record.node.clone().unwrap_or_default();
    let score = record
        .scores
        .get(&node)
        .map(|score| score.total.to_string());
    let seen = record.feasible.len() + record.rejections.len();
    let fits = (seen > 0).then(|| format!("{}/{seen}", record.feasible.len()));
    let mut message = record.message.clone();
    if let (RecordOutcome::Unschedulable, Some(nominated)) = (record.outcome, &record.nominated) {
        message = format!("{message} (nominated: {nominated})");
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        record.pod.clone(),
        record.outcome.as_str().to_owned(),
        or_dash(record.node.clone()),
        or_dash(score),
        or_dash(fits),
        message,
    ]
}

fn summary(records: &[DecisionRecord]) -> String {
    use RecordOutcome::{Error, Gated, Scheduled, Unschedulable};
    let counts = [Scheduled, Unschedulable, Gated, Error].map(|outcome| {
        let count = records
            .iter()
            .filter(|record| record.outcome == outcome)
            .count();
        (count, outcome.as_str())
    });
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match records.len() {
        0 => "no pending pods\n".to_owned(),
        1 => format!("\n1 pod: {}\n", parts.join(", ")),
        pods => format!("\n{pods} pods: {}\n", parts.join(", ")),
    }
}
