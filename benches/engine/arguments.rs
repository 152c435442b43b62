//! What is measured: `[NODESxRUNNING…] [section=NAME…] [WORKLOAD…]`.

use crate::cluster::Size;

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Decisions a second, by workload and size.
    Decisions,
    /// What one event costs, by size.
    Events,
    /// Bytes for a node, for a pod.
    Memory,
    /// Cost against running pods and against terms.
    Growth,
}

/// The sizes that are measured if none is given.
const SIZES: [Size; 6] = [
    size(100, 30),
    size(1_000, 30),
    size(5_000, 30),
    size(15_000, 30),
    size(100_000, 30),
    size(1_000_000, 2),
];

const fn size(nodes: usize, running: usize) -> Size {
    Size { nodes, running }
}

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// The sizes for decisions and events.
    pub(crate) sizes: Vec<Size>,
    sections: Vec<Section>,
    workloads: Vec<String>,
}

impl Arguments {
    /// Reads the command line.
    pub(crate) fn read() -> Result<Self, String> {
        let mut arguments = Self::default();
        for argument in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
            if let Some(section) = argument.strip_prefix("section=") {
                arguments.sections.push(Section::named(section)?);
            } else if argument.starts_with(|first: char| first.is_ascii_digit()) {
                arguments.sizes.push(argument.parse()?);
            } else {
                arguments.workloads.push(argument);
            }
        }
        if arguments.sizes.is_empty() {
            arguments.sizes = SIZES.to_vec();
        }
        Ok(arguments)
    }

    /// Whether a part of the run is wanted.
    pub(crate) fn wants(&self, section: Section) -> bool {
        self.sections.is_empty() || self.sections.contains(&section)
    }

    /// Whether a workload is wanted.
    pub(crate) fn wants_workload(&self, name: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|wanted| wanted == name)
    }

    /// The names of wanted workloads that are not among `known`.
    pub(crate) fn unknown_workloads<'a>(&'a self, known: &[&str]) -> Vec<&'a str> {
        let names = self.workloads.iter().map(String::as_str);
        names.filter(|name| !known.contains(name)).collect()
    }
}

impl Section {
    fn named(name: &str) -> Result<Self, String> {
        match name {
            "decisions" => Ok(Self::Decisions),
            "events" => Ok(Self::Events),
            "memory" => Ok(Self::Memory),
            "growth" => Ok(Self::Growth),
            _ => Err(format!(
                "there is no section {name:?}; there are decisions, events, memory and growth"
            )),
        }
    }
}
