//! What a run has exercised, from upstream's records: an empty test must not pass.

mod shortfall;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

pub(crate) use shortfall::Demand;

/// Counts over all records of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    clusters: usize,
    records: usize,
    outcomes: BTreeMap<String, usize>,
    /// Records in which the plugin refused a node.
    rejecting: BTreeMap<String, usize>,
    /// Records in which the plugin told nodes apart.
    scoring: BTreeMap<String, usize>,
    nominating: usize,
    with_victims: usize,
    /// Records in which a kind of preemption occurred.
    preemptions: BTreeMap<String, usize>,
}

impl Statistics {
    /// Adds the records of a cluster, and how often a kind of preemption occurred in them.
    pub(crate) fn add(&mut self, records: &[Value], preemptions: &BTreeMap<String, u64>) {
        self.clusters += 1;
        for (kind, count) in preemptions {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            *self.preemptions.entry(kind.clone()).or_default() += count;
        }
        for record in records {
            self.records += 1;
            let outcome = record["outcome"].as_str().unwrap_or_default();
            *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
            self.nominating += usize::from(record.get("nominated").is_some());
            self.with_victims += usize::from(record.get("victims").is_some());
            for plugin in rejecting(record) {
                *self.rejecting.entry(plugin).or_default() += 1;
            }
            for plugin in scoring(record) {
                *self.scoring.entry(plugin).or_default() += 1;
            }
        }
    }

    /// The share of the records in tenths of a percent.
    fn tenths(&self, count: usize) -> usize {
        (count * 1000).checked_div(self.records).unwrap_or(0)
    }

    fn percent(&self, count: usize) -> String {
        in_percent(self.tenths(count))
    }
}

fn in_percent(tenths: usize) -> String {
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn rejecting(record: &Value) -> BTreeSet<String> {
    let rejections = record["rejections"].as_object().into_iter().flatten();
    rejections
        .filter_map(|(_, rejection)| rejection["plugin"].as_str())
        .map(str::to_owned)
        .collect()
}

/// The plugins whose normalised scores are not all equal; a plugin that is left out gave 0.
fn scoring(record: &Value) -> BTreeSet<String> {
    let nodes: Vec<&Value> = record["scores"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, node)| node)
        .collect();
    let plugins: BTreeSet<&String> = nodes
        .iter()
        .filter_map(|node| node["plugins"].as_object())
        .flat_map(|plugins| plugins.keys())
        .collect();
    let tells_apart = |plugin: &&String| {
        let scores = nodes.iter().map(|node| {
            node["plugins"][plugin.as_str()]["normalized"]
                .as_i64()
                .unwrap_or(0)
        });
        scores.collect::<BTreeSet<_>>().len() > 1
    };
    plugins.into_iter().filter(tells_apart).cloned().collect()
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} clusters, {} records:", self.clusters, self.records)?;
        for (outcome, count) in &self.outcomes {
            writeln!(f, "  {outcome:<34} {:>8}", self.percent(*count))?;
        }
        writeln!(
            f,
            "  {:<34} {:>8}",
            "with a nominated node",
            self.percent(self.nominating)
        )?;
        writeln!(
            f,
            "  {:<34} {:>8}",
            "with victims",
            self.percent(self.with_victims)
        )?;
        for (kind, count) in &self.preemptions {
            writeln!(f, "    {kind:<32} {:>8}", self.percent(*count))?;
        }
        writeln!(f, "  {:<34} {:>8} {:>8}", "plugin", "refuses", "scores")?;
        let plugins: BTreeSet<_> = self.rejecting.keys().chain(self.scoring.keys()).collect();
        for plugin in plugins {
            let share = |counts: &BTreeMap<String, usize>| {
                counts
                    .get(plugin)
                    .map_or("-".to_owned(), |count| self.percent(*count))
            };
            writeln!(
                f,
                "  {plugin:<34} {:>8} {:>8}",
                share(&self.rejecting),
                share(&self.scoring)
            )?;
        }
        Ok(())
    }
}
