//! `scheduler_framework_extension_point_duration_seconds` and, of `PostFilter`,
//! `scheduler_preemption_evaluation_duration_seconds`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::metrics::buckets;
use crate::metrics::scheduler::POD;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    extension_point: ObservedPoint,
    status: StatusCode,
    profile: ProfileName,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Evaluation {
    preemptor: &'static str,
    result: StatusCode,
}

/// A label that costs no copy of the name.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct ProfileName(Arc<str>);

/// How long all plugins of an extension point took, once per pod. Cheap to clone.
///
/// Points of the cycle are timed by the driver while the engine runs them. `PreBind` is timed by
/// the ticks of the engine, and is 0 without work. `Bind` is the call to the API server, retries
/// included, without the time in the dispatcher's queue; a call that was not sent since this
/// replica no longer leads, or that another one replaced, is not counted.
#[derive(Clone, Debug)]
pub struct ExtensionPointMetrics {
    points: Family<Labels, Histogram, fn() -> Histogram>,
    /// `DefaultPreemption` is the one plugin at `PostFilter`: who is to go is all that is asked there.
    preemption_evaluation: Family<Evaluation, Histogram, fn() -> Histogram>,
}

impl ExtensionPointMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            points: Family::new_with_constructor(|| {
                Histogram::new(buckets::extension_point_seconds())
            }),
            preemption_evaluation: Family::new_with_constructor(|| {
                Histogram::new(buckets::preemption_seconds())
            }),
        };
        let registry = registry.sub_registry_with_prefix("scheduler");
        registry.register_with_unit(
            "framework_extension_point_duration",
            "Latency for running all plugins of a specific extension point",
            Unit::Seconds,
            metrics.points.clone(),
        );
        registry.register_with_unit(
            "preemption_evaluation_duration",
            "Duration in seconds for identifying the target preemption victims",
            Unit::Seconds,
            metrics.preemption_evaluation.clone(),
        );
        metrics
    }

    /// `point` took `duration`, for a pod of `profile`.
    pub fn observe(
        &self,
        point: ObservedPoint,
        status: StatusCode,
        profile: &Arc<str>,
        duration: Duration,
    ) {
        let labels = Labels {
            extension_point: point,
            status,
            profile: ProfileName(Arc::clone(profile)),
        };
        self.points
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
        // An evaluation that waits for an extender is not over.
        if point == ObservedPoint::PostFilter && status != StatusCode::Wait {
            let labels = Evaluation {
                preemptor: POD,
                result: status,
            };
            self.preemption_evaluation
                .get_or_create(&labels)
                .observe(duration.as_secs_f64());
        }
    }
}

impl EncodeLabelValue for ObservedPoint {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        self.name().encode(encoder)
    }
}

impl EncodeLabelValue for StatusCode {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        self.name().encode(encoder)
    }
}

impl EncodeLabelValue for ProfileName {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        (&*self.0).encode(encoder)
    }
}
