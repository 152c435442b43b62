use std::time::Duration;

use super::*;
use crate::engine::decision::{Decision, Outcome};
use crate::engine::diagnosis::Diagnosis;
use crate::engine::effect::{
    Effect, EffectAction, EffectFailure, EffectId, EffectOutcome, FailureKind,
};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::{FailedBinding, TimedPoint};
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
        post_filters: Vec::new(),
        victims: Vec::new(),
        preemption: None,
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
        .set_gauges(crate::engine::cache::CacheSize::default(), |_| 2, 0);
    metrics.scheduler.observe(&crate::engine::Observations {
        bound: vec![crate::engine::BoundPod {
            profile: "bayplan".into(),
            attempts: 20,
            since_first_attempt: Duration::from_secs(1),
            since_assumed: Duration::from_millis(3),
        }],
        failed_bindings: vec![FailedBinding {
            profile: "bayplan".into(),
            result: "error",
            since_assumed: Duration::from_millis(3),
        }],
        timed_points: vec![TimedPoint {
            point: ObservedPoint::PreBind,
            status: StatusCode::Success,
            profile: "bayplan".into(),
            duration: Duration::from_micros(300),
        }],
        permit_waits: vec![(Duration::from_secs(1), StatusCode::Unschedulable)],
        ..Default::default()
    });
    let text = metrics.encode();
    for line in [
        r#"scheduler_schedule_attempts_total{result="unschedulable",profile="bayplan"} 1"#,
        r#"scheduler_schedule_attempts_total{result="scheduled",profile="bayplan"} 1"#,
        r#"scheduler_schedule_attempts_total{result="error",profile="bayplan"} 1"#,
        r#"scheduler_framework_extension_point_duration_seconds_bucket{le="0.0002",extension_point="PreBind",status="Success",profile="bayplan"} 0"#,
        r#"scheduler_framework_extension_point_duration_seconds_bucket{le="0.0004",extension_point="PreBind",status="Success",profile="bayplan"} 1"#,
        r#"scheduler_framework_extension_point_duration_seconds_bucket{le="0.2048",extension_point="PreBind",status="Success",profile="bayplan"} 1"#,
        r#"scheduler_permit_wait_duration_seconds_count{result="Unschedulable"} 1"#,
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

#[test]
fn only_bindings_that_were_sent_are_calls_of_the_point_bind() {
    let metrics = Metrics::default();
    let bind = Effect {
        id: EffectId(1),
        pod: PodKey {
            namespace: "ns".into(),
            name: "p".into(),
        },
        uid: PodUid("u".into()),
        profile: "bayplan".into(),
        action: EffectAction::Bind { node: "n".into() },
    };
    let failed = |kind| {
        let message = String::new();
        EffectOutcome::Failed(EffectFailure { kind, message })
    };
    let done = EffectOutcome::Done {
        resource_version: None,
    };
    for outcome in [
        done,
        failed(FailureKind::AlreadyBound),
        failed(FailureKind::Unavailable),
        failed(FailureKind::NotLeading),
        EffectOutcome::Superseded,
    ] {
        let duration = Duration::from_millis(3);
        metrics.dispatcher.observe(&bind, &outcome, duration);
    }
    let text = metrics.encode();
    for (status, count) in [("Success", 1), ("Error", 2)] {
        let line = format!(
            "scheduler_framework_extension_point_duration_seconds_count{{\
             extension_point=\"Bind\",status=\"{status}\",profile=\"bayplan\"}} {count}"
        );
        assert!(
            text.lines().any(|l| l == line),
            "{line} is missing in\n{text}"
        );
    }
}

#[test]
fn every_run_of_preemption_is_an_attempt_and_a_success_has_its_victims() {
    let metrics = Metrics::default();
    let unschedulable = || {
        decision(Outcome::Unschedulable {
            message: String::new(),
        })
    };
    let in_vain = Decision {
        post_filters: vec!["DefaultPreemption"],
        ..unschedulable()
    };
    let successful = Decision {
        victims: vec![PodUid("a".into()), PodUid("b".into())],
        ..in_vain.clone()
    };
    for decision in [unschedulable(), in_vain, successful] {
        metrics
            .scheduler
            .observe_decision(&decision, Duration::from_millis(1));
    }
    let text = metrics.encode();
    for line in [
        "scheduler_preemption_attempts_total 2",
        "scheduler_preemption_victims_count 1",
        "scheduler_preemption_victims_sum 2.0",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
