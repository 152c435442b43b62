//! A pod in the queue, with the history of its attempts (`framework.QueuedPodInfo`).

use std::collections::BTreeSet;

use crate::engine::framework::PluginName;
use crate::engine::queue::Rejectors;
use crate::model::pod_info::PodInfo;
use crate::model::timestamp::Timestamp;

/// A pod in the queue.
#[derive(Debug)]
pub struct QueuedPod {
    /// The newest version of the pod.
    pub info: PodInfo,
    /// When it was added, or last failed.
    pub timestamp: Timestamp,
    /// When it first came to the active queue.
    pub initial_attempt: Option<Timestamp>,
    /// How often it was popped.
    pub attempts: u32,
    /// How often it was rejected.
    pub unschedulable_count: u32,
    /// How often in a row its attempt failed with an error.
    pub consecutive_errors: u32,
    /// Who said no last time.
    pub unschedulable_plugins: BTreeSet<PluginName>,
    /// Who waits for something outside.
    pub pending_plugins: BTreeSet<PluginName>,
    /// Who holds it back at `PreEnqueue`.
    pub gating_plugin: Option<PluginName>,
    /// Nothing but the flush woke it since it failed last.
    pub was_flushed: bool,
    /// When the flush took it last since it failed.
    pub(super) flushed_at: Option<Timestamp>,
}

impl QueuedPod {
    /// A pod that is new at `now`.
    pub(super) fn new(info: PodInfo, now: Timestamp) -> Self {
        Self {
            info,
            timestamp: now,
            initial_attempt: None,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors: 0,
            unschedulable_plugins: BTreeSet::new(),
            pending_plugins: BTreeSet::new(),
            gating_plugin: None,
            was_flushed: false,
            flushed_at: None,
        }
    }

    /// Notes a failed attempt.
    pub(super) fn fail(&mut self, now: Timestamp, rejectors: Rejectors) {
        if rejectors.is_error() {
            self.consecutive_errors = self.consecutive_errors.saturating_add(1);
        } else {
            self.unschedulable_count = self.unschedulable_count.saturating_add(1);
            self.consecutive_errors = 0;
        }
        self.unschedulable_plugins = rejectors.unschedulable;
        self.pending_plugins = rejectors.pending;
        self.timestamp = now;
        self.was_flushed = false;
        self.flushed_at = None;
    }

    /// Since when it waits for an event, for the flush.
    pub(super) fn waits_since(&self) -> Timestamp {
        self.flushed_at
            .map_or(self.timestamp, |flushed| flushed.max(self.timestamp))
    }

    /// Whether nobody said no: it failed with an error.
    pub(super) fn has_no_rejectors(&self) -> bool {
        self.unschedulable_plugins.is_empty() && self.pending_plugins.is_empty()
    }
}
