//! `nodes=N,pods=M[,running=R][,zones=Z][,workload=SHAPE]`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerateOptions {
    /// Nodes.
    pub nodes: u32,
    /// Pods that wait.
    pub pods: u32,
    /// Pods that run on each node already.
    pub running: u32,
    /// Zones that the nodes are in, in turn.
    pub zones: u32,
    /// What the waiting pods ask for; each shape in turn if there is none.
    pub workload: Option<Shape>,
}

/// What the pods of a deployment ask for beside CPU and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Nothing.
    Plain,
    /// To be spread over zones (`DoNotSchedule`).
    SpreadZone,
    /// No two on one node.
    AntiAffinityHost,
    /// All in one zone.
    AffinityZone,
    /// The first zone, by node affinity.
    NodeAffinityZone,
}

/// Options that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidGenerateOptions {
    /// A part is no `key=value` of a known key.
    #[error(
        "{0:?} is not understood; write nodes=N,pods=M and, if wanted, running=R, zones=Z and \
         workload=NAME"
    )]
    Part(String),
    /// A value is no number, or out of bounds.
    #[error("{key} must be a whole number from {least} to {most}, not {value:?}")]
    Number {
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// The least that is allowed.
        least: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// There is no such shape.
    #[error("there is no workload {0:?}; use one of {names}, or leave it out for all in turn", names = Shape::names())]
    Workload(String),
    /// `nodes` or `pods` is missing.
    #[error("{0}= is missing; write nodes=N,pods=M")]
    Missing(&'static str),
}

/// Keys with the least and the most that they may be. A million of each fits into 8 GiB; more is
/// allowed to those who have the memory.
const NODES: (&str, u32, u32) = ("nodes", 1, 10_000_000);
const PODS: (&str, u32, u32) = ("pods", 0, 100_000_000);
/// The most that a node takes (`pods` of its allocatable).
const RUNNING: (&str, u32, u32) = ("running", 0, 110);
const ZONES: (&str, u32, u32) = ("zones", 1, 10_000);
/// Zones if none are given.
const DEFAULT_ZONES: u32 = 10;

// === impl Shape ===

impl Shape {
    /// All shapes, in the order in which deployments take them in turn.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::SpreadZone,
        Self::AntiAffinityHost,
        Self::AffinityZone,
        Self::NodeAffinityZone,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::SpreadZone => "spread-zone",
            Self::AntiAffinityHost => "anti-affinity-host",
            Self::AffinityZone => "affinity-zone",
            Self::NodeAffinityZone => "node-affinity-zone",
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Shape {
    type Err = InvalidGenerateOptions;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shape = Self::ALL.into_iter().find(|shape| shape.name() == text);
        shape.ok_or_else(|| InvalidGenerateOptions::Workload(text.to_owned()))
    }
}

impl FromStr for GenerateOptions {
    type Err = InvalidGenerateOptions;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut nodes, mut pods) = (None, None);
        let (mut running, mut zones, mut workload) = (0, DEFAULT_ZONES, None);
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("nodes", value)) => nodes = Some(number(NODES, value)?),
                Some(("pods", value)) => pods = Some(number(PODS, value)?),
                Some(("running", value)) => running = number(RUNNING, value)?,
                Some(("zones", value)) => zones = number(ZONES, value)?,
                Some(("workload", value)) => workload = Some(value.parse()?),
                _ => return Err(InvalidGenerateOptions::Part(part.to_owned())),
            }
        }
        Ok(Self {
            nodes: nodes.ok_or(InvalidGenerateOptions::Missing("nodes"))?,
            pods: pods.ok_or(InvalidGenerateOptions::Missing("pods"))?,
            running,
            zones,
            workload,
        })
    }
}

fn number(
    (key, least, most): (&'static str, u32, u32),
    value: &str,
) -> Result<u32, InvalidGenerateOptions> {
    let number = value.parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| InvalidGenerateOptions::Number {
            key,
            value: value.to_owned(),
            least,
            most,
        })
}
