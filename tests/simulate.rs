//! The examples, simulated: records are compared with golden files to the byte.
//!
//! `UPDATE=1 cargo test --test simulate` writes the golden files anew.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(
    clippy::disallowed_methods,
    reason = "the switch that rewrites golden files is an environment variable"
)]

use std::path::{Path, PathBuf};

use bayplan::sim::{DecisionRecord, NamedDocument, SimulateOptions, run, table};
use serde::Deserialize;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn documents(example: &str) -> Vec<NamedDocument> {
    let file = format!("examples/{example}.yaml");
    let text = std::fs::read_to_string(root().join(&file)).unwrap();
    serde_yaml::Deserializer::from_str(&text)
        .enumerate()
        .map(|(index, document)| NamedDocument {
            file: file.clone(),
            index: index + 1,
            value: Value::deserialize(document).unwrap(),
        })
        .collect()
}

fn simulate(example: &str, options: &SimulateOptions) -> Vec<DecisionRecord> {
    run(documents(example), options).unwrap()
}

fn lines(records: &[DecisionRecord]) -> String {
    let line = |record| serde_json::to_string(record).unwrap() + "\n";
    records.iter().map(line).collect()
}

fn check_golden(name: &str, actual: &str) {
    let path = root().join("tests/golden/simulate").join(name);
    if std::env::var("UPDATE").is_ok_and(|update| update == "1") {
        std::fs::write(&path, actual).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        actual, golden,
        "{name} has changed; if that is meant: UPDATE=1 cargo test --test simulate"
    );
}

fn check_example(example: &str) {
    let options = SimulateOptions::default();
    let first = lines(&simulate(example, &options));
    let second = lines(&simulate(example, &options));
    assert_eq!(first, second, "the same input must give the same records");
    check_golden(&format!("{example}.jsonl"), &first);
}

#[test]
fn resources_and_taints() {
    check_example("resources-and-taints");
}

#[test]
fn node_affinity_and_ports() {
    check_example("node-affinity-and-ports");
}

#[test]
fn profile_binpacking() {
    check_example("profile-binpacking");
}

#[test]
fn one_profile_can_decide_for_all_pods() {
    let options = SimulateOptions {
        profile: Some("spreading".into()),
        ..SimulateOptions::default()
    };
    let records = simulate("profile-binpacking", &options);
    check_golden("profile-binpacking-as-spreading.jsonl", &lines(&records));
}

#[test]
fn tables_are_for_people() {
    let records = simulate("resources-and-taints", &SimulateOptions::default());
    check_golden("resources-and-taints.txt", &table(&records));
}

#[test]
fn records_read_back_as_they_were_written() {
    for record in simulate("node-affinity-and-ports", &SimulateOptions::default()) {
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(
            serde_json::from_str::<DecisionRecord>(&text).unwrap(),
            record
        );
    }
}
