//! Objects that plugins look up by name come, change and go.

use crate::engine::Engine;
use crate::engine::cache::listers::ListedEvent;
use crate::engine::framework::ClusterEventKind;
use crate::engine::queue::RecordedChange;

impl Engine {
    pub(super) fn apply_listed(&mut self, event: ListedEvent) {
        let (resource, changes) = self.cache.apply_listed(event);
        let Some(resource) = resource else {
            return;
        };
        for change in changes {
            let recorded = RecordedChange {
                object: Some(change.key),
                ..RecordedChange::of(ClusterEventKind::new(resource, change.action))
            };
            self.tell_queue(&recorded, None);
        }
        self.poll_waiting();
    }
}
