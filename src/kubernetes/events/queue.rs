//! Events that wait, in the order in which they came.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::engine::effect::EventKind;
use crate::kubernetes::dispatcher;
use crate::kubernetes::events::PodEvent;
use crate::model::timestamp::Timestamp;

/// Warnings that wait at most (`maxQueuedEvents` of client-go).
pub(super) const WARNINGS: usize = 1000;
/// Other events that may wait while decisions go on, some 300 bytes each.
const DEEDS: usize = 16_384;
/// Those that may wait at most: what was decided before there was no room is still to come.
const DEEDS_MAX: usize = DEEDS + 4 * dispatcher::CAPACITY;
/// An event that has waited this long holds up further decisions.
const LATE: Duration = Duration::from_secs(20);

/// An event with the time when it was recorded.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) event: PodEvent,
    pub(super) since: Instant,
    pub(super) time: Timestamp,
}

/// The events that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    queue: Mutex<Queue>,
    /// The API server did not take the last event that it was sent.
    fails: AtomicBool,
    arrived: Notify,
    taken: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Recorded>,
    warnings: usize,
}

impl Waiting {
    /// Takes an event in. `false` if there is no room.
    pub(super) fn push(&self, recorded: Recorded) -> bool {
        let mut queue = self.queue.lock();
        let is_warning = recorded.is_warning();
        let has_room = if is_warning {
            queue.warnings < WARNINGS
        } else {
            queue.deeds() < DEEDS_MAX
        };
        if has_room {
            queue.warnings += usize::from(is_warning);
            queue.events.push_back(recorded);
            drop(queue);
            self.arrived.notify_one();
        }
        has_room
    }

    /// Takes the oldest event out.
    pub(super) fn pop(&self) -> Option<Recorded> {
        let mut queue = self.queue.lock();
        let recorded = queue.events.pop_front()?;
        queue.warnings -= usize::from(recorded.is_warning());
        if queue.events.is_empty() {
            // What a burst has taken is given back.
            queue.events = VecDeque::new();
        }
        drop(queue);
        self.taken.notify_one();
        Some(recorded)
    }

    /// How many wait, and how long the oldest has.
    pub(super) fn length(&self, now: Instant) -> (usize, Duration) {
        let queue = self.queue.lock();
        (queue.events.len(), queue.longest(now))
    }

    /// Whether the API server took an event.
    pub(super) fn note_sent(&self, taken: bool) {
        let failed = self.fails.swap(!taken, Ordering::Relaxed);
        if failed == taken {
            self.taken.notify_one();
        }
    }

    /// Whether decisions may go on. They do where events are not to be had: those are dropped then.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        if self.fails.load(Ordering::Relaxed) {
            return true;
        }
        let queue = self.queue.lock();
        queue.deeds() < DEEDS && queue.longest(now) < LATE
    }

    /// Resolves when an event has come.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Resolves when an event was taken out.
    pub(super) async fn taken(&self) {
        self.taken.notified().await;
    }
}

impl Queue {
    fn deeds(&self) -> usize {
        self.events.len() - self.warnings
    }

    fn longest(&self, now: Instant) -> Duration {
        let oldest = self.events.front();
        oldest.map_or(Duration::ZERO, |oldest| now.duration_since(oldest.since))
    }
}

impl Recorded {
    fn is_warning(&self) -> bool {
        self.event.record.kind == EventKind::Warning
    }
}
