//! Decisions: pods of one workload until none waits or the time is up.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bayplan::engine::Engine;
use bayplan::engine::decision::Outcome;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::Pod;

use crate::bindings::carry_out;
use crate::stopwatch::Stopwatch;
use crate::workload::Workload;

/// A workload is measured at most this long on one size.
const MEASURE: Duration = Duration::from_secs(3);
/// The bare loop is measured this long.
const BARE: Duration = Duration::from_millis(500);
/// Pods that are decided for each node at most, so that they fit.
const PODS_PER_NODE: usize = 8;
/// Pods that are decided at most.
const PODS_MAX: usize = 20_000;
/// Pods that are decided before: what is kept of a class is made, which has a column of its own.
const WARM_UP: usize = 3;
/// Pods that are alone in their class.
const FIRST_PODS: usize = 50;

/// What one measurement gave.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) placed: u32,
    pub(crate) refused: u32,
    spent: Duration,
}

impl Measured {
    /// What a decision took.
    pub(crate) fn seconds_each(&self) -> f64 {
        self.spent.as_secs_f64() / f64::from((self.placed + self.refused).max(1))
    }
}

/// Decides pods of `workload` in a cluster of `nodes` nodes, and takes them out again.
pub(crate) fn measure(engine: &mut Engine, workload: &Workload, nodes: usize) -> Measured {
    let count = (nodes * PODS_PER_NODE).min(PODS_MAX);
    let pods: Vec<_> = (0..count).map(|i| workload.pod(i, nodes)).collect();
    measure_pods(engine, workload, &pods, WARM_UP)
}

/// As [`measure`], of pods of which no two are alike.
pub(crate) fn measure_first(engine: &mut Engine, workload: &Workload, nodes: usize) -> Measured {
    let own = |number| workload.pod_of_its_own_class(number, nodes);
    let pods: Vec<_> = (0..FIRST_PODS.min(nodes / 2)).map(own).collect();
    measure_pods(engine, workload, &pods, 0)
}

fn measure_pods(
    engine: &mut Engine,
    workload: &Workload,
    pods: &[Arc<Pod>],
    warm_up: usize,
) -> Measured {
    workload.objects().for_each(|event| engine.handle(event));
    for pod in pods {
        engine.handle(ClusterEvent::PodApplied(Arc::clone(pod)));
    }
    carry_out(engine);
    for _ in 0..warm_up {
        engine.schedule_one();
        carry_out(engine);
    }
    let measured = decide(engine);
    for pod in pods {
        engine.handle(ClusterEvent::PodDeleted(Arc::clone(pod)));
    }
    let gone = workload.objects_gone();
    gone.for_each(|event| engine.handle(event));
    carry_out(engine);
    measured
}

/// Decides until no pod waits or the time is up.
fn decide(engine: &mut Engine) -> Measured {
    let mut measured = Measured::default();
    let (started, ran) = (Instant::now(), Stopwatch::start());
    while let Some(decision) = engine.schedule_one() {
        match decision.outcome {
            Outcome::Scheduled { .. } => measured.placed += 1,
            _ => measured.refused += 1,
        }
        carry_out(engine);
        if started.elapsed() > MEASURE {
            break;
        }
    }
    measured.spent = ran.elapsed();
    measured
}

/// What no scheduler can beat that looks at every node once.
pub(crate) fn seconds_of_a_bare_loop(nodes: usize) -> f64 {
    let mut room = vec![64_000_i64; nodes];
    let (mut loops, started, ran) = (0_u32, Instant::now(), Stopwatch::start());
    while started.elapsed() < BARE {
        for _ in 0..100 {
            let nodes = room.iter().enumerate();
            let best = nodes.max_by_key(|(_, room)| **room).map(|(i, _)| i);
            if let Some(best) = best {
                room[best] -= 1;
            }
            black_box(&mut room);
        }
        loops += 100;
    }
    ran.elapsed().as_secs_f64() / f64::from(loops)
}
