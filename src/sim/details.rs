//! The part of a record that is O(nodes): taken from the attempt before it is applied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::Attempt;
use crate::engine::framework::Rejection;
use crate::engine::scheduling_cycle::Evaluation;
use crate::sim::record::{NodeScore, PluginScore, RejectionRecord};

/// What an attempt found about each node.
#[derive(Debug, Default)]
pub(super) struct Details {
    pub(super) feasible: BTreeSet<String>,
    pub(super) best: BTreeSet<String>,
    pub(super) scores: BTreeMap<String, NodeScore>,
    pub(super) rejections: BTreeMap<String, RejectionRecord>,
}

impl Details {
    /// What `attempt` found; nothing if it failed.
    pub(super) fn of(attempt: &Attempt<'_>) -> Self {
        let Ok(evaluation) = attempt.result else {
            return Self::default();
        };
        let names = evaluation
            .feasible
            .iter()
            .map(|node| node.name().to_string());
        let feasible: BTreeSet<String> = names.collect();
        let best = evaluation.best().into_iter().map(Arc::to_string).collect();
        let scores = evaluation
            .totals
            .iter()
            .enumerate()
            .map(|(index, total)| {
                let name = evaluation.feasible[index].name().to_string();
                (name, node_score(evaluation, index, *total))
            })
            .collect();
        let mut rejections: BTreeMap<String, RejectionRecord> = evaluation
            .rejected
            .iter()
            .map(|(node, rejection)| (node.name().to_string(), rejection.into()))
            .collect();
        if let Some(rejection) = &evaluation.not_looked_at {
            for node in attempt.cluster.nodes() {
                if !feasible.contains(&**node.name()) {
                    let entry = rejections.entry(node.name().to_string());
                    entry.or_insert_with(|| rejection.into());
                }
            }
        }
        Self {
            feasible,
            best,
            scores,
            rejections,
        }
    }
}

fn node_score(evaluation: &Evaluation<'_>, index: usize, total: i64) -> NodeScore {
    let plugins = evaluation.scores.iter().map(|scores| {
        let normalized = scores.normalized[index];
        let score = PluginScore {
            raw: scores.raw[index],
            normalized,
            weighted: normalized * scores.weight,
        };
        (scores.plugin.to_owned(), score)
    });
    NodeScore {
        total,
        plugins: plugins.collect(),
    }
}

impl From<&Rejection> for RejectionRecord {
    fn from(rejection: &Rejection) -> Self {
        let reasons = rejection.reasons.iter().map(ToString::to_string);
        Self {
            plugin: rejection.plugin.to_owned(),
            reasons: reasons.collect(),
            unresolvable: rejection.is_unresolvable(),
        }
    }
}
