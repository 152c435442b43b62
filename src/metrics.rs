//! Metrics: the scheduler's STABLE ones under upstream's names and buckets, ours under `bayplan_`.
//!
//! No name of a pod, node or namespace is ever a label. Handles are made once; gauges of queue and
//! cache are written by the driver.

mod buckets;
mod dispatcher;
mod election;
mod extension_points;
mod process;
mod scheduler;
mod watch;

pub use dispatcher::{DispatcherMetrics, EventMetrics};
pub use election::ElectionCollector;
pub use extension_points::ExtensionPointMetrics;
pub use process::ProcessCollector;
pub use scheduler::SchedulerMetrics;
pub use watch::{WatchMetrics, WatchNumbers};

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// The registry with all families of this process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Of the engine.
    pub scheduler: SchedulerMetrics,
    /// Of writes.
    pub dispatcher: DispatcherMetrics,
    /// Of events.
    pub events: EventMetrics,
    /// Of watches.
    pub watches: WatchMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let scheduler = SchedulerMetrics::register(&mut registry);
        let points = scheduler.extension_points.clone();
        let dispatcher = DispatcherMetrics::register(&mut registry, points);
        let events = EventMetrics::register(&mut registry);
        let watches = WatchMetrics::register(&mut registry);
        registry.register_collector(Box::new(ProcessCollector));
        Self {
            registry,
            scheduler,
            dispatcher,
            events,
            watches,
        }
    }
}

impl Metrics {
    /// The registry, to add families.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// All metrics in the text format of `OpenMetrics`.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests;
