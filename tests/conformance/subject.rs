//! What is held against upstream.

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::engine::cache::tie_break::TieBreak;
use bayplan::plugins::registry::Registry;
use bayplan::sim::{self, DecisionRecord, NamedDocument, SimulateOptions};
use serde_json::Value;

/// Who decides beside upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// This build.
    Bayplan,
    /// Upstream once more: what the clusters exercise in it, and whether its answers can be held
    /// against anything.
    Upstream,
}

impl Subject {
    /// The plugins that decide, by name.
    pub(crate) fn plugins(self) -> Vec<&'static str> {
        let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
        match self {
            Self::Bayplan => {
                let registered = Registry.names();
                default.filter(|name| registered.contains(name)).collect()
            }
            Self::Upstream => default.collect(),
        }
    }

    /// Upstream's default plugins that do not decide.
    pub(crate) fn missing(self) -> Vec<&'static str> {
        let there = self.plugins();
        let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
        default.filter(|name| !there.contains(name)).collect()
    }
}

/// Bayplan's records for a cluster, or why it takes no such cluster. What it decides by classes of
/// pods must be the same.
pub(crate) fn bayplan(objects: &[Value]) -> Result<Vec<Value>, String> {
    let documents = objects
        .iter()
        .enumerate()
        .map(|(index, value)| NamedDocument {
            file: "cluster.yaml".to_owned(),
            index: index + 1,
            value: value.clone(),
        });
    let documents: Vec<NamedDocument> = documents.collect();
    let options = SimulateOptions {
        tie_break: TieBreak::Name,
        ..SimulateOptions::default()
    };
    let live = sim::run_live(documents.clone(), &options).map_err(|error| error.to_string())?;
    let records = sim::run(documents, &options).map_err(|error| error.to_string())?;
    for (live, record) in live.iter().zip(&records) {
        let record = without_nodes(record.clone());
        if *live != record {
            return Err(format!(
                "by classes it is {live:?}, and otherwise {record:?}"
            ));
        }
    }
    if live.len() != records.len() {
        let counts = (live.len(), records.len());
        return Err(format!(
            "{counts:?} pods are decided by classes and otherwise"
        ));
    }
    let values = records.into_iter().map(serde_json::to_value);
    values
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

fn without_nodes(mut record: DecisionRecord) -> DecisionRecord {
    record.feasible.clear();
    record.best.clear();
    record.scores.clear();
    record.rejections.clear();
    record
}
