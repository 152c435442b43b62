//! Whether the entries and the orders of the places tell the same story.

use std::collections::BTreeSet;

use crate::engine::queue::plugins::QueuePlugins;
use crate::engine::queue::waiting::wakers;

use super::{Place, Places, Position};

impl Places {
    /// Fails the test unless each pod is in the order of its place, and in no other.
    pub(in crate::engine::queue) fn assert_consistent(&self, plugins: &dyn QueuePlugins) {
        let mut counts = [0; 5];
        let mut backing_off = [0; 2];
        let mut waiting = BTreeSet::new();
        for (uid, entry) in &self.pods {
            assert_eq!(uid, &entry.pod.info.uid);
            let place = entry.position.place();
            counts[place as usize] += 1;
            assert_eq!(
                place == Place::Gated,
                entry.pod.gating_plugin.is_some(),
                "{uid} is in {place:?}"
            );
            match &entry.position {
                Position::Active(key, arrival) => {
                    assert_eq!(self.active.get(&(*key, *arrival)), Some(uid));
                }
                Position::Backoff(at, key, arrival) => {
                    backing_off[0] += 1;
                    assert!(!entry.pod.has_no_rejectors(), "{uid} failed with an error");
                    assert_eq!(self.backoff.get(&(*at, *key, *arrival)), Some(uid));
                }
                Position::ErrorBackoff(at, arrival) => {
                    backing_off[1] += 1;
                    assert!(entry.pod.has_no_rejectors(), "{uid} was rejected");
                    assert_eq!(self.error_backoff.get(&(*at, *arrival)), Some(uid));
                }
                Position::Unschedulable(known) | Position::Gated(known) => {
                    let wakers = wakers(&entry.pod, plugins);
                    assert!(!wakers.is_empty(), "nothing wakes {uid}");
                    assert_eq!(*known, wakers, "{uid} is kept under what it was");
                    waiting.extend(wakers.into_iter().map(|waker| (waker, uid.clone())));
                }
                Position::InFlight => {}
            }
        }
        assert_eq!(counts, self.counts);
        assert_eq!(self.active.len(), self.count(Place::Active));
        assert_eq!([self.backoff.len(), self.error_backoff.len()], backing_off);
        assert_eq!(self.waiting.entries(), waiting);
    }
}
