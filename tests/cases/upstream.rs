//! Upstream's records, as the oracle gave them once.
#![expect(
    clippy::disallowed_methods,
    reason = "the switch that asks the oracle again is an environment variable"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use bayplan::sim::DecisionRecord;
use serde_json::Value;

use crate::configuration::configuration;

/// The records that are kept under `name`; asked of the oracle first if `UPDATE=1`.
pub(crate) fn records(name: &str, objects: &[Value]) -> Vec<DecisionRecord> {
    let file = root()
        .join("tests/golden/cases")
        .join(format!("{name}.jsonl"));
    if std::env::var("UPDATE").is_ok_and(|update| update == "1") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, ask(objects)).unwrap();
    }
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{name}: {error}; UPDATE=1 asks the oracle"));
    let records = text.lines().map(serde_json::from_str::<DecisionRecord>);
    let mut records: Vec<_> = records.collect::<Result<_, _>>().unwrap();
    records.iter_mut().for_each(leave_out_empty_volume_scores);
    records
}

/// Upstream's `VolumeBinding` scores pods without volumes to bind, each node with 0; here it is
/// skipped for them. Totals are the same.
fn leave_out_empty_volume_scores(record: &mut DecisionRecord) {
    const PLUGIN: &str = "VolumeBinding";
    let scores = record.scores.values();
    let mut raw = scores.filter_map(|node| node.plugins.get(PLUGIN));
    if raw.all(|score| score.raw == 0 && score.weighted == 0) {
        for node in record.scores.values_mut() {
            node.plugins.remove(PLUGIN);
        }
    }
}

/// What the oracle prints, the plugins left out that Bayplan does not have.
fn ask(objects: &[Value]) -> String {
    let registered = Registry.names();
    let missing = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    let missing: Vec<_> = missing.filter(|name| !registered.contains(name)).collect();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    std::fs::write(&config, configuration(objects, &missing).to_string()).unwrap();
    let cluster: Vec<_> = objects.iter().map(Value::to_string).collect();
    let mut oracle = Command::new(binary())
        .arg("--config")
        .arg(&config)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = oracle.stdin.take().unwrap();
    input.write_all(cluster.join("\n---\n").as_bytes()).unwrap();
    drop(input);
    let output = oracle.wait_with_output().unwrap();
    assert!(output.status.success(), "the oracle must take the cluster");
    String::from_utf8(output.stdout).unwrap()
}

/// The oracle, built once if it is not there.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let build = root().join("tests/controlplane/build");
        let output = Command::new(build).arg("oracle").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Path::new(text.lines().last().unwrap()).join("oracle")
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}
