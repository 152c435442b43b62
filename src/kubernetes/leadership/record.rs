//! What this replica has seen of the Lease's record, and when: the whole ground on which it is judged free or held.
//!
//! Times in the record are never read. A record counts from the local, monotonic moment at which it was first seen to be
//! different from the one before (client-go's contract: `observedTime + leaseDuration < now`).

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::kubernetes::leadership::{Term, settings::LEASE_DURATION_MAX};

/// Written together with an empty holder by whoever gives the Lease up (client-go's `release`).
const RELEASED_DURATION_SECONDS: i64 = 1;
/// Renew times that kube-leader-election, which compares them with the wall clock, takes for expired and for held.
const RENEWED_LONG_AGO: &str = "1970-01-01T00:00:00.000000Z";
const RENEWED_IN_FUTURE: &str = "9000-01-01T00:00:00.000000Z";

/// The five fields that client-go compares. Labels and fields of other users of the Lease do not prolong it.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    holder: String,
    duration_seconds: Option<i64>,
    acquire_time: Value,
    renew_time: Value,
    transitions: i64,
}

/// The last holder that was seen, and until when it may believe to lead.
#[derive(Clone, Debug)]
struct Claim {
    holder: String,
    until: Instant,
}

/// May this replica have the Lease?
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Availability {
    /// The record names this replica, and this replica knows that it wrote that.
    Ours,
    /// Nobody can believe to lead.
    Free,
    /// Somebody may believe to lead, until the given moment.
    Held { holder: String, until: Instant },
}

/// The memory of one candidate.
#[derive(Debug)]
pub(crate) struct Observation {
    identity: String,
    lease_duration: Duration,
    record: Option<Record>,
    claim: Option<Claim>,
    term: Option<Term>,
}

// === impl Record ===

impl Record {
    fn of(lease: &Value) -> Self {
        let spec = &lease["spec"];
        Self {
            holder: spec["holderIdentity"].as_str().unwrap_or("").to_owned(),
            duration_seconds: spec["leaseDurationSeconds"].as_i64(),
            acquire_time: spec["acquireTime"].clone(),
            renew_time: spec["renewTime"].clone(),
            transitions: spec["leaseTransitions"].as_i64().unwrap_or(0),
        }
    }

    fn is_released(&self) -> bool {
        self.holder.is_empty() && self.duration_seconds == Some(RELEASED_DURATION_SECONDS)
    }
}

// === impl Observation ===

impl Observation {
    /// Nothing seen yet. `lease_duration` is this candidate's own.
    pub(crate) fn new(identity: String, lease_duration: Duration) -> Self {
        Self {
            identity,
            lease_duration,
            record: None,
            claim: None,
            term: None,
        }
    }

    /// Takes in a Lease that was read at `now`.
    pub(crate) fn saw(&mut self, lease: &Value, now: Instant) {
        let record = Record::of(lease);
        if self.record.as_ref() == Some(&record) {
            return;
        }
        if record.holder == self.identity && !self.is_own_claim() {
            // Written by a stranger, or by us with the answer lost. In the first case whoever held the Lease before
            // does not know; in the second nobody did.
        } else if !record.holder.is_empty() {
            self.claim = Some(self.claim_of(&record, now));
        } else if record.is_released() && !self.is_own_claim() {
            self.claim = None;
        }
        // An emptied record is no release: the holder last seen may go on until its time is over. And a release of our
        // own record that we did not write means that somebody else may have led since.
        self.record = Some(record);
    }

    /// Takes in that there is no Lease. Who held it last may not know yet.
    pub(crate) fn saw_none(&mut self) {
        self.record = None;
    }

    /// Takes in the answer to a write of this replica.
    pub(crate) fn wrote(&mut self, lease: &Value, now: Instant) {
        let record = Record::of(lease);
        self.claim = (!record.holder.is_empty()).then(|| self.claim_of(&record, now));
        self.term = Some(Term {
            lease_uid: Arc::from(lease["metadata"]["uid"].as_str().unwrap_or("")),
            transitions: record.transitions,
        });
        self.record = Some(record);
    }

    /// Judges what was seen so far.
    pub(crate) fn availability(&self, now: Instant) -> Availability {
        let names_us = self
            .record
            .as_ref()
            .is_some_and(|record| record.holder == self.identity);
        if names_us && self.is_own_claim() {
            return Availability::Ours;
        }
        match &self.claim {
            Some(claim) if now < claim.until => Availability::Held {
                holder: claim.holder.clone(),
                until: claim.until,
            },
            _ => Availability::Free,
        }
    }

    /// The term of this replica's last write.
    pub(crate) fn term(&self) -> Option<Term> {
        self.term.clone()
    }

