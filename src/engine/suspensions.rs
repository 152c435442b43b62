//! Attempts that wait for answers from outside, and pods that wait for such an attempt to end.
//!
//! ```text
//!  popped ─┬─ another pod of the profile is being asked about ─▶ Parked ─┐ first of its profile
//!          └─ cycle ─▶ questions ─▶ Suspended ─ all answered ─▶ resumed ◀┘
//! ```
//!
//! Of a profile, one pod at a time is asked about, as upstream does: an extender sees where a pod
//! went before it is asked about the next. Pods that no extender is interested in, and those of
//! other profiles, pass by.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::engine::effect::EffectId;
use crate::engine::framework::extender::{Answer, Question};
use crate::engine::framework::extension_points::SortKey;
use crate::model::pod_info::PodUid;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Suspensions {
    suspended: BTreeMap<PodUid, Suspended>,
    /// Attempts whose answers have come.
    resumable: VecDeque<PodUid>,
    parked: BTreeMap<Arc<str>, BTreeMap<Turn, PodUid>>,
    /// Where in `parked` each pod is.
    turns: BTreeMap<PodUid, (Arc<str>, Turn)>,
    arrivals: u64,
}

/// When a parked pod goes: in the order of its profile, then of arrival.
type Turn = (SortKey, u64);

/// An attempt that was begun.
#[derive(Debug)]
struct Suspended {
    profile: Arc<str>,
    /// Where its search began: it begins there again.
    start: usize,
    answers: Vec<(Question, Answer)>,
    /// Questions without an answer.
    open: BTreeSet<EffectId>,
}

impl Suspensions {
    /// The pod that goes next: its answers are there, or it was parked and its turn has come.
    pub(super) fn next(&mut self) -> Option<PodUid> {
        if let Some(uid) = self.resumable.pop_front() {
            return Some(uid);
        }
        let profiles = self.parked.keys();
        let free = profiles.filter(|profile| !self.is_busy(profile));
        let profile = Arc::clone(free.min()?);
        let next = self.parked.get(&profile)?.values().next()?.clone();
        self.leave_parked(&next);
        Some(next)
    }

    /// Whether a pod of the profile is being asked about.
    pub(super) fn is_busy(&self, profile: &str) -> bool {
        let mut suspended = self.suspended.values();
        suspended.any(|attempt| &*attempt.profile == profile)
    }

    /// Whether the attempt of the pod was begun.
    pub(super) fn contains(&self, uid: &PodUid) -> bool {
        self.suspended.contains_key(uid)
    }

    /// The attempts that were begun.
    pub(super) fn suspended(&self) -> impl Iterator<Item = &PodUid> {
        self.suspended.keys()
    }

    /// The questions of the attempt that are not answered yet.
    pub(super) fn open(&self, uid: &PodUid) -> impl Iterator<Item = EffectId> {
        let attempt = self.suspended.get(uid).into_iter();
        attempt.flat_map(|attempt| attempt.open.iter().copied())
    }

    /// The attempts whose answers have come.
    pub(super) fn resumable(&self) -> impl Iterator<Item = &PodUid> {
        self.resumable.iter()
    }

    /// Whether the pod waits for its turn.
    pub(super) fn has_parked(&self, uid: &PodUid) -> bool {
        self.turns.contains_key(uid)
    }

    /// Lets a pod wait until nobody else of its profile is being asked about.
    pub(super) fn park(&mut self, profile: Arc<str>, key: SortKey, uid: PodUid) {
        self.leave_parked(&uid);
        self.arrivals += 1;
        let turn = (key, self.arrivals);
        let waiting = self.parked.entry(Arc::clone(&profile)).or_default();
        waiting.insert(turn, uid.clone());
        self.turns.insert(uid, (profile, turn));
    }

    fn leave_parked(&mut self, uid: &PodUid) {
        let Some((profile, turn)) = self.turns.remove(uid) else {
            return;
        };
        if let Some(waiting) = self.parked.get_mut(&profile) {
            waiting.remove(&turn);
            if waiting.is_empty() {
                self.parked.remove(&profile);
            }
        }
    }

    /// The answers of an attempt, and where its search began.
    pub(super) fn of(&self, uid: &PodUid) -> Option<(&[(Question, Answer)], usize)> {
        let attempt = self.suspended.get(uid)?;
        Some((&attempt.answers, attempt.start))
    }

    /// The attempt waits for the answers to `questions` as well.
    pub(super) fn suspend(
        &mut self,
        uid: PodUid,
        profile: Arc<str>,
        start: usize,
        questions: impl IntoIterator<Item = EffectId>,
    ) {
        let attempt = self.suspended.entry(uid).or_insert_with(|| Suspended {
            profile,
            start,
            answers: Vec::new(),
            open: BTreeSet::new(),
        });
        attempt.open.extend(questions);
    }

    /// The answer to `id` came. The attempt goes on when it is the last. What an earlier attempt
    /// asked, which ended before, concerns nobody.
    pub(super) fn answer(&mut self, uid: PodUid, id: EffectId, question: Question, answer: Answer) {
        let Some(attempt) = self.suspended.get_mut(&uid) else {
            return;
        };
        if !attempt.open.remove(&id) {
            return;
        }
        attempt.answers.push((question, answer));
        if attempt.open.is_empty() {
            self.resumable.push_back(uid);
        }
    }

    /// The attempt ended, or its pod is gone.
    pub(super) fn end(&mut self, uid: &PodUid) {
        self.leave_parked(uid);
        if self.suspended.remove(uid).is_some() {
            self.resumable.retain(|other| other != uid);
        }
    }
}
