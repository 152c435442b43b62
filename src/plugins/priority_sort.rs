//! `PrioritySort`: higher priority first, then whoever was queued earlier.

use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::extension_points::{QueueSortPlugin, SortKey};
use crate::engine::framework::{Plugin, PluginName};
use crate::model::timestamp::Timestamp;

pub(crate) const NAME: &str = "PrioritySort";

/// The plugin.
#[derive(Debug)]
pub(crate) struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        Some(self)
    }
}

impl QueueSortPlugin for PrioritySort {
    fn sort_key(&self, pod: &PodView<'_>, queued: Timestamp) -> SortKey {
        [-i64::from(pod.info.priority), queued.as_micros()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_pod};

    #[test]
    fn higher_priority_goes_first_and_then_the_earlier_one() {
        let key = |priority, queued| {
            let cluster = Cluster::default();
            let pod = cluster.with_pod(&make_pod("p").priority(priority));
            PrioritySort.sort_key(&pod.view(), Timestamp::from_seconds(queued))
        };
        assert!(key(10, 9) < key(0, 1));
        assert!(key(0, 1) < key(0, 2));
        assert!(key(i32::MAX, 1) < key(i32::MIN, 0));
    }
}
