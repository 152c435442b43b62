//! `DefaultPreemption`: which pods of a lower priority have to go so that a pod fits.
//!
//! It decides and says so; carrying the decision out is the engine's part.

mod candidate;
mod disruption_budgets;
mod dry_run;

use crate::apis::plugin_args::DefaultPreemptionArgs;
use crate::engine::cache::tie_break::TieBreak;
use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::extension_points::{PostFilterPlugin, PostFilterVerdict};
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::engine::framework::{Plugin, PluginError, PluginName, Rejection};
use crate::plugins::default_preemption::candidate::Candidate;
use crate::plugins::default_preemption::disruption_budgets::Budgets;
use crate::plugins::default_preemption::dry_run::{DryRun, dry_run};

pub(crate) const NAME: &str = "DefaultPreemption";
pub(crate) const REASON_NEVER: &str = "not eligible due to preemptionPolicy=Never.";
pub(crate) const REASON_TERMINATING: &str =
    "not eligible due to a terminating pod on the nominated node.";
pub(crate) const REASON_NO_VICTIMS: &str = "No preemption victims found for incoming pod";
pub(crate) const REASON_NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

/// The plugin. How many nodes it tries: `percentage` of the nodes that evictions could help, at
/// least `absolute`; all of them where ties go by name.
#[derive(Debug)]
pub(crate) struct DefaultPreemption {
    percentage: usize,
    absolute: usize,
}

/// What came of all dry runs (`DryRunPreemption`).
struct Found<'a> {
    candidates: Vec<Candidate<'a>>,
    rejections: Vec<Rejection>,
    errors: Vec<String>,
}

// === impl DefaultPreemption ===

impl DefaultPreemption {
    pub(crate) fn new(args: &DefaultPreemptionArgs) -> Self {
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        Self {
            percentage: count(args.min_candidate_nodes_percentage),
            absolute: count(args.min_candidate_nodes_absolute),
        }
    }

    /// How many candidates are enough among `nodes` (`calculateNumCandidates`).
    fn enough(&self, nodes: usize, tie_break: TieBreak) -> usize {
        match tie_break {
            TieBreak::Name => nodes,
            TieBreak::Seeded => (nodes * self.percentage / 100)
                .max(self.absolute)
                .min(nodes),
        }
    }

    /// Tries the nodes in the order of ties until there are enough candidates and one of them
    /// violates no budget.
    fn find<'a>(&self, attempt: &FailedAttempt<'a>) -> Found<'a> {
        let mut found = Found {
            candidates: Vec::new(),
            rejections: Vec::new(),
            errors: Vec::new(),
        };
        let mut nodes = attempt.helpable_nodes();
        nodes.sort_by_cached_key(|node| attempt.ties.rank(node));
        let enough = self.enough(nodes.len(), attempt.ties.tie_break());
        let budgets = Budgets::of(attempt.cluster);
        let mut harmless = false;
        for node in nodes {
            match dry_run(attempt, node, &budgets) {
                DryRun::Candidate(candidate) => {
                    harmless |= candidate.violations == 0;
                    found.candidates.push(candidate);
                    if harmless && found.candidates.len() >= enough {
                        break;
                    }
                }
                DryRun::Rejected(rejection) => found.rejections.push(rejection),
                DryRun::Failed(message) => found.errors.push(message),
            }
        }
        found
    }
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }
}

impl PostFilterPlugin for DefaultPreemption {
    fn post_filter(&self, attempt: &FailedAttempt<'_>) -> PostFilterVerdict {
        if let Some(reason) = ineligible(attempt) {
            return PostFilterVerdict::Rejected(rejection(reason));
        }
        let mut found = self.find(attempt);
        if let Some(best) = candidate::best(std::mem::take(&mut found.candidates)) {
            let (node, victims) = (best.node.name(), best.victims.len());
            return PostFilterVerdict::Nominated {
                node: node.clone(),
                message: format!(
                    "preemption: found a potential placement for pod on node {node}, preempting \
                     {victims} victims"
                ),
                victims: best
                    .victims
                    .iter()
                    .map(|pod| pod.info.uid.clone())
                    .collect(),
            };
        }
        match found.error() {
            Some(message) => PostFilterVerdict::Failed(PluginError {
                plugin: NAME,
                message,
            }),
            None => PostFilterVerdict::Hopeless(rejection(&found.not_helpful(attempt))),
        }
    }
}

fn rejection(reason: &str) -> Rejection {
    Rejection::unschedulable(NAME, format!("preemption: {reason}"))
}

/// Why the pod may not evict others at all (`PodEligibleToPreemptOthers`).
fn ineligible(attempt: &FailedAttempt<'_>) -> Option<&'static str> {
    let pod = attempt.pod.info;
    if pod.never_preempts {
        return Some(REASON_NEVER);
    }
    let nominated = pod.nominated_node.as_deref()?;
    if attempt.is_unresolvable(nominated) {
        return None;
    }
    // Its victims are on their way out: the room is being made already.
    let node = attempt.cluster.node(nominated)?;
    node.pods()
        .any(|other| other.info.priority < pod.priority && other.info.is_preempted)
        .then_some(REASON_TERMINATING)
}

// === impl Found ===

impl Found<'_> {
    /// What went wrong, each thing once (`utilerrors.NewAggregate`).
    fn error(&self) -> Option<String> {
        let mut messages = Vec::<&str>::new();
        for message in &self.errors {
            if !messages.contains(&message.as_str()) {
                messages.push(message);
            }
        }
        match messages.as_slice() {
            [] => None,
            [message] => Some(format!("preemption: {message}")),
            _ => Some(format!("preemption: [{}]", messages.join(", "))),
        }
    }

    /// Why no node can be freed (`FitError` over the dry runs; nodes that were not tried count as
    /// beyond help).
    fn not_helpful(&self, attempt: &FailedAttempt<'_>) -> String {
        let mut diagnosis = Diagnosis {
            node_count: attempt.cluster.len(),
            ..Diagnosis::default()
        };
        for rejection in &self.rejections {
            diagnosis.add(rejection, 1);
        }
        let others = diagnosis.node_count - self.rejections.len();
        if others > 0 {
            diagnosis.add(&Rejection::unresolvable(NAME, REASON_NOT_HELPFUL), others);
        }
        diagnosis.to_string()
    }
}

#[cfg(test)]
mod tests;
