//! The task that gains, keeps and gives up the Lease.
//!
//! A candidate looks at the Lease every retry period, and in addition at the very moment at which the record that it saw
//! expires. There is no jitter: candidates may collide, the conditional write lets one of them through.

use std::{fmt, time::Duration};

use kube_leader_election::{Error as LeaseError, LeaseLock, LeaseLockParams, LeaseLockResult};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::kubernetes::{
    clock::{Clock, WallMark},
    leadership::{
        Standing, Tenure,
        guard::Guard,
        heartbeat::Heartbeat,
        record::{Availability, Observation},
        settings::ElectionSettings,
        stats::ElectionStats,
    },
};

/// How the election ended for this replica. Both end the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The leadership was lost: exit with code 1.
    Lost(Loss),
    /// It was asked to stop. The Lease was given back if it was still held: exit with code 0.
    Released,
}

/// Why a leadership was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The Lease names somebody else, nobody, or is gone.
    TakenOver,
    /// No renewal succeeded within the renew deadline.
    DeadlinePassed,
    /// The wall clock moved by 2 s or more against the monotonic one: a suspended machine, or a clock set by hand.
    ClockJumped,
    /// The scheduling loop gave no sign of life, so the Lease was not renewed.
    LoopHung,
}

/// What one look at the Lease brought.
enum Look {
    Held(Tenure),
    NotHeld,
    Conflict,
    Failed,
}

/// One candidate.
pub(crate) struct Elector {
    settings: ElectionSettings,
    clock: Clock,
    guard: Guard,
    lock: LeaseLock,
    heartbeat: Heartbeat,
    stats: ElectionStats,
    standing: watch::Sender<Standing>,
    /// The last failure was told, so that an API server that is away for an hour gives two lines, not thousands.
    failure_told: bool,
}

impl Elector {
    /// A candidate that speaks through `client`, which must not retry, and publishes to `standing`. The settings must be
    /// valid.
    pub(crate) fn new(
        client: &kube::Client,
        settings: ElectionSettings,
        clock: Clock,
        heartbeat: Heartbeat,
        stats: ElectionStats,
        standing: watch::Sender<Standing>,
    ) -> Self {
        let observation = Observation::new(settings.identity.clone(), settings.lease_duration);
        let guard = Guard::new(clock.clone(), observation);
        let lock = LeaseLock::new(
            guard.client(client),
            &settings.lease_namespace,
            LeaseLockParams {
                holder_id: settings.identity.clone(),
                lease_name: settings.lease_name.clone(),
                lease_ttl: settings.lease_duration,
            },
        );
        Self {
            settings,
            clock,
            guard,
            lock,
            heartbeat,
            stats,
            standing,
            failure_told: false,
        }
    }

