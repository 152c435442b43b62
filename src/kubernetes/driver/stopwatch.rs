//! Times the extension points of a cycle: the engine tells, the clock is read here.

use std::cell::Cell;
use std::sync::Arc;

use tokio::time::Instant;

use crate::engine::observer::{CycleObserver, ObservedPoint, StatusCode};
use crate::kubernetes::clock::Clock;
use crate::metrics::ExtensionPointMetrics;

/// Two readings of the clock per point.
#[derive(Debug)]
pub(super) struct Stopwatch {
    clock: Clock,
    metrics: ExtensionPointMetrics,
    /// The one point that is under way.
    running: Cell<Option<(ObservedPoint, Instant)>>,
}

impl Stopwatch {
    pub(super) fn new(clock: Clock, metrics: ExtensionPointMetrics) -> Self {
        Self {
            clock,
            metrics,
            running: Cell::new(None),
        }
    }
}

impl CycleObserver for Stopwatch {
    fn entered(&self, point: ObservedPoint) {
        self.running.set(Some((point, self.clock.now())));
    }

    fn left(&self, point: ObservedPoint, status: StatusCode, profile: &Arc<str>) {
        if let Some((entered, since)) = self.running.take()
            && entered == point
        {
            let duration = self.clock.now() - since;
            self.metrics.observe(point, status, profile, duration);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apis::effective_profile::EffectiveProfile;
    use crate::engine::event::ClusterEvent;
    use crate::engine::{Engine, EngineConfig};
    use crate::metrics::Metrics;
    use crate::model::timestamp::Timestamp;
    use crate::plugins::fixtures::{make_node, make_pod};
    use crate::plugins::registry::Registry;

    #[test]
    fn points_of_a_cycle_are_in_the_exposition_with_upstreams_labels() {
        let metrics = Metrics::default();
        let mut engine = Engine::new(EngineConfig::default());
        let points = metrics.scheduler.extension_points.clone();
        engine.set_observer(Box::new(Stopwatch::new(Clock::system(), points)));
        // The observer goes over to the next engine.
        let mut engine = engine.successor();
        engine.tick(Timestamp::from_seconds(1));
        let spec = serde_json::from_value(json!({"schedulerName": "bayplan"})).unwrap();
        let effective = EffectiveProfile::try_new(&spec, &Registry).unwrap();
        let profile = Registry.build(&effective, 1, engine.symbols_mut()).unwrap();
        engine.handle(ClusterEvent::ProfilesChanged(vec![profile]));
        for name in ["a", "b"] {
            let node = make_node(name).allocatable(&[("cpu", "1"), ("pods", "9")]);
            engine.handle(ClusterEvent::NodeApplied(Arc::new(node.object())));
        }
        for (name, cpu) in [("fits", "1"), ("huge", "9")] {
            let pod = make_pod(name).request("cpu", cpu);
            engine.handle(ClusterEvent::PodApplied(Arc::new(pod.object())));
            assert!(engine.schedule_one().is_some());
        }
        let text = metrics.encode();
        for (point, count) in [
            ("PreEnqueue", 2),
            ("PreFilter", 2),
            ("Filter", 2),
            ("PreScore", 1),
            ("Score", 1),
            ("Reserve", 1),
            ("Permit", 1),
        ] {
            let line = format!(
                "scheduler_framework_extension_point_duration_seconds_count{{\
                 extension_point=\"{point}\",status=\"Success\",profile=\"bayplan\"}} {count}"
            );
            assert!(
                text.lines().any(|l| l == line),
                "{line} is missing in\n{text}"
            );
        }
        let evaluated = "scheduler_preemption_evaluation_duration_seconds_count{\
                         preemptor=\"pod\",result=\"Unschedulable\"} 1";
        assert!(text.lines().any(|l| l == evaluated), "{text}");
        assert!(
            text.contains("status=\"Skip\""),
            "no work at PreBind\n{text}"
        );
    }

    #[test]
    fn point_that_a_panic_left_open_is_not_counted() {
        let metrics = Metrics::default();
        let points = metrics.scheduler.extension_points.clone();
        let stopwatch = Stopwatch::new(Clock::system(), points);
        let profile: Arc<str> = "bayplan".into();
        stopwatch.entered(ObservedPoint::Score);
        stopwatch.entered(ObservedPoint::Filter);
        stopwatch.left(ObservedPoint::Filter, StatusCode::Success, &profile);
        stopwatch.left(ObservedPoint::Score, StatusCode::Success, &profile);
        let text = metrics.encode();
        assert!(text.contains("extension_point=\"Filter\""), "{text}");
        assert!(!text.contains("extension_point=\"Score\""), "{text}");
    }
}
