//! Decides a cluster, and reads what came out.

use bayplan::engine::cache::tie_break::TieBreak;
use bayplan::sim::{DecisionRecord, NamedDocument, RecordOutcome, SimulateOptions, run};
use serde_json::Value;

use crate::upstream;

/// The records of one cluster.
#[derive(Debug)]
pub(crate) struct Verdict(Vec<DecisionRecord>);

/// Decides the objects and holds the records against upstream's, which are kept under the name of
/// the test, with a suffix where a test decides several clusters.
macro_rules! decide {
    ($objects:expr) => {
        $crate::verdict::decide!($objects, "")
    };
    ($objects:expr, $suffix:expr) => {{
        fn here() {}
        let place = $crate::verdict::place_of(here);
        $crate::verdict::against_upstream(&format!("{place}{}", $suffix), &$objects)
    }};
}
pub(crate) use decide;

/// `subject/test` of a function inside a test.
pub(crate) fn place_of<T>(_: T) -> String {
    let path = std::any::type_name::<T>().trim_end_matches("::here");
    path.trim_start_matches("cases::").replace("::", "/")
}

pub(crate) fn against_upstream(name: &str, objects: &[Value]) -> Verdict {
    let verdict = simulated(objects).unwrap();
    assert_eq!(
        verdict.0,
        upstream::records(name, objects),
        "{name}: Bayplan decides otherwise (left) than upstream (right)"
    );
    verdict
}

/// The records for a cluster, ties taken by name, or why it cannot be read.
pub(crate) fn simulated(objects: &[Value]) -> Result<Verdict, String> {
    let documents = objects.iter().enumerate();
    let documents = documents.map(|(index, value)| NamedDocument {
        file: "cluster.yaml".to_owned(),
        index: index + 1,
        value: value.clone(),
    });
    let options = SimulateOptions {
        tie_break: TieBreak::Name,
        ..SimulateOptions::default()
    };
    let records = run(documents.collect(), &options);
    records.map(Verdict).map_err(|error| error.to_string())
}

impl Verdict {
    /// What was decided for a pod of the default namespace.
    pub(crate) fn of(&self, pod: &str) -> &DecisionRecord {
        let key = format!("default/{pod}");
        let record = self.0.iter().find(|record| record.pod == key);
        record.unwrap_or_else(|| panic!("there must be a record of {key}"))
    }

    /// The node of a pod.
    pub(crate) fn node(&self, pod: &str) -> Option<&str> {
        self.of(pod).node.as_deref()
    }

    pub(crate) fn is_pending(&self, pod: &str) -> bool {
        self.of(pod).outcome == RecordOutcome::Unschedulable
    }

    /// The nodes on which a pod fits.
    pub(crate) fn feasible(&self, pod: &str) -> Vec<&str> {
        self.of(pod).feasible.iter().map(String::as_str).collect()
    }

    /// The raw score that a plugin gives a node.
    pub(crate) fn raw_score(&self, pod: &str, node: &str, plugin: &str) -> i64 {
        self.of(pod).scores[node].plugins[plugin].raw
    }
}
