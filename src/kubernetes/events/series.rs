//! What was said about pods lately: equal events become a series, and nobody says too much.

use std::collections::VecDeque;
use std::time::Duration;

use indexmap::IndexMap;
use tokio::time::Instant;

use crate::engine::effect::EventRecord;
use crate::kubernetes::events::PodEvent;
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

/// Equal events within this time are one series (`refreshTime` of `tools/events`).
pub(super) const SERIES_WINDOW: Duration = Duration::from_mins(6);
/// Pods whose last events are remembered (`maxLruCacheEntries`).
const REMEMBERED: usize = 4096;
/// New events of one pod at once (`defaultSpamBurst`).
pub(super) const BURST: u32 = 25;
/// Then one in this time (`defaultSpamQPS` = 1/300).
pub(super) const REFILL: Duration = Duration::from_mins(5);
/// Said of a pod at most once: nothing about it is remembered.
const ONCE: &str = "Scheduled";

/// Pods that are looked at for each event, whether anything is still to be remembered of them.
const SWEPT: usize = 2;

/// Of each pod what was said about it.
#[derive(Debug, Default)]
pub(super) struct Said {
    pods: IndexMap<PodUid, SaidOfPod>,
    /// Where the sweep goes on.
    swept: usize,
}

#[derive(Debug)]
struct SaidOfPod {
    tokens: u32,
    refilled: Instant,
    series: VecDeque<Series>,
}

/// An event that was written.
#[derive(Debug)]
struct Series {
    record: EventRecord,
    name: String,
    last: Instant,
    count: u32,
}

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Create { name: String },
    Count { name: String, count: u32 },
    Aggregate,
    Drop,
}

impl Said {
    /// Pods of which something is remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    /// Creates what is new, counts the first repetition, keeps the others to itself.
    pub(super) fn judge(&mut self, event: &PodEvent, now: Instant, time: Timestamp) -> Verdict {
        // As client-go names events: the object and the time in hexadecimal nanoseconds.
        let nanoseconds = time.as_micros().saturating_mul(1000);
        let name = format!("{}.{nanoseconds:x}", event.pod.name);
        self.sweep(now);
        if event.record.reason == ONCE {
            self.pods.swap_remove(&event.uid);
            return Verdict::Create { name };
        }
        if !self.pods.contains_key(&event.uid) && self.pods.len() >= REMEMBERED {
            // Many at once: those behind them move up each time.
            self.pods.drain(..REMEMBERED / 8);
        }
        let new = || SaidOfPod {
            tokens: BURST,
            refilled: now,
            series: VecDeque::new(),
        };
        let said = self.pods.entry(event.uid.clone()).or_insert_with(new);
        said.judge(event, name, now)
    }

    /// Forgets what is over, a few pods at a time: most pods are complained about once or twice and
    /// then are placed or gone.
    fn sweep(&mut self, now: Instant) {
        for _ in 0..SWEPT {
            let Some((_, said)) = self.pods.get_index_mut(self.swept) else {
                self.swept = 0;
                return;
            };
            if said.is_over(now) {
                self.pods.swap_remove_index(self.swept);
            } else {
                self.swept += 1;
            }
        }
    }
}

impl SaidOfPod {
    /// Whether it is as if nothing had been said.
    fn is_over(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.forget_old_series(now);
        self.series.is_empty() && self.tokens == BURST
    }

    fn forget_old_series(&mut self, now: Instant) {
        self.series
            .retain(|series| now.duration_since(series.last) < SERIES_WINDOW);
    }

    fn judge(&mut self, event: &PodEvent, name: String, now: Instant) -> Verdict {
        self.refill(now);
        self.forget_old_series(now);
        let mut series = self.series.iter_mut();
        if let Some(series) = series.find(|series| series.record == event.record) {
            series.last = now;
            series.count = series.count.saturating_add(1);
            // A count that doubles is news.
            return if series.count.is_power_of_two() {
                Verdict::Count {
                    name: series.name.clone(),
                    count: series.count,
                }
            } else {
                Verdict::Aggregate
            };
        }
        if self.tokens == 0 {
            return Verdict::Drop;
        }
        self.tokens -= 1;
        if self.series.len() >= BURST as usize {
            self.series.pop_front();
        }
        self.series.push_back(Series {
            record: event.record.clone(),
            name: name.clone(),
            last: now,
            count: 1,
        });
        Verdict::Create { name }
    }

    fn refill(&mut self, now: Instant) {
        while self.tokens < BURST && now.duration_since(self.refilled) >= REFILL {
            self.tokens += 1;
            self.refilled += REFILL;
        }
        if self.tokens == BURST {
            self.refilled = now;
        }
    }
}
