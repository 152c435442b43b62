//! `DefaultPreemption`: which pods of a lower priority have to go so that a pod fits.
//!
//! It decides and says so; carrying the decision out is the engine's part. As long as victims are
//! being evicted for a pod, it holds the pod back at `PreEnqueue`.

mod candidate;
mod disruption_budgets;
mod dry_run;
mod extenders;

use crate::apis::plugin_args::DefaultPreemptionArgs;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::tie_break::TieBreak;
use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, PostFilterPlugin, PostFilterVerdict, PreEnqueuePlugin,
};
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::engine::framework::{
    ActionType, ClusterEventKind, EventResource, Plugin, PluginError, PluginName, QueueingHint,
    Rejection,
};
use crate::plugins::default_preemption::candidate::Candidate;
use crate::plugins::default_preemption::disruption_budgets::Budgets;
use crate::plugins::default_preemption::dry_run::{DryRun, dry_run};

pub(crate) const NAME: &str = "DefaultPreemption";
pub(crate) const REASON_NEVER: &str = "not eligible due to preemptionPolicy=Never.";
pub(crate) const REASON_TERMINATING: &str =
    "not eligible due to a terminating pod on the nominated node.";
pub(crate) const REASON_EVICTING: &str = "waiting for the preemption for this pod to be finished";
pub(crate) const REASON_NO_VICTIMS: &str = "No preemption victims found for incoming pod";
pub(crate) const REASON_NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

/// The plugin.
#[derive(Debug)]
pub(crate) struct DefaultPreemption {
    /// How many candidates are enough; none: all nodes are tried.
    sample: Option<Sample>,
}

/// Candidates are enough at this share, in percent, of the nodes that evictions could help, and at
/// least at this number. Where ties go by name, all nodes are tried.
#[derive(Debug)]
struct Sample {
    percentage: usize,
    absolute: usize,
}

/// What came of all dry runs (`DryRunPreemption`).
struct Found<'a> {
    candidates: Vec<Candidate<'a>>,
    rejections: Vec<Rejection>,
    /// Nodes that have nobody to evict and were not tried.
    without_victims: usize,
    errors: Vec<String>,
}

// === impl DefaultPreemption ===

impl DefaultPreemption {
    pub(crate) fn new(args: &DefaultPreemptionArgs) -> Self {
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        let sample = args.sample().map(|(percentage, absolute)| Sample {
            percentage: count(percentage),
            absolute: count(absolute),
        });
        Self { sample }
    }

    /// How many candidates are enough among `nodes` (`calculateNumCandidates`).
    fn enough(&self, nodes: usize, tie_break: TieBreak) -> usize {
        match (&self.sample, tie_break) {
            (None, _) | (_, TieBreak::Name) => nodes,
            (Some(sample), TieBreak::Seeded) => (nodes * sample.percentage / 100)
                .max(sample.absolute)
                .min(nodes),
        }
    }

    /// Tries the nodes in the order of ties until there are enough candidates and one of them
    /// violates no budget.
    fn find<'a>(&self, attempt: &FailedAttempt<'a>) -> Found<'a> {
        let worth_trying = attempt.count_worth_trying();
        let mut nodes = nodes_to_try(attempt);
        let mut found = Found {
            candidates: Vec::new(),
            rejections: Vec::new(),
            without_victims: worth_trying - nodes.len(),
            errors: Vec::new(),
        };
        if nodes.is_empty() {
            return found;
        }
        nodes.sort_by_cached_key(|node| attempt.ties.rank(node));
        let enough = self.enough(worth_trying, attempt.ties.tie_break());
        let budgets = Budgets::of(attempt.cluster, attempt.earlier.evicted_lately);
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

/// The nodes that evictions could help. Those without a pod of a lower priority are left out, unless
/// extenders may turn all candidates down: the message then tells how many were tried before.
fn nodes_to_try<'a>(attempt: &FailedAttempt<'a>) -> Vec<NodeView<'a>> {
    let is_worth_trying = |node: &NodeView<'a>| attempt.is_worth_trying(node);
    if attempt.extenders.are_asked() {
        return attempt.cluster.nodes().filter(is_worth_trying).collect();
    }
    let nodes = attempt.cluster.nodes_with_lesser_pods(&attempt.pod);
    nodes.filter(is_worth_trying).collect()
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for DefaultPreemption {
    fn pre_enqueue(&self, pod: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Rejection> {
        cluster
            .is_evicting_for(&pod.info.uid)
            .then(|| Rejection::unresolvable(NAME, REASON_EVICTING))
    }
}

impl EnqueueExtensions for DefaultPreemption {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 1] = [ClusterEventKind::new(
            EventResource::AssignedPod,
            ActionType::DELETE,
        )];
        &EVENTS
    }

    /// A pod that is held back was rejected by others, too: they say what helps it.
    fn queueing_hint(&self, _: &Change<'_>, _: &PodView<'_>) -> QueueingHint {
        QueueingHint::Skip
    }
}

impl PostFilterPlugin for DefaultPreemption {
    fn post_filter(&self, attempt: &FailedAttempt<'_>) -> PostFilterVerdict {
        if let Some(reason) = ineligible(attempt) {
            return PostFilterVerdict::Rejected(rejection(reason));
        }
        let mut found = self.find(attempt);
        let mut candidates = std::mem::take(&mut found.candidates);
        if !candidates.is_empty() && attempt.extenders.are_asked() {
            candidates = match extenders::narrow(attempt, candidates) {
                Ok(left) => left,
                Err(verdict) => return verdict,
            };
        }
        if let Some((best, choice)) = candidate::best(candidates) {
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
                choice: Some(Box::new(choice)),
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
    let earlier = attempt.earlier;
    let drains = earlier.drains.as_deref();
    if drains.is_some_and(|node| !attempt.is_unresolvable(node)) {
        // Evicted, although their objects may not say so yet.
        return Some(REASON_TERMINATING);
    }
    let nominated = pod.nominated_node.as_deref()?;
    if earlier.is_overdue || attempt.is_unresolvable(nominated) {
        return None;
    }
    // Its victims are on their way out: the room is being made already.
    let node = attempt.cluster.node(nominated)?;
    let is_going = |other: &PodView<'_>| {
        let is_decided = || attempt.cluster.is_victim(&other.info.uid);
        other.info.is_preempted || (earlier.evicted_lately && is_decided())
    };
    node.pods()
        .any(|other| other.info.priority < pod.priority && is_going(&other))
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
        if self.without_victims > 0 {
            let rejection = Rejection::unresolvable(NAME, REASON_NO_VICTIMS);
            diagnosis.add(&rejection, self.without_victims);
        }
        let others = diagnosis.node_count - self.rejections.len() - self.without_victims;
        if others > 0 {
            diagnosis.add(&Rejection::unresolvable(NAME, REASON_NOT_HELPFUL), others);
        }
        diagnosis.to_string()
    }
}

#[cfg(test)]
mod tests;
