//! One measurement: a backlog, somebody who binds it, and what that took.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::arena::Arena;
use crate::arguments::Arguments;
use crate::arrivals::{self, Latency};
use crate::bare_loop::{Watches, Writes};
use crate::bindings::Bindings;
use crate::contestant::{Contestant, Scheduler};
use crate::requests;
use crate::workload::Workload;

/// From the start of a scheduler to its first binding at most.
const START_LIMIT: Duration = Duration::from_mins(4);
/// From the last binding to the last event at most.
const EVENTS_LIMIT: Duration = Duration::from_mins(1);
/// Between two looks at what has happened, without requests.
const POLL: Duration = Duration::from_millis(5);
/// Between two questions how many events there are.
const EVENTS_POLL: Duration = Duration::from_millis(100);
/// The memory of a scheduler that has nothing to do is looked at after this time.
const REST: Duration = Duration::from_secs(1);

/// What one measurement gave.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measurement {
    /// The workload.
    pub(crate) workload: String,
    /// Pods that ran already.
    pub(crate) running: usize,
    /// Who bound.
    pub(crate) contestant: Contestant,
    /// Pods that waited.
    pub(crate) pods: usize,
    /// Those that got a node in the time that was measured.
    pub(crate) bound: usize,
    /// From the start of the process to the first binding.
    pub(crate) start_seconds: Option<f64>,
    /// Pods bound each second, from the first binding to the last.
    pub(crate) pods_per_second: f64,
    /// Pods bound each second, from the first binding until all events were there; none where no
    /// events are written or not all came.
    pub(crate) with_events_per_second: Option<f64>,
    /// Seconds from the last binding to the last event.
    pub(crate) events_behind_seconds: Option<f64>,
    /// `Scheduled` events that were there in the end.
    pub(crate) events: usize,
    /// CPU time of the scheduler for each pod, from the first binding until the events were there.
    pub(crate) scheduler_ms_per_pod: Option<f64>,
    /// CPU time of the API server for each pod.
    pub(crate) apiserver_ms_per_pod: f64,
    /// CPU time of the scheduler from its start to the first binding.
    pub(crate) start_cpu_seconds: Option<f64>,
    /// The largest resident set, in bytes.
    pub(crate) peak_rss: Option<u64>,
    /// The resident set when all was done, in bytes.
    pub(crate) steady_rss: Option<u64>,
    /// How long pods waited that came at a fixed rate.
    pub(crate) latency: Option<Latency>,
}

/// A measurement that is under way.
pub(crate) struct Course<'a> {
    pub(crate) arena: &'a mut Arena,
    pub(crate) arguments: &'a Arguments,
    pub(crate) workload: &'a Workload,
    pub(crate) contestant: Contestant,
    pub(crate) running: usize,
    /// At which pods arrive after the backlog.
    pub(crate) rate: Option<f64>,
}

/// CPU time so far.
#[derive(Clone, Copy, Default)]
struct Cpu {
    scheduler: Duration,
    apiserver: Duration,
}

/// How the backlog went.
struct Drained {
    bound: usize,
    elapsed: Duration,
    last: Instant,
    start: Option<(Duration, Duration)>,
    at_first: Cpu,
    first: Instant,
}

