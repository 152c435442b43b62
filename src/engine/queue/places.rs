//! Where each pod is, with the order of each place. Nothing else moves pods.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::framework::extension_points::SortKey;
use crate::engine::queue::backoff::BackoffPolicy;
use crate::engine::queue::in_flight::RecordedChange;
use crate::engine::queue::plugins::QueuePlugins;
use crate::engine::queue::queued_pod::QueuedPod;
use crate::engine::queue::waiting::{Waiting, Waker, wakers};
use crate::model::map::{TextMap, new_text_map};
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

/// Where a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Ready. Exits: popped; deleted.
    Active,
    /// Waits out its backoff. Exits: backoff over; popped early when nothing else is ready;
    /// activated; deleted.
    Backoff,
    /// Waits for an event. Exits: an event that a hint takes; too long; activated; deleted.
    Unschedulable,
    /// Held by a `PreEnqueue` plugin. Exits: an event of that plugin; deleted.
    Gated,
    /// Being scheduled. Exits: requeued; done; deleted.
    InFlight,
}

impl Place {
    /// The label `queue` of metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
            Self::Gated => "gated",
            Self::InFlight => "inflight",
        }
    }
}

/// The place of a pod with its key there.
#[derive(Clone, Debug)]
enum Position {
    Active(SortKey, u64),
    /// Rejected pods.
    Backoff(Timestamp, SortKey, u64),
    /// Pods that failed with an error; they are never popped early.
    ErrorBackoff(Timestamp, u64),
    Unschedulable(Box<[Waker]>),
    Gated(Box<[Waker]>),
    InFlight,
}

#[derive(Debug)]
struct Entry {
    pod: QueuedPod,
    position: Position,
}

/// All pods of the queue.
#[derive(Debug)]
pub(super) struct Places {
    pods: TextMap<PodUid, Entry>,
    active: BTreeMap<(SortKey, u64), PodUid>,
    backoff: BTreeMap<(Timestamp, SortKey, u64), PodUid>,
    error_backoff: BTreeMap<(Timestamp, u64), PodUid>,
    /// Unschedulable and gated pods.
    waiting: Waiting,
    counts: [usize; 5],
    arrivals: u64,
}

impl Position {
    fn place(&self) -> Place {
        match self {
            Self::Active(..) => Place::Active,
            Self::Backoff(..) | Self::ErrorBackoff(..) => Place::Backoff,
            Self::Unschedulable(_) => Place::Unschedulable,
            Self::Gated(_) => Place::Gated,
            Self::InFlight => Place::InFlight,
        }
    }
}

