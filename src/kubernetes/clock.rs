//! The one module that reads clocks.
//!
//! Everything that is measured or waited for uses the monotonic clock, through tokio so that tests with paused time are
//! truthful. The wall clock is read once, to give [`Timestamp`]s a beginning, and afterwards only to notice that it
//! jumped: the monotonic clock stands still while a virtual machine is suspended, and only the wall clock tells.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::model::timestamp::Timestamp;

/// A difference between the two clocks from which on the wall clock is said to have jumped. Slewing moves a clock by
/// half a millisecond a second, so between two marks a few seconds apart this is a step or a suspended machine.
const WALL_JUMP: Duration = Duration::from_secs(2);

/// A source of time: cheap to clone, all clones agree.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    started_wall_micros: i64,
    wall: Wall,
}

#[derive(Clone, Debug)]
enum Wall {
    System,
    /// Follows the monotonic clock, so that it stands with tokio's paused time, and is off by what a test says.
    #[cfg(test)]
    Steady {
        step_micros: std::sync::Arc<std::sync::atomic::AtomicI64>,
    },
}

/// How far apart the two clocks were at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallMark {
    offset_micros: i64,
}

// === impl Clock ===

impl Clock {
    /// The clocks of this machine.
    pub fn system() -> Self {
        Self {
            started: monotonic(),
            started_wall_micros: system_wall_micros(),
            wall: Wall::System,
        }
    }

    /// A clock whose wall follows (paused) tokio time until [`Clock::step_wall`] moves it.
    #[cfg(test)]
    pub(crate) fn steady() -> Self {
        Self {
            started: monotonic(),
            started_wall_micros: 1_700_000_000_000_000,
            wall: Wall::Steady {
                step_micros: std::sync::Arc::default(),
            },
        }
    }

    /// Moves the wall clock of a steady clock and of its clones.
    #[cfg(test)]
    pub(crate) fn step_wall(&self, micros: i64) {
        match &self.wall {
            Wall::System => panic!("only a steady clock can be stepped"),
            Wall::Steady { step_micros } => {
                step_micros.fetch_add(micros, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    /// Monotonic now.
    pub fn now(&self) -> Instant {
        monotonic()
    }

    /// The time for the engine: the wall clock at the start plus what has passed since. It never goes back.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_micros(
            self.started_wall_micros
                .saturating_add(self.elapsed_micros()),
        )
    }

    /// Remembers how the two clocks stand to each other.
    pub fn mark(&self) -> WallMark {
        let wall = match &self.wall {
            Wall::System => system_wall_micros(),
            #[cfg(test)]
            Wall::Steady { step_micros } => {
                self.started_wall_micros
                    + self.elapsed_micros()
                    + step_micros.load(std::sync::atomic::Ordering::Relaxed)
            }
        };
        WallMark {
            offset_micros: wall.saturating_sub(self.elapsed_micros()),
        }
    }

    fn elapsed_micros(&self) -> i64 {
        let elapsed = monotonic().duration_since(self.started).as_micros();
        i64::try_from(elapsed).unwrap_or(i64::MAX)
    }
}

// === impl WallMark ===

impl WallMark {
    /// Whether between two marks the wall clock moved against the monotonic one, in either direction, by 2 s or more.
    pub fn has_jumped_since(self, earlier: WallMark) -> bool {
        Duration::from_micros(self.offset_micros.abs_diff(earlier.offset_micros)) >= WALL_JUMP
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this module is where the ban points to"
)]
fn monotonic() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this module is where the ban points to"
)]
fn system_wall_micros() -> i64 {
    // A machine that believes to live before 1970 is taken to be at the epoch.
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
}

/// The time as calendars have it; 1970 if they do not reach so far.
pub(in crate::kubernetes) fn utc(time: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(time.as_micros()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn timestamps_follow_the_monotonic_clock_even_when_the_wall_steps_back() {
        let clock = Clock::steady();
        let first = clock.timestamp();
        tokio::time::advance(Duration::from_secs(3)).await;
        clock.step_wall(-3_600_000_000);
        assert_eq!(clock.timestamp().since(first), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_step_of_two_seconds_in_either_direction_is_a_jump() {
        for step in [2_000_000, -2_000_000] {
            let clock = Clock::steady();
            let mark = clock.mark();
            clock.step_wall(step);
            assert!(clock.mark().has_jumped_since(mark), "{step}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slewing_and_passing_time_are_no_jump() {
        let clock = Clock::steady();
        let mark = clock.mark();
        tokio::time::advance(Duration::from_hours(1)).await;
        clock.step_wall(1_900_000);
        assert!(!clock.mark().has_jumped_since(mark));
    }

    #[tokio::test]
    async fn the_system_wall_clock_is_near_its_timestamp() {
        let clock = Clock::system();
        let mark = clock.mark();
        assert!(!clock.mark().has_jumped_since(mark));
        assert!(clock.timestamp().as_micros() > 1_700_000_000_000_000);
    }
}
