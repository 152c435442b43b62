//! What was asked for.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::contestant::Contestant;
use crate::words::{self, number};

/// Workloads of the default set: those of `scheduler_perf` that kube-scheduler is known for.
const DEFAULT_WORKLOADS: [&str; 7] = [
    "plain",
    "spread-zone-hard",
    "spread-zone-soft",
    "anti-affinity-host",
    "affinity-zone",
    "preferred-affinity-host",
    "node-affinity-zone",
];

/// Those of them that are measured beside running pods.
const DEFAULT_RUNNING_WORKLOADS: [&str; 3] = ["plain", "spread-zone-hard", "anti-affinity-host"];

/// Pods that run already in the second part of the default set.
const DEFAULT_RUNNING: usize = 150_000;

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Running pods, and the workloads that are measured beside them, in this order.
    pub(crate) rounds: Vec<(usize, Vec<String>)>,
    /// What a running pod takes in JSON, in KiB; as little as can be if 0.
    pub(crate) running_kib: usize,
    /// Pods of one measurement at most.
    pub(crate) pods: usize,
    /// A slow scheduler is measured this long.
    pub(crate) window: Duration,
    /// How long pods arrive at a fixed rate; none of it if zero.
    pub(crate) arrivals: Duration,
    /// Whether kube-scheduler is also measured with the limits of its client.
    pub(crate) defaults: bool,
    /// Who takes part.
    pub(crate) contestants: Vec<Contestant>,
    /// How often all of it is measured.
    pub(crate) repeat: usize,
    /// The scheduler.
    pub(crate) binary: PathBuf,
    /// Where the figures go.
    pub(crate) output: PathBuf,
}

impl Arguments {
    /// Reads `name=value` words; `workloads` knows what there is.
    pub(crate) fn read(words: &[String], workloads: &[String]) -> anyhow::Result<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut this = Self {
            nodes: 5_000,
            rounds: Vec::new(),
            running_kib: 0,
            pods: 10_000,
            window: Duration::from_secs(20),
            arrivals: Duration::from_secs(8),
            defaults: true,
            contestants: Contestant::ALL.to_vec(),
            repeat: 1,
            binary: root.join("target/release/bayplan"),
            output: root.join("target/bench"),
        };
        let (mut running, mut chosen) = (None, None);
        for (name, value) in words::pairs(words)? {
            match name {
                "nodes" => this.nodes = number(name, value)?,
                "running-kib" => this.running_kib = number(name, value)?,
                "pods" => this.pods = number(name, value)?,
                "repeat" => this.repeat = number(name, value)?,
                "window" => this.window = Duration::from_secs(number(name, value)?),
                "arrivals" => this.arrivals = Duration::from_secs(number(name, value)?),
                "defaults" => this.defaults = number::<u8>(name, value)? > 0,
                "running" => running = Some(number(name, value)?),
                "workloads" => chosen = Some(words_of(value)),
                "contestants" => this.contestants = contestants(value)?,
                "binary" => this.binary = value.into(),
                "output" => this.output = value.into(),
                _ => bail!("{name:?} is not known; see benches/end_to_end/arguments.rs"),
            }
        }
        this.rounds = rounds(running, chosen, this.nodes);
        let asked = this.rounds.iter().flat_map(|(_, workloads)| workloads);
        if let Some(unknown) = asked.into_iter().find(|name| !workloads.contains(name)) {
            bail!(
                "there is no workload {unknown:?}; there are {}",
                workloads.join(", ")
            );
        }
        Ok(this)
    }
}

fn rounds(
    running: Option<usize>,
    chosen: Option<Vec<String>>,
    nodes: usize,
) -> Vec<(usize, Vec<String>)> {
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match (running, chosen) {
        (Some(running), Some(chosen)) => vec![(running, chosen)],
        (None, Some(chosen)) => vec![(0, chosen)],
        (Some(0), None) => vec![(0, named(&DEFAULT_WORKLOADS))],
        (Some(running), None) => vec![(running, named(&DEFAULT_RUNNING_WORKLOADS))],
        (None, None) => vec![
            (0, named(&DEFAULT_WORKLOADS)),
            // As many for each node in a smaller cluster.
            (
                (nodes * 30).min(DEFAULT_RUNNING),
                named(&DEFAULT_RUNNING_WORKLOADS),
            ),
        ],
    }
}

fn contestants(value: &str) -> anyhow::Result<Vec<Contestant>> {
    let named = |word: String| {
        let mut all = Contestant::ALL.into_iter();
        let found = all.find(|contestant| contestant.name() == word);
        found.with_context(|| {
            let all = Contestant::ALL.map(Contestant::name).join(", ");
            format!("there is no contestant {word:?}; there are {all}")
        })
    };
    words_of(value).into_iter().map(named).collect()
}

fn words_of(value: &str) -> Vec<String> {
    let words = value.split([' ', ',']).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
