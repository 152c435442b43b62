//! Who leads: a monotonic deadline that is read immediately before every write.
//!
//! Replicas agree through one Lease. The record handling is kube-leader-election's; [`guard`] makes it safe and
//! [`elector`] drives it. Nobody stores "I am the leader": whoever writes asks [`Leadership::write_timeout`] first, and
//! gets the time that the write may take, or nothing.
//!
//! ```text
//!             acquired                      taken over, record gone, deadline passed,
//!  Standby ──────────────▶ Leading ──────── wall clock jumped, loop hung ──────────▶ Ended   (exit code 1)
//!     │                    │    ▲ │
//!     │             renewed └───┘ └── stop requested: release ─────────────────────▶ Ended   (exit code 0)
//!     └── stop requested ─────────────────────────────────────────────────────────▶ Ended   (exit code 0)
//! ```
//!
//! Why no two replicas write at once: a holder's deadline is `renew_deadline` after it *sent* its last successful
//! renewal. Another replica takes the Lease no earlier than `lease_duration` after it *saw* that renewal, which is later,
//! and `lease_duration > renew_deadline`. Neither compares anybody's wall clock. One hole stays open, as in client-go: if
//! a person deletes or empties the Lease under a living leader, a replica that starts at that moment, and so has never
//! seen the record, takes it at once; the old leader notices at its next renewal, at most one retry period later.

pub mod elector;
pub mod guard;
pub mod heartbeat;
mod record;
pub mod settings;
pub mod stats;
pub mod thread;

#[cfg(test)]
mod fake_lease;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::kubernetes::clock::{Clock, WallMark};

/// The longest a single write may take: what is left between the default renew deadline (10 s) and the default lease
/// duration (15 s), less a second.
const WRITE_TIMEOUT_MAX: Duration = Duration::from_secs(4);
/// A write ends this long before the deadline.
const WRITE_MARGIN: Duration = Duration::from_secs(1);
/// "For ever" as a deadline, short enough to be added to any instant.
const FAR_FUTURE: Duration = Duration::from_hours(24 * 365 * 30);
/// How often a holder that waits to lose looks at the wall clock.
const WALL_CHECK_PERIOD: Duration = Duration::from_secs(1);

/// One uninterrupted leadership. A Lease that was deleted and created again counts its transitions from 0, so its UID
/// belongs to the term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// `metadata.uid` of the Lease.
    pub lease_uid: Arc<str>,
    /// `spec.leaseTransitions` while this leader holds it.
    pub transitions: i64,
}

/// Where a replica stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Waits for the Lease. Leaves to `Leading` and `Ended`.
    Standby,
    /// Holds the Lease, until the tenure's deadline. Leaves to `Leading` with a later deadline, and to `Ended`.
    Leading(Tenure),
    /// Leads no more and never will again: the process is about to end.
    Ended,
}

/// A leadership as of its last successful renewal.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenure {
    term: Term,
    deadline: Instant,
    renewed: WallMark,
}

/// What everybody who writes holds. Cheap to clone; all clones see the same.
#[derive(Clone, Debug)]
pub struct Leadership {
    clock: Clock,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Always,
    Elected(watch::Receiver<Standing>),
}

// === impl Term ===

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lease_uid, self.transitions)
    }
}

// === impl Leadership ===

impl Leadership {
    /// For `--leader-elect=false`: leads without end, in no term.
    pub fn always() -> Self {
        Self {
            clock: Clock::system(),
            source: Source::Always,
        }
    }

    pub(crate) fn elected(clock: Clock, standing: watch::Receiver<Standing>) -> Self {
        Self {
            clock,
            source: Source::Elected(standing),
        }
    }

    /// When the leadership ends if it is not renewed; `None` for one that does not lead now.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.source {
            Source::Always => Some(self.clock.now() + FAR_FUTURE),
            Source::Elected(standing) => match &*standing.borrow() {
                Standing::Leading(tenure) if tenure.holds(&self.clock) => Some(tenure.deadline),
                _ => None,
            },
        }
    }

    /// What is left of the leadership, zero when there is none.
    pub fn remaining(&self) -> Duration {
        self.deadline().map_or(Duration::ZERO, |deadline| {
            deadline.saturating_duration_since(self.clock.now())
        })
    }

    /// Whether this replica leads at this very moment. To decide about a write use [`Self::write_timeout`].
    pub fn is_leading(&self) -> bool {
        self.deadline().is_some()
    }

    /// Permission for one write, and how long it may take: the smaller of 4 s and what is left less 1 s. `None` means:
    /// do not write.
    pub fn write_timeout(&self) -> Option<Duration> {
        self.remaining()
            .checked_sub(WRITE_MARGIN)
            .filter(|left| !left.is_zero())
            .map(|left| left.min(WRITE_TIMEOUT_MAX))
    }

    /// The term that is led now; `None` without leader election or leadership.
    pub fn term(&self) -> Option<Term> {
        match &self.source {
            Source::Always => None,
            Source::Elected(standing) => match &*standing.borrow() {
                Standing::Leading(tenure) if tenure.holds(&self.clock) => Some(tenure.term.clone()),
                _ => None,
            },
        }
    }

    /// How long ago the leadership ran out although nobody has said that it ended: the elector hangs.
    pub fn overdue(&self) -> Duration {
        match &self.source {
            Source::Always => Duration::ZERO,
            Source::Elected(standing) => match &*standing.borrow() {
                Standing::Leading(tenure) => {
                    self.clock.now().saturating_duration_since(tenure.deadline)
                }
                Standing::Standby | Standing::Ended => Duration::ZERO,
            },
        }
    }

    /// Waits until this replica leads. `false` if it never will.
    pub async fn wait_until_leading(&self) -> bool {
        let Source::Elected(standing) = &self.source else {
            return true;
        };
        let mut standing = standing.clone();
        loop {
            let ended = *standing.borrow_and_update() == Standing::Ended;
            if ended {
                return false;
            }
            if self.is_leading() {
                return true;
            }
            if standing.changed().await.is_err() {
                return false;
            }
        }
    }

    /// Waits until this replica does not lead. Returns at once if it does not lead now, never without leader election.
    pub async fn wait_until_lost(&self) {
        let Source::Elected(standing) = &self.source else {
            return std::future::pending().await;
        };
        let mut standing = standing.clone();
        loop {
            standing.mark_unchanged();
            let Some(deadline) = self.deadline() else {
                return;
            };
            let look_again = deadline.min(self.clock.now() + WALL_CHECK_PERIOD);
            // A dropped sender changes nothing: the deadline then runs out.
            tokio::select! {
                Ok(()) = standing.changed() => {}
                () = sleep_until(look_again) => {}
            }
        }
    }
}

// === impl Tenure ===

impl Tenure {
    pub(crate) fn new(term: Term, deadline: Instant, renewed: WallMark) -> Self {
        Self {
            term,
            deadline,
            renewed,
        }
    }

    pub(crate) fn term(&self) -> &Term {
        &self.term
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The mark taken before the last renewal was sent.
    pub(crate) fn renewed(&self) -> WallMark {
        self.renewed
    }

    pub(crate) fn holds(&self, clock: &Clock) -> bool {
        clock.now() < self.deadline && !clock.mark().has_jumped_since(self.renewed)
    }
}
