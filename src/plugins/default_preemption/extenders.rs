//! Candidates that the extenders of the profile leave, with the victims that they name.

use std::sync::Arc;

use crate::engine::cache::snapshot::NodeView;
use crate::engine::framework::PluginError;
use crate::engine::framework::extender::{Processed, Victims};
use crate::engine::framework::extension_points::PostFilterVerdict;
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::plugins::default_preemption::candidate::Candidate;
use crate::plugins::default_preemption::{NAME, rejection};

const REASON_NONE_LEFT: &str = "no candidate node for preemption";

/// The candidates that are left, at least one; the verdict if there is none, or none yet.
pub(super) fn narrow<'a>(
    attempt: &FailedAttempt<'a>,
    candidates: Vec<Candidate<'a>>,
) -> Result<Vec<Candidate<'a>>, PostFilterVerdict> {
    let offered = candidates.iter().map(|candidate| {
        let victims = Victims {
            pods: candidate
                .victims
                .iter()
                .map(|pod| pod.info.uid.clone())
                .collect(),
            violations: i64::try_from(candidate.violations).unwrap_or(i64::MAX),
        };
        (Arc::clone(candidate.node.name()), victims)
    });
    let mut left = match attempt.extenders.process(offered.collect()) {
        Processed::Left(left) => left,
        Processed::Ask(question) => return Err(PostFilterVerdict::Ask(question)),
        Processed::Failed(message) => {
            return Err(PostFilterVerdict::Failed(PluginError {
                plugin: NAME,
                message: format!("preemption: {message}"),
            }));
        }
    };
    // In the order of ties; nodes that an extender added come last.
    let mut kept = Vec::new();
    for candidate in candidates {
        if let Some(victims) = left.remove(candidate.node.name()) {
            kept.push(as_told(candidate.node, &victims));
        }
    }
    for (name, victims) in left {
        let node = attempt.cluster.node(&name);
        kept.extend(node.map(|node| as_told(node, &victims)));
    }
    if kept.is_empty() {
        // Upstream lets an earlier nomination stand, which keeps room from others that the pod cannot
        // have.
        return Err(PostFilterVerdict::Hopeless(rejection(REASON_NONE_LEFT)));
    }
    Ok(kept)
}

fn as_told<'a>(node: NodeView<'a>, victims: &Victims) -> Candidate<'a> {
    let told = victims.pods.iter();
    Candidate {
        node,
        victims: told
            .filter_map(|uid| node.pods().find(|pod| pod.info.uid == *uid))
            .collect(),
        violations: usize::try_from(victims.violations).unwrap_or(0),
    }
}
