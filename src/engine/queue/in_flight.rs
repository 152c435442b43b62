//! What happened while pods were being scheduled (`active_queue.go`, `inFlightEvents`).
//!
//! A change that arrives while a pod is in flight finds it in no queue. It is recorded and judged
//! when the attempt has failed, so that no wake-up is lost.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::framework::ClusterEventKind;
use crate::model::map::IdMap;
use crate::model::object_key::ObjectKey;
use crate::model::pod_info::PodUid;

/// More changes than this are not kept: pods in flight that long are simply tried again.
pub(super) const RECORDED_CHANGES_MAX: usize = 4096;

/// A change, as small as it can be told. Hints are judged against the cluster as it is when they
/// are asked, so neither old nor new object is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedChange {
    /// What kind of change.
    pub event: ClusterEventKind,
    /// The node that changed, or the node of the pod that changed.
    pub node: Option<Arc<str>>,
    /// The pod that changed; for a wildcard the only pod that is meant.
    pub pod: Option<PodUid>,
    /// The object of another kind that changed.
    pub object: Option<ObjectKey>,
    /// Pods of a higher priority that wait do not care (`getLEPriorityPreCheck`).
    pub priority_at_most: Option<i32>,
}

impl RecordedChange {
    /// A change of `event`, about nothing in particular.
    pub fn of(event: ClusterEventKind) -> Self {
        Self {
            event,
            node: None,
            pod: None,
            object: None,
            priority_at_most: None,
        }
    }
}

/// Pods in flight and the changes since the first of them was popped.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Where in the log each pod began.
    begun: IdMap<PodUid, u64>,
    log: VecDeque<RecordedChange>,
    /// The number of the first change in the log.
    first: u64,
}

impl InFlight {
    /// How many changes are kept.
    pub(super) fn len(&self) -> usize {
        self.log.len()
    }

    pub(super) fn begin(&mut self, uid: PodUid) {
        self.begun.insert(uid, self.end());
    }

    fn end(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// Records a change, if a pod is in flight. One that says the same as the last says nothing.
    pub(super) fn record(&mut self, change: RecordedChange) {
        let newest_begin = self.begun.values().copied().max();
        let Some(newest_begin) = newest_begin else {
            return;
        };
        // A repetition is left out only if no pod was popped between the two.
        if newest_begin < self.end() && self.log.back() == Some(&change) {
            return;
        }
        self.log.push_back(change);
        if self.log.len() > RECORDED_CHANGES_MAX {
            self.log.pop_front();
            self.first += 1;
        }
    }

    /// Whether changes since the pod was popped were dropped.
    pub(super) fn has_overflowed(&self, uid: &PodUid) -> bool {
        self.begun.get(uid).is_some_and(|begin| *begin < self.first)
    }

    /// The changes since the pod was popped.
    pub(super) fn changes_since_pop(&self, uid: &PodUid) -> impl Iterator<Item = &RecordedChange> {
        let begin = self.begun.get(uid).copied().unwrap_or_else(|| self.end());
        let skip = usize::try_from(begin.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.log.iter().skip(skip)
    }

    /// The pod is no longer in flight; changes that nobody waits for are dropped.
    pub(super) fn done(&mut self, uid: &PodUid) {
        if self.begun.swap_remove(uid).is_none() {
            return;
        }
        let oldest = self
            .begun
            .values()
            .copied()
            .min()
            .unwrap_or_else(|| self.end());
        while self.first < oldest && self.log.pop_front().is_some() {
            self.first += 1;
        }
    }
}

#[cfg(test)]
impl InFlight {
    /// Fails the test unless exactly `pods` are in flight and the log holds no more than they need.
    pub(super) fn assert_consistent(&self, pods: &std::collections::BTreeSet<PodUid>) {
        let begun: std::collections::BTreeSet<PodUid> = self.begun.keys().cloned().collect();
        assert_eq!(&begun, pods);
        assert!(self.log.len() <= RECORDED_CHANGES_MAX);
        assert!(self.begun.values().all(|begin| *begin <= self.end()));
        match self.begun.values().min() {
            Some(oldest) => assert!(self.first >= *oldest, "the log holds what nobody waits for"),
            None => assert!(self.log.is_empty(), "the log outlives the pods in flight"),
        }
    }
}
