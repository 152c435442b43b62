//! What was asked for.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, ensure};
use serde::Serialize;

use crate::words::{self, number};

/// Running pods for each node at most: the pods of one workload all go into one zone, and there
/// must be room for them beside the others.
const RUNNING_PER_NODE: usize = 15;
/// Nodes at least: a few of them are always tainted, each in another zone.
const NODES: usize = 20;
/// Running pods at least: a smaller number does not last until a gate has opened.
const RUNNING: usize = 100;
/// Minutes at least: the first one is not judged.
const MINUTES: u64 = 2;

/// How long, how many, how fast.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Arguments {
    /// How long things come and go.
    pub(crate) minutes: u64,
    /// Nodes that stay.
    pub(crate) nodes: usize,
    /// Pods that have a node, or will get one.
    pub(crate) running: usize,
    /// Pods made each second.
    pub(crate) rate: usize,
    /// The scheduler.
    #[serde(skip)]
    pub(crate) binary: PathBuf,
    /// Where the figures go.
    #[serde(skip)]
    pub(crate) output: PathBuf,
}

impl Arguments {
    /// Reads `name=value` words.
    pub(crate) fn read(words: &[String]) -> anyhow::Result<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut this = Self {
            minutes: 60,
            nodes: 1_000,
            running: 10_000,
            rate: 20,
            binary: root.join("target/release/bayplan"),
            output: root.join("target/bench"),
        };
        for (name, value) in words::pairs(words)? {
            match name {
                "minutes" => this.minutes = number(name, value)?,
                "nodes" => this.nodes = number(name, value)?,
                "running" => this.running = number(name, value)?,
                "rate" => this.rate = number(name, value)?,
                "binary" => this.binary = value.into(),
                "output" => this.output = value.into(),
                _ => bail!("{name:?} is not known; see benches/soak/arguments.rs"),
            }
        }
        this.check()?;
        Ok(this)
    }

    fn check(&self) -> anyhow::Result<()> {
        let Self { nodes, running, .. } = *self;
        ensure!(self.minutes >= MINUTES, "minutes must be {MINUTES} or more");
        ensure!(self.rate > 0, "rate must be 1 or more");
        ensure!(nodes >= NODES, "nodes must be {NODES} or more");
        ensure!(running >= RUNNING, "running must be {RUNNING} or more");
        ensure!(
            running <= nodes * RUNNING_PER_NODE,
            "{nodes} nodes have room for {} running pods",
            nodes * RUNNING_PER_NODE
        );
        Ok(())
    }

    /// How long things come and go.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_mins(self.minutes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> anyhow::Result<Arguments> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Arguments::read(&words)
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let arguments = read(&["minutes=3", "rate=7"]).unwrap();
        let Arguments { nodes, running, .. } = arguments;
        assert_eq!((arguments.minutes, arguments.rate), (3, 7));
        assert_eq!((nodes, running), (1_000, 10_000));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for word in ["minutes=1", "rate=0", "nodes=19", "nodes=600", "running=99"] {
            assert!(read(&[word]).is_err(), "{word}");
        }
        assert!(read(&["seconds=9"]).is_err());
        assert!(read(&["nodes=700"]).is_ok());
    }
}
