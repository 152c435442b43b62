//! The alerts ask for metrics that the program has.

use std::collections::BTreeSet;
use std::time::Duration;

use bayplan::engine::cache::CacheSize;
use bayplan::engine::{FailedBinding, Observations};
use bayplan::kubernetes::leadership::Leadership;
use bayplan::kubernetes::leadership::stats::ElectionStats;
use bayplan::metrics::{ElectionCollector, Metrics};

use crate::helm::{objects, of_kind, template_ci};

/// The metrics of the program that an expression names.
fn metrics_of(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = ["bayplan_", "leader_election_", "scheduler_"];
    words
        .filter(|word| ours.iter().any(|prefix| word.starts_with(prefix)))
        .map(String::from)
        .collect()
}

/// What the program serves at `/metrics`, after one attempt: a metric without a sample is left out.
fn served() -> String {
    let mut metrics = Metrics::default();
    let scheduler = &metrics.scheduler;
    scheduler.observe(&Observations {
        failed_bindings: vec![FailedBinding {
            profile: "bayplan".into(),
            result: "error",
            since_assumed: Duration::from_millis(1),
        }],
        ..Observations::default()
    });
    scheduler.set_gauges(CacheSize::default(), |_| 1, 0);
    let election = ElectionCollector {
        leadership: Leadership::always(),
        stats: ElectionStats::default(),
        name: "bayplan".to_owned(),
    };
    metrics
        .registry_mut()
        .register_collector(Box::new(election));
    metrics.encode()
}

#[test]
fn alerts_name_metrics_that_the_program_serves() {
    let objects = objects(&template_ci("scheduling", "everything"));
    let rule = of_kind(&objects, "PrometheusRule")[0];
    let rules = rule["spec"]["groups"][0]["rules"].as_sequence();
    let served = served();
    let mut named = BTreeSet::new();
    for rule in rules.expect("there must be rules") {
        let expression = rule["expr"]
            .as_str()
            .expect("a rule must have an expression");
        named.extend(metrics_of(expression));
    }
    assert_eq!(named.len(), 3, "{named:?}");
    for name in named {
        // A counter's description leaves out the suffix of its samples.
        let described = format!("# TYPE {} ", name.trim_end_matches("_total"));
        assert!(served.contains(&described), "{name} is not in:\n{served}");
    }
}
