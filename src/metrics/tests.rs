use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::engine::decision::{Decision, Outcome};
use crate::engine::diagnosis::Diagnosis;
use crate::model::pod_info::{PodKey, PodUid};

fn decision(outcome: Outcome) -> Decision {
    Decision {
        pod: PodKey {
            namespace: "ns".into(),
            name: "p".into(),
        },
        uid: PodUid("u".into()),
        profile: "bayplan".into(),
        attempt: 1,
        outcome,
        node_count: 1,
        feasible_count: 0,
        best: Vec::new(),
        diagnosis: Diagnosis::default(),
        nominated_node: None,
        victims: Vec::new(),
    }
}

#[test]
fn stable_metrics_have_upstreams_names_labels_and_buckets() {
    let metrics = Metrics::default();
    let unschedulable = Outcome::Unschedulable {
        message: String::new(),
    };
    metrics
        .scheduler
        .observe_decision(&decision(unschedulable), Duration::from_millis(3));
    metrics
        .scheduler
        .observe_bound(&Arc::from("bayplan"), Duration::from_millis(3));
    metrics
        .scheduler
        .set_gauges(crate::engine::cache::CacheSize::default(), |_| 2, 0);
    metrics.scheduler.observe(&crate::engine::Observations {
        bound: vec![crate::engine::BoundPod {
            profile: "bayplan".into(),
            attempts: 20,
            since_first_attempt: Duration::from_secs(1),
            since_assumed: Duration::from_millis(5),
        }],
        ..Default::default()
    });
    let text = metrics.encode();
    for line in [
        r#"scheduler_schedule_attempts_total{result="unschedulable",profile="bayplan"} 1"#,
        r#"scheduler_schedule_attempts_total{result="scheduled",profile="bayplan"} 1"#,
        r#"scheduler_scheduling_attempt_duration_seconds_bucket{le="0.004",result="scheduled",profile="bayplan"} 1"#,
        r#"scheduler_scheduling_attempt_duration_seconds_bucket{le="16.384",result="scheduled",profile="bayplan"} 1"#,
        "scheduler_scheduling_algorithm_duration_seconds_count 1",
        r#"scheduler_pending_pods{queue="active"} 2"#,
        r#"scheduler_pod_scheduling_attempts_bucket{le="16.0"} 0"#,
        r#"scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"} 1"#,
        "scheduler_preemption_attempts_total 0",
        r#"scheduler_preemption_victims_bucket{le="64.0"} 0"#,
        r#"scheduler_cache_size{type="assumed_pods"} 0"#,
        "process_resident_memory_bytes ",
        "process_cpu_seconds_total ",
    ] {
        assert!(
            text.lines().any(|l| l.starts_with(line)),
            "{line} is missing in\n{text}"
        );
    }
}
