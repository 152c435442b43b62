//! Families of writes and of events.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::engine::effect::{Effect, EffectAction, EffectOutcome, FailureKind};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::metrics::{ExtensionPointMetrics, buckets};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Call {
    call: &'static str,
    outcome: &'static str,
}

/// Families of writes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DispatcherMetrics {
    calls: Family<Call, Counter>,
    duration: Family<Call, Histogram, fn() -> Histogram>,
    extension_points: ExtensionPointMetrics,
}

/// Families of events. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct EventMetrics {
    /// Written.
    pub written: Counter,
    /// Not written, since one like it had been.
    pub aggregated: Counter,
    /// Dropped: too many, or refused.
    pub dropped: Counter,
}

impl DispatcherMetrics {
    pub(super) fn register(
        registry: &mut Registry,
        extension_points: ExtensionPointMetrics,
    ) -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(buckets::attempt_seconds());
        let metrics = Self {
            calls: Family::default(),
            duration: Family::new_with_constructor(histogram),
            extension_points,
        };
        let registry = registry.sub_registry_with_prefix("bayplan_dispatcher");
        registry.register(
            "calls",
            "Number of writes by call and outcome",
            metrics.calls.clone(),
        );
        registry.register_with_unit(
            "call_duration",
            "Time from the start of a write to its outcome, retries included",
            Unit::Seconds,
            metrics.duration.clone(),
        );
        metrics
    }

    /// A write ended.
    pub fn observe(&self, effect: &Effect, outcome: &EffectOutcome, duration: Duration) {
        if let (EffectAction::Bind { .. }, Some(status)) = (&effect.action, bind_status(outcome)) {
            let point = ObservedPoint::Bind;
            self.extension_points
                .observe(point, status, &effect.profile, duration);
        }
        let call = effect.action.name();
        let outcome = match outcome {
            EffectOutcome::Done { .. } | EffectOutcome::Written(_) | EffectOutcome::Answered(_) => {
                "done"
            }
            EffectOutcome::Superseded => "superseded",
            EffectOutcome::Failed(failure) => match failure.kind {
                FailureKind::AlreadyBound => "already_bound",
                FailureKind::Gone => "gone",
                FailureKind::Refused => "refused",
                FailureKind::Unavailable => "unavailable",
                FailureKind::NotLeading => "not_leading",
            },
        };
        let labels = Call { call, outcome };
        self.calls.get_or_create(&labels).inc();
        self.duration
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
    }
}

/// The end of the point `Bind`; `None` if nothing was sent.
fn bind_status(outcome: &EffectOutcome) -> Option<StatusCode> {
    match outcome {
        EffectOutcome::Done { .. } | EffectOutcome::Written(_) => Some(StatusCode::Success),
        EffectOutcome::Failed(failure) if failure.kind == FailureKind::NotLeading => None,
        EffectOutcome::Failed(_) => Some(StatusCode::Error),
        EffectOutcome::Answered(_) | EffectOutcome::Superseded => None,
    }
}

impl EventMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let registry = registry.sub_registry_with_prefix("bayplan_events");
        registry.register(
            "written",
            "Number of events written",
            metrics.written.clone(),
        );
        registry.register(
            "aggregated",
            "Number of events that were counted into one written before",
            metrics.aggregated.clone(),
        );
        registry.register(
            "dropped",
            "Number of events dropped",
            metrics.dropped.clone(),
        );
        metrics
    }
}