impl Course<'_> {
    /// Makes the backlog, lets it be bound, and cleans up.
    pub(crate) async fn run(mut self) -> anyhow::Result<Measurement> {
        let namespace = self.arena.fresh_namespace().await?;
        let measurement = self.measure(&namespace).await;
        let cleared = self.arena.clear(&namespace).await;
        let measurement = measurement.with_context(|| {
            let (workload, contestant) = (&self.workload.name, self.contestant.name());
            format!("{workload} by {contestant}")
        })?;
        cleared.map(|()| measurement)
    }

    async fn measure(&mut self, namespace: &str) -> anyhow::Result<Measurement> {
        let scheduler_name = self.contestant.scheduler_name();
        let workload = self.workload;
        workload
            .prepare(self.arena, namespace, scheduler_name)
            .await?;
        let pods = workload.backlog(self.arguments.pods, self.arena.nodes());
        workload
            .make_backlog(self.arena, namespace, pods, scheduler_name)
            .await?;
        let bindings = Bindings::watch(self.arena.admin(), namespace).await?;
        let churn = workload
            .churn(self.arena.admin(), namespace, scheduler_name)
            .await?;
        let started = Instant::now();
        let mut scheduler = self.contestant.start(self.arena).await?;
        let drained = match &mut scheduler {
            Some(scheduler) => self.drain(scheduler, &bindings, pods, started).await?,
            None => self.run_loop(namespace, &bindings, pods).await?,
        };
        let mut measurement = self
            .conclude(namespace, pods, scheduler.as_ref(), &drained)
            .await?;
        drop(churn);
        if let Some(scheduler) = scheduler {
            tokio::time::sleep(REST).await;
            measurement.steady_rss = Some(scheduler.usage()?.rss);
            if measurement.bound == pods {
                measurement.latency = self.arrive(namespace, &bindings, pods).await?;
            }
            measurement.peak_rss = Some(scheduler.usage()?.peak_rss);
            scheduler.stop().await?;
        }
        Ok(measurement)
    }

    async fn run_loop(
        &mut self,
        namespace: &str,
        bindings: &Bindings,
        pods: usize,
    ) -> anyhow::Result<Drained> {
        let account = self.arena.account().clone();
        let nodes = self.arena.nodes();
        let events = self.contestant == Contestant::BindEventLoop;
        let writes = Writes::new(namespace, pods, nodes, events);
        let watches = Watches::open(&account).await?;
        let (first, at_first) = (Instant::now(), self.cpu(None)?);
        writes.send(&account).await?;
        while bindings.count()? < pods {
            tokio::time::sleep(POLL).await;
        }
        drop(watches);
        Ok(drained(bindings, first, None, at_first))
    }

    async fn drain(
        &mut self,
        scheduler: &mut Scheduler,
        bindings: &Bindings,
        pods: usize,
        started: Instant,
    ) -> anyhow::Result<Drained> {
        while bindings.count()? == 0 {
            scheduler.ensure_running()?;
            if started.elapsed() > START_LIMIT {
                bail!(
                    "nothing was bound within {START_LIMIT:?}:\n{}",
                    scheduler.log_tail()
                );
            }
            tokio::time::sleep(POLL).await;
        }
        let first = Instant::now();
        let at_first = self.cpu(Some(scheduler))?;
        while bindings.count()? < pods && first.elapsed() < self.arguments.window {
            scheduler.ensure_running()?;
            tokio::time::sleep(POLL).await;
        }
        let start = Some((first - started, at_first.scheduler));
        Ok(drained(bindings, first, start, at_first))
    }

    /// Waits for the events, and counts.
    async fn conclude(
        &mut self,
        namespace: &str,
        pods: usize,
        scheduler: Option<&Scheduler>,
        drained: &Drained,
    ) -> anyhow::Result<Measurement> {
        let (events, events_at, cpu) = self
            .follow_events(namespace, pods, scheduler, drained)
            .await?;
        let bound = drained.bound as f64;
        let each = |now: Duration, before: Duration| {
            now.saturating_sub(before).as_secs_f64() * 1e3 / bound
        };
        let is_scheduler = scheduler.is_some();
        Ok(Measurement {
            workload: self.workload.name.clone(),
            running: self.running,
            contestant: self.contestant,
            pods,
            bound: drained.bound,
            start_seconds: drained.start.map(|(time, _)| time.as_secs_f64()),
            pods_per_second: bound / drained.elapsed.as_secs_f64(),
            with_events_per_second: events_at.map(|at| bound / (at - drained.first).as_secs_f64()),
            events_behind_seconds: events_at
                .map(|at| at.saturating_duration_since(drained.last).as_secs_f64()),
            events,
            scheduler_ms_per_pod: is_scheduler
                .then(|| each(cpu.scheduler, drained.at_first.scheduler)),
            apiserver_ms_per_pod: each(cpu.apiserver, drained.at_first.apiserver),
            start_cpu_seconds: drained.start.map(|(_, cpu)| cpu.as_secs_f64()),
            peak_rss: None,
            steady_rss: None,
            latency: None,
        })
    }

    /// How many events there are in the end, when the last one came, and what was used until then.
    /// Nobody waits for events that are not written, nor for those of a backlog that goes on.
    async fn follow_events(
        &mut self,
        namespace: &str,
        pods: usize,
        scheduler: Option<&Scheduler>,
        drained: &Drained,
    ) -> anyhow::Result<(usize, Option<Instant>, Cpu)> {
        let (path, asked) = (events_path(namespace), Instant::now());
        let waits = self.contestant != Contestant::BindLoop && drained.bound == pods;
        loop {
            let (written, _) = requests::count(self.arena.admin(), &path).await?;
            let ends = !waits || asked.elapsed() > EVENTS_LIMIT;
            if written >= drained.bound || ends {
                let (now, cpu) = (Instant::now(), self.cpu(scheduler)?);
                let events = scheduled_events(self.arena, namespace).await?;
                let complete = waits && events >= drained.bound;
                if complete || ends {
                    return Ok((events, complete.then_some(now), cpu));
                }
            }
            tokio::time::sleep(EVENTS_POLL).await;
        }
    }

    async fn arrive(
        &self,
        namespace: &str,
        bindings: &Bindings,
        backlog: usize,
    ) -> anyhow::Result<Option<Latency>> {
        let Some(rate) = self.rate else {
            return Ok(None);
        };
        let nodes = self.arena.nodes();
        let wanted = (rate * self.arguments.arrivals.as_secs_f64()) as usize;
        let total = self.workload.arrivals(wanted, backlog, nodes);
        if total == 0 {
            return Ok(None);
        }
        let (workload, scheduler) = (self.workload, self.contestant.scheduler_name());
        workload
            .make_companions(self.arena, namespace, "late", total)
            .await?;
        let make = |number: usize, name: &str| {
            workload.body(name, backlog + number, nodes, namespace, scheduler)
        };
        let admin = self.arena.admin();
        let latency = arrivals::measure(admin, namespace, bindings, rate, total, make).await?;
        Ok(Some(latency))
    }

    fn cpu(&mut self, scheduler: Option<&Scheduler>) -> anyhow::Result<Cpu> {
        let scheduler = match scheduler {
            Some(scheduler) => scheduler.usage()?.cpu,
            None => Duration::ZERO,
        };
        Ok(Cpu {
            scheduler,
            apiserver: self.arena.apiserver_usage()?.cpu,
        })
    }
}

fn drained(
    bindings: &Bindings,
    began: Instant,
    start: Option<(Duration, Duration)>,
    at_first: Cpu,
) -> Drained {
    let seen = bindings.seen();
    let first = seen.first().map_or(began, |(_, time)| *time);
    let last = seen.last().map_or(began, |(_, time)| *time);
    Drained {
        bound: seen.len(),
        elapsed: last - first,
        last,
        start,
        at_first,
        first,
    }
}

fn events_path(namespace: &str) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")
}

/// How many `Scheduled` events there are.
async fn scheduled_events(arena: &Arena, namespace: &str) -> anyhow::Result<usize> {
    let path = format!(
        "{}?fieldSelector=reason%3DScheduled",
        events_path(namespace)
    );
    let list = requests::get(arena.admin(), &path).await?;
    Ok(list["items"].as_array().map_or(0, Vec::len))
}
