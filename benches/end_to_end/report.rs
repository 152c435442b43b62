//! What was measured, as JSON, as Markdown and as a picture.

mod goals;
mod markdown;
mod svg;

use std::path::Path;

use serde_json::json;

use crate::arguments::Arguments;
use crate::contestant::Contestant;
use crate::measurement::Measurement;
use crate::output;

/// All measurements of a run.
pub(crate) struct Report {
    nodes: usize,
    measurements: Vec<Measurement>,
}

/// The measurements of one workload beside as many running pods.
pub(crate) struct Row<'a> {
    workload: &'a str,
    running: usize,
    measurements: Vec<&'a Measurement>,
}

impl Report {
    /// Nothing yet.
    pub(crate) fn new(arguments: &Arguments) -> Self {
        Self {
            nodes: arguments.nodes,
            measurements: Vec::new(),
        }
    }

    /// Takes a measurement.
    pub(crate) fn add(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// The tables.
    pub(crate) fn markdown(&self) -> String {
        markdown::tables(self.nodes, &self.rows())
    }

    /// Writes `end-to-end.json`, `.md` and `.svg`.
    pub(crate) fn save(&self, folder: &Path) -> anyhow::Result<()> {
        let json = json!({"nodes": self.nodes, "measurements": self.measurements});
        let json = serde_json::to_string_pretty(&json)?;
        let files = [
            ("json", json),
            ("md", self.markdown()),
            ("svg", svg::bars(&self.rows())),
        ];
        output::write(folder, "end-to-end", &files)
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for measurement in &self.measurements {
            let of = |row: &&mut Row<'_>| {
                row.workload == measurement.workload && row.running == measurement.running
            };
            match rows.iter_mut().find(of) {
                Some(row) => row.measurements.push(measurement),
                None => rows.push(Row {
                    workload: &measurement.workload,
                    running: measurement.running,
                    measurements: vec![measurement],
                }),
            }
        }
        rows
    }
}

impl Row<'_> {
    /// The median of a figure over the repetitions.
    fn figure(
        &self,
        contestant: Contestant,
        figure: impl Fn(&Measurement) -> Option<f64>,
    ) -> Option<f64> {
        let of = self.measurements.iter();
        let of = of.filter(|measurement| measurement.contestant == contestant);
        let mut figures: Vec<f64> = of.filter_map(|measurement| figure(measurement)).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied()
    }
}
