//! Families of watches.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The plural of a kind, as in the paths of the API: one value per watch.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Watched {
    resource: String,
}

/// Families of watches. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct WatchMetrics {
    lists: Family<Watched, Counter>,
    errors: Family<Watched, Counter>,
    undecodable: Family<Watched, Counter>,
}

/// Counts of one watch.
#[derive(Clone, Debug)]
pub struct WatchNumbers {
    /// Lists from the beginning, the first one included.
    pub lists: Counter,
    /// Errors after which the watch began anew.
    pub errors: Counter,
    /// Objects that could not be decoded, each time that they were seen.
    pub undecodable: Counter,
}

impl WatchMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let registry = registry.sub_registry_with_prefix("bayplan_watch");
        registry.register(
            "lists",
            "Number of lists from the beginning, the first one included, by resource",
            metrics.lists.clone(),
        );
        registry.register(
            "errors",
            "Number of errors after which the watch began anew, by resource",
            metrics.errors.clone(),
        );
        registry.register(
            "undecodable_objects",
            "Number of times an object was seen that cannot be decoded and is left out, by resource",
            metrics.undecodable.clone(),
        );
        metrics
    }

    /// The counters of the watch of `resource`; they are served from now on, from 0.
    pub fn of(&self, resource: &str) -> WatchNumbers {
        let labels = Watched {
            resource: resource.to_owned(),
        };
        WatchNumbers {
            lists: self.lists.get_or_create(&labels).clone(),
            errors: self.errors.get_or_create(&labels).clone(),
            undecodable: self.undecodable.get_or_create(&labels).clone(),
        }
    }
}