    /// The Lease as kube-leader-election is to see it: complete, sane, and with a renew time that makes its comparison
    /// with the wall clock come out as we judged.
    pub(crate) fn presented(&self, lease: &Value, now: Instant) -> Value {
        let availability = self.availability(now);
        let record = Record::of(lease);
        // Only a holder that kube-leader-election takes for itself is renewed; everybody else acquires, in a new term.
        let (holder, renew_time) = match availability {
            Availability::Ours => (record.holder.as_str(), RENEWED_IN_FUTURE),
            Availability::Free => ("", RENEWED_LONG_AGO),
            Availability::Held { ref holder, .. } if *holder == self.identity => {
                ("", RENEWED_IN_FUTURE)
            }
            Availability::Held { ref holder, .. } => (holder.as_str(), RENEWED_IN_FUTURE),
        };
        // kube-leader-election adds 1 to a 32-bit number.
        let transitions = i32::try_from(record.transitions)
            .ok()
            .filter(|count| (0..i32::MAX).contains(count))
            .unwrap_or(0);
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": lease["metadata"]["name"],
                "namespace": lease["metadata"]["namespace"],
                "uid": lease["metadata"]["uid"],
                "resourceVersion": lease["metadata"]["resourceVersion"],
            },
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": self.duration_of(&record).as_secs(),
                "renewTime": renew_time,
                "leaseTransitions": transitions,
            }
        })
    }

    fn is_own_claim(&self) -> bool {
        self.claim
            .as_ref()
            .is_some_and(|claim| claim.holder == self.identity)
    }

    fn claim_of(&self, record: &Record, now: Instant) -> Claim {
        Claim {
            holder: record.holder.clone(),
            until: now + self.duration_of(record),
        }
    }

    /// The record's duration within reason. Never shorter than our own, which the others share: a person who writes 0
    /// into the record of a living leader does not shorten that leader's deadline.
    fn duration_of(&self, record: &Record) -> Duration {
        let seconds = record.duration_seconds.unwrap_or(0);
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).clamp(
            self.lease_duration.min(LEASE_DURATION_MAX),
            LEASE_DURATION_MAX,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::clock::Clock;

    const LEASE: Duration = Duration::from_secs(15);

    fn lease(holder: &str, seconds: i64, renewed: &str) -> Value {
        json!({
            "metadata": {"name": "bayplan", "uid": "u1", "resourceVersion": "7"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": renewed}
        })
    }

    fn observation() -> (Observation, Instant) {
        (Observation::new("us".into(), LEASE), Clock::steady().now())
    }

    fn held_for(observation: &Observation, now: Instant) -> Option<u64> {
        match observation.availability(now) {
            Availability::Held { until, .. } => Some(until.duration_since(now).as_secs()),
            _ => None,
        }
    }

    #[test]
    fn a_record_is_held_for_its_duration_after_it_was_first_seen() {
        let (mut seen, now) = observation();
        seen.saw(&lease("them", 20, "t1"), now);
        let later = now + Duration::from_secs(19);
        seen.saw(&lease("them", 20, "t1"), later);
        assert_eq!(held_for(&seen, later), Some(1));
        assert_eq!(
            seen.availability(now + Duration::from_secs(20)),
            Availability::Free
        );
    }

    #[test]
    fn a_renewal_starts_the_wait_again_and_a_label_does_not() {
        let (mut seen, now) = observation();
        seen.saw(&lease("them", 15, "t1"), now);
        let later = now + Duration::from_secs(10);
        let mut labelled = lease("them", 15, "t1");
        labelled["metadata"]["labels"] = json!({"touched": "yes"});
        labelled["spec"]["preferredHolder"] = json!("somebody");
        seen.saw(&labelled, later);
        assert_eq!(held_for(&seen, later), Some(5));
        seen.saw(&lease("them", 15, "t2"), later);
        assert_eq!(held_for(&seen, later), Some(15));
    }

    #[test]
    fn a_release_frees_at_once_and_an_emptied_or_missing_record_does_not() {
        let (mut seen, now) = observation();
        seen.saw(&lease("them", 15, "t1"), now);
        seen.saw(&lease("", 15, "t1"), now);
        assert_eq!(held_for(&seen, now), Some(15));
        seen.saw(&json!({"metadata": {}, "spec": {}}), now);
        assert_eq!(held_for(&seen, now), Some(15));
        seen.saw_none();
        assert_eq!(held_for(&seen, now), Some(15));
        seen.saw(&lease("", 1, "t2"), now);
        assert_eq!(seen.availability(now), Availability::Free);
    }

    #[test]
    fn absurd_durations_stay_between_our_own_and_an_hour() {
        for (seconds, expected) in [
            (1_000_000_000, 3_600),
            (i64::MAX, 3_600),
            (0, 15),
            (-1, 15),
            (1, 15),
        ] {
            let (mut seen, now) = observation();
            seen.saw(&lease("them", seconds, "t1"), now);
            assert_eq!(held_for(&seen, now), Some(expected), "{seconds}");
        }
    }

    #[test]
    fn a_record_of_ours_that_somebody_else_released_or_removed_is_not_free_for_us() {
        let (mut seen, now) = observation();
        seen.wrote(&lease("us", 15, "t1"), now);
        assert_eq!(seen.availability(now), Availability::Ours);
        seen.saw(&lease("", 1, "t1"), now);
        assert_eq!(held_for(&seen, now), Some(15));
        seen.saw_none();
        assert_eq!(held_for(&seen, now), Some(15));
    }

    #[test]
    fn a_full_transition_counter_is_presented_so_that_adding_one_is_possible() {
        let (mut seen, now) = observation();
        let mut full = lease("", 1, "t1");
        for count in [json!(i32::MAX), json!(-4), json!(i64::MAX)] {
            full["spec"]["leaseTransitions"] = count;
            seen.saw(&full, now);
            assert_eq!(seen.presented(&full, now)["spec"]["leaseTransitions"], 0);
        }
    }
}
