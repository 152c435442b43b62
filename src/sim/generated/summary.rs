//! What became of all generated pods, as a table for people.

use std::collections::BTreeMap;
use std::fmt;

use crate::sim::generated::GeneratedDecision;
use crate::sim::generated::objects::zone_of;
use crate::sim::generated::options::{GenerateOptions, Shape};
use crate::sim::record::RecordOutcome;

/// Counts over all decisions of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedSummary {
    /// What was generated.
    pub options: GenerateOptions,
    /// What became of the pods of each shape.
    pub shapes: BTreeMap<Shape, ShapeSummary>,
}

/// What became of the pods of one shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShapeSummary {
    /// Pods that were given a node.
    pub scheduled: u32,
    /// Pods that fit nowhere, or whose attempt failed.
    pub refused: u32,
    /// Pods on each node that has some, by the number of the node.
    pub by_node: BTreeMap<u32, u32>,
    /// Pods in each zone that has some, by the number of the zone.
    pub by_zone: BTreeMap<u32, u32>,
    /// Why the first pod that was refused was refused.
    pub first_refusal: Option<String>,
}

impl GeneratedSummary {
    pub(super) fn new(options: GenerateOptions) -> Self {
        Self {
            options,
            shapes: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, shape: Shape, decision: &GeneratedDecision) {
        let summary = self.shapes.entry(shape).or_default();
        let place = decision.node.as_deref();
        if let Some((node, zone)) = place.and_then(|node| zone_of(node, &self.options)) {
            *summary.by_node.entry(node).or_default() += 1;
            *summary.by_zone.entry(zone).or_default() += 1;
        }
        if decision.outcome == RecordOutcome::Scheduled {
            summary.scheduled += 1;
        } else {
            summary.refused += 1;
            let message = || decision.message.clone();
            summary.first_refusal.get_or_insert_with(message);
        }
    }

    /// The fewest and the most pods of a shape in a zone.
    fn zones(&self, shape: &ShapeSummary) -> (u32, u32) {
        let all = (0..self.options.zones).map(|zone| shape.by_zone.get(&zone).copied());
        let counts = || all.clone().map(Option::unwrap_or_default);
        (
            counts().min().unwrap_or_default(),
            counts().max().unwrap_or_default(),
        )
    }
}

impl fmt::Display for GeneratedSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let running = u64::from(options.nodes) * u64::from(options.running);
        writeln!(
            f,
            "{} nodes in {} zones, {running} pods running\n",
            options.nodes, options.zones
        )?;
        writeln!(
            f,
            "{:<18}   {:>9}   {:>9}   {:>9}   {:>6}   PODS IN A ZONE",
            "WORKLOAD", "SCHEDULED", "REFUSED", "NODES", "ON ONE"
        )?;
        for (shape, summary) in &self.shapes {
            let on_one = summary.by_node.values().max().copied().unwrap_or_default();
            let (fewest, most) = self.zones(summary);
            writeln!(
                f,
                "{shape:<18}   {:>9}   {:>9}   {:>9}   {on_one:>6}   {fewest} to {most}",
                summary.scheduled,
                summary.refused,
                summary.by_node.len(),
            )?;
        }
        for (shape, summary) in &self.shapes {
            if let Some(message) = &summary.first_refusal {
                writeln!(f, "\n{shape}, the first that was refused: {message}")?;
            }
        }
        let scheduled: u32 = self.shapes.values().map(|s| s.scheduled).sum();
        let refused: u32 = self.shapes.values().map(|s| s.refused).sum();
        writeln!(
            f,
            "\n{} pods: {scheduled} scheduled, {refused} refused",
            scheduled + refused
        )
    }
}
