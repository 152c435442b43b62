//! Whom a node would have to lose (`SelectVictimsOnNode`).

use std::cmp::Reverse;

use crate::engine::cache::overlay::NodeOverlay;
use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::extension_points::FilterVerdict;
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::engine::framework::{CycleState, Rejection};
use crate::plugins::default_preemption::candidate::{Candidate, start};
use crate::plugins::default_preemption::disruption_budgets::Budgets;
use crate::plugins::default_preemption::{NAME, REASON_NO_VICTIMS};

/// What came of trying a node.
pub(super) enum DryRun<'a> {
    /// Evictions make the pod fit.
    Candidate(Candidate<'a>),
    /// They do not.
    Rejected(Rejection),
    /// Nobody knows, for this reason.
    Failed(String),
}

/// The node without some of its pods, and what the plugins remember of it.
struct Hypothesis<'a, 'b> {
    attempt: &'b FailedAttempt<'a>,
    state: CycleState,
    overlay: NodeOverlay<'a>,
}

/// Takes every pod of a lower priority off `node` and puts back those that leave room, the ones
/// that a budget protects first, then the most important first.
pub(super) fn dry_run<'a>(
    attempt: &FailedAttempt<'a>,
    node: NodeView<'a>,
    budgets: &Budgets<'a>,
) -> DryRun<'a> {
    let priority = attempt.pod.info.priority;
    let mut lower: Vec<PodView<'a>> = node
        .pods()
        .filter(|pod| pod.info.priority < priority)
        .collect();
    if lower.is_empty() {
        return DryRun::Rejected(Rejection::unresolvable(NAME, REASON_NO_VICTIMS));
    }
    let mut hypothesis = Hypothesis {
        attempt,
        state: attempt.state.clone(),
        overlay: NodeOverlay::new(node),
    };
    for pod in &lower {
        hypothesis.remove(pod);
    }
    match hypothesis.judge() {
        FilterVerdict::Fits => {}
        FilterVerdict::Rejected(rejection) => return DryRun::Rejected(rejection),
        FilterVerdict::Failed(error) => return DryRun::Failed(error.message),
    }
    lower.sort_by_key(importance);
    let (protected, others) = budgets.split(lower);
    let mut victims = hypothesis.reprieve(protected);
    let violations = victims.len();
    victims.extend(hypothesis.reprieve(others));
    victims.sort_by_key(importance);
    if victims.is_empty() {
        let message = format!("expected at least one victim pod on node {:?}", node.name());
        return DryRun::Failed(message);
    }
    DryRun::Candidate(Candidate {
        node,
        victims,
        violations,
    })
}

/// The most important first: the higher priority, then the earlier start (`MoreImportantVictim`).
fn importance(pod: &PodView<'_>) -> impl Ord + use<> {
    (Reverse(pod.info.priority), start(pod))
}

impl<'a> Hypothesis<'a, '_> {
    fn judge(&self) -> FilterVerdict {
        let (state, pod) = (&self.state, &self.attempt.pod);
        self.attempt
            .filters
            .run_filters(state, pod, &self.overlay.view())
    }

    fn add(&mut self, pod: PodView<'a>) {
        self.overlay.add(pod);
        let (filters, node) = (self.attempt.filters, self.overlay.view());
        filters.add_pod(&mut self.state, &self.attempt.pod, &pod, &node);
    }

    fn remove(&mut self, pod: &PodView<'a>) {
        self.overlay.remove(&pod.info.uid);
        let (filters, node) = (self.attempt.filters, self.overlay.view());
        filters.remove_pod(&mut self.state, &self.attempt.pod, pod, &node);
    }

    /// Puts back those of `pods` that leave room; gives those that do not.
    fn reprieve(&mut self, pods: Vec<PodView<'a>>) -> Vec<PodView<'a>> {
        let mut victims = Vec::new();
        for pod in pods {
            self.add(pod);
            if self.judge() != FilterVerdict::Fits {
                self.remove(&pod);
                victims.push(pod);
            }
        }
        victims
    }
}
