//! Whether memory grew.

use std::time::Duration;

use serde::Serialize;

use crate::line::Line;

/// More growth than this is too much, in percent over the time that is judged.
pub(crate) const GROWTH_MAX: f64 = 10.0;
/// The beginning is not judged: at least this long,
const WARM_UP: Duration = Duration::from_mins(1);
/// and at least this part of the whole.
const WARM_UP_PART: u32 = 10;

/// How long caches may fill and the allocator may settle, of a run of `whole`.
pub(crate) fn warm_up(whole: Duration) -> Duration {
    (whole / WARM_UP_PART).max(WARM_UP)
}

/// What became of the memory of one process, in MiB, by the line through all samples: no single
/// sample decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Growth {
    /// The line at the first sample.
    pub(crate) begin: f64,
    /// The line at the last sample.
    pub(crate) end: f64,
    /// The slope of the line.
    pub(crate) per_hour: f64,
    /// From `begin` to `end`.
    pub(crate) percent: f64,
    /// The smallest sample.
    pub(crate) smallest: f64,
    /// The largest sample.
    pub(crate) largest: f64,
}

impl Growth {
    /// Judges (seconds, MiB), in the order of time. None if there are too few samples for a line.
    pub(crate) fn of(samples: &[(f64, f64)]) -> Option<Self> {
        let line = Line::fit(samples)?;
        let (first, last) = (samples.first()?.0, samples.last()?.0);
        let (begin, end) = (line.at(first), line.at(last));
        let sizes = || samples.iter().map(|(_, size)| *size);
        Some(Self {
            begin,
            end,
            per_hour: line.slope * 3600.0,
            percent: (end - begin) / begin * 100.0,
            smallest: sizes().fold(f64::INFINITY, f64::min),
            largest: sizes().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Whether that is too much.
    pub(crate) fn is_too_much(&self) -> bool {
        self.percent > GROWTH_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples every ten seconds of an hour.
    fn hour(size: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=360)
            .map(|number| f64::from(number) * 10.0)
            .map(|seconds| (seconds, size(seconds)))
            .collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_line_through_points_on_a_line_is_that_line() {
        let line = Line::fit(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).unwrap();
        assert!(near(line.intercept, 3.0) && near(line.slope, 2.0));
    }

    #[test]
    fn a_line_lies_between_points_that_are_on_none() {
        let line = Line::fit(&[(0.0, 0.0), (1.0, 3.0), (2.0, 0.0), (3.0, 3.0)]).unwrap();
        assert!(near(line.slope, 0.6) && near(line.intercept, 0.6));
    }

    #[test]
    fn one_moment_makes_no_line() {
        assert_eq!(Line::fit(&[]), None);
        assert_eq!(Line::fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Growth::of(&[(1.0, 2.0)]), None);
    }

    #[test]
    fn growth_is_told_over_the_time_and_for_an_hour() {
        // From 40 to 45 MiB within half an hour.
        let samples = [(600.0, 40.0), (1500.0, 42.5), (2400.0, 45.0)];
        let growth = Growth::of(&samples).unwrap();
        assert!(near(growth.begin, 40.0) && near(growth.end, 45.0));
        assert!(near(growth.percent, 12.5) && near(growth.per_hour, 10.0));
        assert!(near(growth.smallest, 40.0) && near(growth.largest, 45.0));
        assert!(growth.is_too_much());
    }

    #[test]
    fn a_leak_is_too_much_and_a_wave_is_not() {
        let leak = Growth::of(&hour(|seconds| 50.0 + seconds * 6.0 / 3600.0)).unwrap();
        assert!(leak.is_too_much(), "{leak:?}");
        let wave = Growth::of(&hour(|seconds| 50.0 + 8.0 * (seconds / 60.0).sin())).unwrap();
        assert!(!wave.is_too_much(), "{wave:?}");
        let little = Growth::of(&hour(|seconds| 50.0 + seconds * 4.0 / 3600.0)).unwrap();
        assert!(!little.is_too_much(), "{little:?}");
    }

    #[test]
    fn one_high_sample_is_no_growth() {
        let mut samples = hour(|_| 50.0);
        samples[350].1 = 120.0;
        let growth = Growth::of(&samples).unwrap();
        assert!(!growth.is_too_much(), "{growth:?}");
        assert!(near(growth.largest, 120.0));
    }

    #[test]
    fn less_memory_than_before_is_fine() {
        let growth = Growth::of(&[(0.0, 80.0), (10.0, 40.0)]).unwrap();
        assert!(!growth.is_too_much() && near(growth.percent, -50.0));
    }

    #[test]
    fn a_tenth_is_not_judged_and_at_least_a_minute() {
        assert_eq!(warm_up(Duration::from_hours(1)), Duration::from_mins(6));
        assert_eq!(warm_up(Duration::from_mins(3)), Duration::from_mins(1));
    }
}
