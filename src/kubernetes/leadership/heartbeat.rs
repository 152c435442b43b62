//! The sign of life of the scheduling loop. A leader whose loop hangs must not keep the Lease.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::kubernetes::clock::Clock;

/// Beaten by the scheduling loop on every turn, also on idle ones; looked at by the elector and by `/livez`.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    clock: Clock,
    started: Instant,
    last_micros: Arc<AtomicU64>,
}

impl Heartbeat {
    /// A heart that has just beaten.
    pub fn new(clock: Clock) -> Self {
        let started = clock.now();
        Self {
            clock,
            started,
            last_micros: Arc::default(),
        }
    }

    /// Says that the loop is alive.
    pub fn beat(&self) {
        let elapsed = self.clock.now().duration_since(self.started).as_micros();
        self.last_micros.store(
            u64::try_from(elapsed).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// The time since the last beat.
    pub fn age(&self) -> Duration {
        let last = self.started + Duration::from_micros(self.last_micros.load(Ordering::Relaxed));
        self.clock.now().saturating_duration_since(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_beat_on_one_clone_is_seen_on_another() {
        let heartbeat = Heartbeat::new(Clock::steady());
        let other = heartbeat.clone();
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(other.age(), Duration::from_secs(5));
        heartbeat.beat();
        assert_eq!(other.age(), Duration::ZERO);
    }
}
