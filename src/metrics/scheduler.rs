//! The scheduler's own families.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::engine::cache::CacheSize;
use crate::engine::decision::Decision;
use crate::engine::framework::PluginName;
use crate::engine::observer::StatusCode;
use crate::engine::queue::Place;
use crate::engine::{BoundPod, EndedPreemption, Observations};
use crate::metrics::{ExtensionPointMetrics, buckets};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Result_ {
    result: &'static str,
    profile: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabel {
    queue: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Incoming {
    queue: &'static str,
    event: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Attempts {
    attempts: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SizeOf {
    r#type: &'static str,
}

/// The plugin whose runs upstream counts as attempts to preempt.
const PREEMPTION: PluginName = "DefaultPreemption";

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Families of the engine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SchedulerMetrics {
    schedule_attempts: Family<Result_, Counter>,
    attempt_duration: Histograms<Result_>,
    algorithm_duration: Histogram,
    pending_pods: Family<QueueLabel, Gauge>,
    incoming_pods: Family<Incoming, Counter>,
    scheduling_attempts: Histogram,
    sli_duration: Histograms<Attempts>,
    preemption_attempts: Counter,
    preemption_victims: Histogram,
    preemption_executions: Family<Execution, Counter>,
    preemption_execution_duration: Histograms<PreemptorExecution>,
    preemption_goroutines_duration: Histograms<Execution>,
    preemption_pdb_violations: Family<Preemptor, Counter>,
    /// How long extension points took.
    pub extension_points: ExtensionPointMetrics,
    permit_wait: Histograms<PermitResult>,
    cache_size: Family<SizeOf, Gauge>,
    inflight_events: Gauge,
    scheduled_after_flush: Counter,
    quarantined: Gauge,
    engine_restarts: Counter,
}

/// How the evictions of a preemption ended: `success` or `error`.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Execution {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PreemptorExecution {
    preemptor: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Preemptor {
    preemptor: &'static str,
}

/// The only kind of preemptor there is yet.
pub(super) const POD: &str = "pod";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PermitResult {
    result: StatusCode,
}

impl SchedulerMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let attempt_histogram: fn() -> Histogram = || Histogram::new(buckets::attempt_seconds());
        let metrics = Self {
            schedule_attempts: Family::default(),
            attempt_duration: Family::new_with_constructor(attempt_histogram),
            algorithm_duration: Histogram::new(buckets::attempt_seconds()),
            pending_pods: Family::default(),
            incoming_pods: Family::default(),
            scheduling_attempts: Histogram::new(buckets::attempts()),
            sli_duration: Family::new_with_constructor(|| Histogram::new(buckets::sli_seconds())),
            preemption_attempts: Counter::default(),
            preemption_victims: Histogram::new(buckets::victims()),
            preemption_executions: Family::default(),
            preemption_execution_duration: Family::new_with_constructor(|| {
                Histogram::new(buckets::preemption_seconds())
            }),
            preemption_goroutines_duration: Family::new_with_constructor(|| {
                Histogram::new(buckets::sli_seconds())
            }),
            preemption_pdb_violations: Family::default(),
            extension_points: ExtensionPointMetrics::register(registry),
            permit_wait: Family::new_with_constructor(attempt_histogram),
            cache_size: Family::default(),
            inflight_events: Gauge::default(),
            scheduled_after_flush: Counter::default(),
            quarantined: Gauge::default(),
            engine_restarts: Counter::default(),
        };
        metrics.register_upstream(registry.sub_registry_with_prefix("scheduler"));
        metrics.register_own(registry.sub_registry_with_prefix("bayplan"));
        metrics
    }

    /// Names, help and types as `pkg/scheduler/metrics/metrics.go` has them; the encoder adds
    /// `_seconds` and `_total`.
    #[expect(clippy::too_many_lines, reason = "one entry a family")]
    fn register_upstream(&self, registry: &mut Registry) {
        registry.register(
            "schedule_attempts",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could \
             not be scheduled, while 'error' means an internal scheduler problem",
            self.schedule_attempts.clone(),
        );
        registry.register_with_unit(
            "scheduling_attempt_duration",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            Unit::Seconds,
            self.attempt_duration.clone(),
        );
        registry.register_with_unit(
            "scheduling_algorithm_duration",
            "Scheduling algorithm latency in seconds",
            Unit::Seconds,
            self.algorithm_duration.clone(),
        );
        registry.register(
            "pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; \
             'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in \
             unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is \
             the number of unschedulable pods that the scheduler never attempted to schedule \
             because they are gated",
            self.pending_pods.clone(),
        );
        registry.register(
            "queue_incoming_pods",
            "Number of pods added to scheduling queues by event and queue type",
            self.incoming_pods.clone(),
        );
        registry.register(
            "pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod",
            self.scheduling_attempts.clone(),
        );
        registry.register_with_unit(
            "pod_scheduling_sli_duration",
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling \
             queue and might involve multiple scheduling attempts",
            Unit::Seconds,
            self.sli_duration.clone(),
        );
        registry.register(
            "preemption_attempts",
            "Total preemption attempts in the cluster till now",
            self.preemption_attempts.clone(),
        );
        registry.register(
            "preemption_victims",
            "Number of selected preemption victims for preemption initiated by a single pod",
            self.preemption_victims.clone(),
        );
        registry.register(
            "preemption_goroutines_execution",
            "Number of preemption goroutines executed",
            self.preemption_executions.clone(),
        );
        registry.register_with_unit(
            "preemption_goroutines_duration",
            "Duration in seconds for running goroutines for the preemption",
            Unit::Seconds,
            self.preemption_goroutines_duration.clone(),
        );
        registry.register_with_unit(
            "preemption_execution_duration",
            "Duration in seconds for preempting the target preemption victims. With async \
             preemption enabled, preemption execution does not block the scheduling of other pods",
            Unit::Seconds,
            self.preemption_execution_duration.clone(),
        );
        registry.register(
            "preemption_pdb_violations",
            "Total number of pod disruption budget violations caused by preemption",
            self.preemption_pdb_violations.clone(),
        );
        registry.register_with_unit(
            "permit_wait_duration",
            "Duration of waiting on permit",
            Unit::Seconds,
            self.permit_wait.clone(),
        );
        registry.register(
            "cache_size",
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache",
            self.cache_size.clone(),
        );
        registry.register(
            "inflight_events",
            "Number of events currently tracked in the scheduling queue",
            self.inflight_events.clone(),
        );
        registry.register(
            "pod_scheduled_after_flush",
            "Number of pods that were scheduled after only the periodic flush had woken them",
            self.scheduled_after_flush.clone(),
        );
    }

    fn register_own(&self, registry: &mut Registry) {
        registry.register(
            "quarantined_objects",
            "Number of nodes and pods that cannot be read and are left out",
            self.quarantined.clone(),
        );
        registry.register(
            "engine_restarts",
            "Number of times the engine was rebuilt after a panic in a cycle",
            self.engine_restarts.clone(),
        );
    }

    /// An attempt ended after `duration` in the engine.
    pub fn observe_decision(&self, decision: &Decision, duration: Duration) {
        let Some(result) = decision.result() else {
            return;
        };
        self.algorithm_duration.observe(duration.as_secs_f64());
        if result != "scheduled" {
            // A placed pod's attempt lasts until it is bound, or will not be.
            self.attempt_ended(&decision.profile, result, duration);
        }
        if decision.post_filters.contains(&PREEMPTION) {
            self.preemption_attempts.inc();
        }
        if let Some(choice) = decision.preemption.as_deref()
            && choice.criteria.violations > 0
        {
            let violations = u64::try_from(choice.criteria.violations).unwrap_or(u64::MAX);
            self.preemption_pdb_violations
                .get_or_create(&Preemptor { preemptor: POD })
                .inc_by(violations);
        }
        if !decision.victims.is_empty() {
            #[expect(clippy::cast_precision_loss, reason = "a count of pods on one node")]
            self.preemption_victims
                .observe(decision.victims.len() as f64);
        }
    }

    /// An attempt ended `duration` after its decision was begun.
    fn attempt_ended(&self, profile: &Arc<str>, result: &'static str, duration: Duration) {
        let labels = Result_ {
            result,
            profile: profile.to_string(),
        };
        self.attempt_duration
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
        self.schedule_attempts.get_or_create(&labels).inc();
    }

    /// Writes what the engine observed.
    pub fn observe(&self, observations: &Observations) {
        for ((queue, event), count) in &observations.incoming {
            let labels = Incoming {
                queue,
                event: event.to_string(),
            };
            self.incoming_pods.get_or_create(&labels).inc_by(*count);
        }
        for BoundPod {
            profile,
            attempts,
            since_first_attempt,
            since_assumed,
        } in &observations.bound
        {
            self.attempt_ended(profile, "scheduled", *since_assumed);
            self.scheduling_attempts.observe(f64::from(*attempts));
            let attempts = if *attempts >= 15 {
                "15+".to_owned()
            } else {
                attempts.to_string()
            };
            self.sli_duration
                .get_or_create(&Attempts { attempts })
                .observe(since_first_attempt.as_secs_f64());
        }
        for failed in &observations.failed_bindings {
            self.attempt_ended(&failed.profile, failed.result, failed.since_assumed);
        }
        for timed in &observations.timed_points {
            self.extension_points.observe(
                timed.point,
                timed.status,
                &timed.profile,
                timed.duration,
            );
        }
        for ended in &observations.preemptions {
            self.preemption_ended(*ended);
        }
        for (duration, result) in &observations.permit_waits {
            let result = *result;
            self.permit_wait
                .get_or_create(&PermitResult { result })
                .observe(duration.as_secs_f64());
        }
        self.scheduled_after_flush
            .inc_by(observations.scheduled_after_flush);
    }

    fn preemption_ended(&self, ended: EndedPreemption) {
        let result = if ended.succeeded { "success" } else { "error" };
        let seconds = ended.duration.as_secs_f64();
        let execution = Execution { result };
        self.preemption_executions.get_or_create(&execution).inc();
        self.preemption_goroutines_duration
            .get_or_create(&execution)
            .observe(seconds);
        self.preemption_execution_duration
            .get_or_create(&PreemptorExecution {
                preemptor: POD,
                result,
            })
            .observe(seconds);
    }

    /// Writes the gauges.
    pub fn set_gauges(
        &self,
        cache: CacheSize,
        pending: impl Fn(Place) -> usize,
        inflight_events: usize,
    ) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for (r#type, size) in [
            ("nodes", cache.nodes),
            ("pods", cache.pods),
            ("assumed_pods", cache.assumed_pods),
        ] {
            self.cache_size
                .get_or_create(&SizeOf { r#type })
                .set(count(size));
        }
        for place in [
            Place::Active,
            Place::Backoff,
            Place::Unschedulable,
            Place::Gated,
        ] {
            let queue = place.label();
            self.pending_pods
                .get_or_create(&QueueLabel { queue })
                .set(count(pending(place)));
        }
        self.inflight_events.set(count(inflight_events));
    }

    /// Writes how many objects cannot be read.
    pub fn set_quarantined(&self, count: usize) {
        self.quarantined
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The engine was rebuilt after a panic.
    pub fn engine_restarted(&self) {
        self.engine_restarts.inc();
    }
}