    /// Runs until the leadership is lost or `stop` is cancelled. Whoever cancels has stopped writing before: the Lease
    /// is given back at once, and another replica may lead a moment later.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Outcome {
        let outcome = match self.stand_by(&stop).await {
            Some(tenure) if stop.is_cancelled() => self.release(&tenure).await,
            Some(tenure) => {
                info!(lease = %self.lease(), term = %tenure.term(), "started leading");
                self.stats.transitioned();
                self.standing
                    .send_replace(Standing::Leading(tenure.clone()));
                let outcome = self.lead(tenure, &stop).await;
                self.stats.transitioned();
                outcome
            }
            None => Outcome::Released,
        };
        self.standing.send_replace(Standing::Ended);
        outcome
    }

    /// Waits for the Lease. `None` if asked to stop. A look is not cut short for that: its write could arrive all the
    /// same, and nobody would give the Lease back.
    async fn stand_by(&mut self, stop: &CancellationToken) -> Option<Tenure> {
        loop {
            if stop.is_cancelled() {
                return None;
            }
            let started = self.clock.now();
            match self
                .look_again_after_conflict(self.settings.attempt_timeout())
                .await
            {
                // A process that was stopped while the answer was on its way holds the Lease but has no time left;
                // its next look renews.
                Look::Held(tenure) if tenure.holds(&self.clock) => return Some(tenure),
                Look::Held(_) | Look::NotHeld | Look::Conflict | Look::Failed => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = sleep_until(self.next_look(started)) => {}
            }
        }
    }

    /// Renews until that ends.
    async fn lead(&mut self, mut tenure: Tenure, stop: &CancellationToken) -> Outcome {
        let since = self.clock.now();
        let mut next = since + self.settings.retry_period;
        let mut hung = false;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.release(&tenure).await,
                () = sleep_until(next.min(tenure.deadline())) => {}
            }
            let started = self.clock.now();
            if self.clock.mark().has_jumped_since(tenure.renewed()) {
                return self.lose(Loss::ClockJumped);
            }
            let left = tenure.deadline().saturating_duration_since(started);
            if left.is_zero() {
                return self.lose(if hung {
                    Loss::LoopHung
                } else {
                    Loss::DeadlinePassed
                });
            }
            next = started + self.settings.retry_period;
            hung = self.is_loop_hung(since, hung);
            if hung {
                continue;
            }
            let look = tokio::select! {
                biased;
                () = stop.cancelled() => return self.release(&tenure).await,
                look = self.look_again_after_conflict(left.min(self.settings.attempt_timeout())) => look,
            };
            match look {
                Look::Held(renewed) => {
                    // Compared with the mark before the renewal, so that no jump hides behind a new mark.
                    if renewed.renewed().has_jumped_since(tenure.renewed()) {
                        return self.lose(Loss::ClockJumped);
                    }
                    let now = self.clock.now();
                    self.stats.renewed(
                        now.duration_since(started),
                        tenure.deadline().saturating_duration_since(now),
                    );
                    tenure = renewed;
                    self.standing
                        .send_replace(Standing::Leading(tenure.clone()));
                }
                Look::NotHeld => return self.lose(Loss::TakenOver),
                // The deadline stands: nobody can have taken a Lease that we renewed so recently.
                Look::Conflict | Look::Failed => {
                    next = next.max(self.clock.now() + self.settings.retry_period / 4);
                }
            }
        }
    }

    /// One look; after a conflict a second one at once, since the first one was built on what is no longer true.
    async fn look_again_after_conflict(&mut self, limit: Duration) -> Look {
        match self.look(limit).await {
            Look::Conflict => self.look(limit).await,
            look => look,
        }
    }

    async fn look(&mut self, limit: Duration) -> Look {
        self.stats.attempted();
        let mark = self.clock.mark();
        let sent = self.clock.now();
        match timeout(limit, self.lock.try_acquire_or_renew()).await {
            Ok(Ok(LeaseLockResult::Acquired(_))) => {
                self.failure_told = false;
                self.tenure_since(sent, mark)
                    .map_or(Look::Failed, Look::Held)
            }
            Ok(Ok(LeaseLockResult::NotAcquired(_))) => {
                self.failure_told = false;
                Look::NotHeld
            }
            Ok(Err(error)) if is_conflict(&error) => {
                debug!(lease = %self.lease(), %error, "somebody else wrote the lease in between");
                self.stats.conflicted();
                Look::Conflict
            }
            Ok(Err(error)) => {
                self.failed(&error);
                Look::Failed
            }
            Err(_) => {
                self.failed(&format_args!("no answer within {limit:?}"));
                Look::Failed
            }
        }
    }

    fn tenure_since(&self, sent: Instant, mark: WallMark) -> Option<Tenure> {
        let term = self.guard.observed(Observation::term)?;
        Some(Tenure::new(term, sent + self.settings.renew_deadline, mark))
    }

    /// The next retry, or the moment at which the Lease becomes free if that is earlier.
    fn next_look(&self, started: Instant) -> Instant {
        let now = self.clock.now();
        let period = self.settings.retry_period;
        let retry = (started + period).max(now + period / 4);
        match self.guard.observed(|seen| seen.availability(now)) {
            Availability::Held { until, .. } => retry.min(until),
            Availability::Ours | Availability::Free => retry,
        }
    }

    fn is_loop_hung(&self, leading_since: Instant, was_hung: bool) -> bool {
        // The loop may have been silent while it was not needed.
        let silence = self
            .heartbeat
            .age()
            .min(self.clock.now().saturating_duration_since(leading_since));
        let hung = silence >= self.settings.heartbeat_limit;
        if hung && !was_hung {
            warn!(lease = %self.lease(), ?silence, "the scheduling loop hangs: the lease is not renewed");
        }
        hung
    }

    fn lose(&self, loss: Loss) -> Outcome {
        self.standing.send_replace(Standing::Ended);
        warn!(lease = %self.lease(), reason = %loss, "lost the leadership");
        Outcome::Lost(loss)
    }

    /// Gives the Lease back so that the next leader need not wait. Failing to costs that leader a lease duration.
    async fn release(&mut self, tenure: &Tenure) -> Outcome {
        let still_ours = tenure.holds(&self.clock);
        self.standing.send_replace(Standing::Ended);
        if !still_ours {
            return Outcome::Released;
        }
        let release = async {
            match self.lock.step_down().await {
                // A renewal that was cut short by the request to stop may have come between.
                Err(error) if is_conflict(&error) => self.lock.step_down().await,
                result => result,
            }
        };
        match timeout(self.settings.attempt_timeout(), release).await {
            Ok(Ok(())) => info!(lease = %self.lease(), "released the lease"),
            Ok(Err(error)) => warn!(lease = %self.lease(), %error, "failed to release the lease"),
            Err(_) => warn!(lease = %self.lease(), "failed to release the lease in time"),
        }
        Outcome::Released
    }

    fn failed(&mut self, error: &dyn fmt::Display) {
        self.stats.failed();
        if self.failure_told {
            debug!(lease = %self.lease(), %error, "failed to look at the lease again");
        } else {
            warn!(lease = %self.lease(), %error, "failed to look at the lease, will retry");
            self.failure_told = true;
        }
    }

    fn lease(&self) -> impl fmt::Display {
        format!(
            "{}/{}",
            self.settings.lease_namespace, self.settings.lease_name
        )
    }
}

// === impl Loss ===

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TakenOver => "the lease names somebody else or is gone",
            Self::DeadlinePassed => "no renewal succeeded within the renew deadline",
            Self::ClockJumped => "the wall clock jumped",
            Self::LoopHung => "the scheduling loop hangs",
        })
    }
}

fn is_conflict(error: &LeaseError) -> bool {
    let (LeaseError::AcquireLease(error)
    | LeaseError::RenewLease(error)
    | LeaseError::CreateLease(error)
    | LeaseError::ReleaseLease(error)) = error
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 409)
}