impl Places {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            pods: new_text_map(seed),
            active: BTreeMap::new(),
            backoff: BTreeMap::new(),
            error_backoff: BTreeMap::new(),
            waiting: Waiting::default(),
            counts: [0; 5],
            arrivals: 0,
        }
    }

    pub(super) fn get(&self, uid: &PodUid) -> Option<&QueuedPod> {
        self.pods.get(uid).map(|entry| &entry.pod)
    }

    pub(super) fn place(&self, uid: &PodUid) -> Option<Place> {
        self.pods.get(uid).map(|entry| entry.position.place())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&QueuedPod, Place)> {
        self.pods
            .values()
            .map(|entry| (&entry.pod, entry.position.place()))
    }

    pub(super) fn count(&self, place: Place) -> usize {
        self.counts[place as usize]
    }

    /// The pod that goes next, and where it is now.
    pub(super) fn first_ready(&self) -> Option<(PodUid, Place)> {
        let active = self
            .active
            .values()
            .next()
            .map(|uid| (uid.clone(), Place::Active));
        active.or_else(|| {
            self.backoff
                .values()
                .next()
                .map(|uid| (uid.clone(), Place::Backoff))
        })
    }

    pub(super) fn first_backoff_expiry(&self) -> Option<Timestamp> {
        let rejected = self.backoff.keys().next().map(|key| key.0);
        let failed = self.error_backoff.keys().next().map(|key| key.0);
        rejected.into_iter().chain(failed).min()
    }

    /// The pods whose backoff ended before the window that begins at `window`.
    pub(super) fn backoff_over(&self, window: Timestamp) -> Vec<PodUid> {
        let rejected = self.backoff.iter().take_while(|(key, _)| key.0 < window);
        let failed = self
            .error_backoff
            .iter()
            .take_while(|(key, _)| key.0 < window);
        rejected
            .map(|(_, uid)| uid.clone())
            .chain(failed.map(|(_, uid)| uid.clone()))
            .collect()
    }

    /// Waiting pods that `change` may concern.
    pub(super) fn interested(
        &self,
        change: &RecordedChange,
        plugins: &dyn QueuePlugins,
    ) -> BTreeSet<PodUid> {
        let info = |uid: &PodUid| self.get(uid).map(|pod| &pod.info);
        self.waiting.interested(change, plugins, info)
    }

    pub(super) fn insert_in_flight(&mut self, pod: QueuedPod) {
        self.place_at(pod, Position::InFlight);
    }

    pub(super) fn insert(
        &mut self,
        pod: QueuedPod,
        place: Place,
        policy: BackoffPolicy,
        plugins: &dyn QueuePlugins,
    ) {
        let sort_key = || plugins.sort_key(&pod.info, pod.timestamp);
        self.arrivals += 1;
        let arrival = self.arrivals;
        let position = match place {
            Place::Active => Position::Active(sort_key(), arrival),
            Place::Backoff => {
                let expiry = policy.expiry(&pod).unwrap_or(pod.timestamp);
                if pod.has_no_rejectors() {
                    Position::ErrorBackoff(expiry, arrival)
                } else {
                    Position::Backoff(expiry, sort_key(), arrival)
                }
            }
            Place::Unschedulable => Position::Unschedulable(wakers(&pod, plugins)),
            Place::Gated => Position::Gated(wakers(&pod, plugins)),
            Place::InFlight => Position::InFlight,
        };
        self.place_at(pod, position);
    }

    fn place_at(&mut self, pod: QueuedPod, position: Position) {
        let uid = pod.info.uid.clone();
        debug_assert!(
            !self.pods.contains_key(&uid),
            "a pod must be in one place only"
        );
        match &position {
            Position::Active(key, arrival) => {
                self.active.insert((*key, *arrival), uid.clone());
            }
            Position::Backoff(at, key, arrival) => {
                self.backoff.insert((*at, *key, *arrival), uid.clone());
            }
            Position::ErrorBackoff(at, arrival) => {
                self.error_backoff.insert((*at, *arrival), uid.clone());
            }
            Position::Unschedulable(wakers) | Position::Gated(wakers) => {
                self.waiting.insert(wakers, &uid);
            }
            Position::InFlight => {}
        }
        self.counts[position.place() as usize] += 1;
        self.pods.insert(uid, Entry { pod, position });
    }

    pub(super) fn remove(&mut self, uid: &PodUid) -> Option<QueuedPod> {
        let Entry { pod, position } = self.pods.swap_remove(uid)?;
        match &position {
            Position::Active(key, arrival) => {
                self.active.remove(&(*key, *arrival));
            }
            Position::Backoff(at, key, arrival) => {
                self.backoff.remove(&(*at, *key, *arrival));
            }
            Position::ErrorBackoff(at, arrival) => {
                self.error_backoff.remove(&(*at, *arrival));
            }
            Position::Unschedulable(wakers) | Position::Gated(wakers) => {
                self.waiting.remove(wakers, uid);
            }
            Position::InFlight => {}
        }
        self.counts[position.place() as usize] -= 1;
        Some(pod)
    }

    /// Puts a newer version of a pod in the place of the earlier one, which is given back.
    pub(super) fn replace_info(
        &mut self,
        info: PodInfo,
        plugins: &dyn QueuePlugins,
    ) -> Option<PodInfo> {
        let entry = self.pods.get_mut(&info.uid)?;
        let earlier = std::mem::replace(&mut entry.pod.info, info);
        if let Position::Unschedulable(known) | Position::Gated(known) = &mut entry.position {
            // Another class or other labels make it the kin of others.
            self.waiting.remove(known, &earlier.uid);
            *known = wakers(&entry.pod, plugins);
            self.waiting.insert(known, &earlier.uid);
        }
        Some(earlier)
    }
}

#[cfg(test)]
mod consistency;
