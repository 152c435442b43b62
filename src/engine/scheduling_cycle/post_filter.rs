//! What can be done about a pod that fits nowhere (`RunPostFilterPlugins`).

use std::sync::Arc;

use crate::engine::cache::tie_break::TieOrder;
use crate::engine::framework::extension_points::PostFilterVerdict;
use crate::engine::framework::failed_attempt::{FailedAttempt, Refusals};
use crate::engine::framework::preemption_choice::PreemptionChoice;
use crate::engine::framework::{CycleState, PluginName, Rejection};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::scheduling_cycle::{Cycle, Interruption};
use crate::model::pod_info::PodUid;

/// What becomes of the nomination of a pod that fits nowhere (`NominatingInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nomination {
    /// Nobody can say that it helps.
    #[default]
    Cleared,
    /// It stays as it is.
    Kept,
    /// The pod is nominated for a node, where others are to go for it.
    For(Box<PlannedPreemption>),
}

/// A node on which room is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPreemption {
    /// The node.
    pub node: Arc<str>,
    /// The pods that are to go, the most important first.
    pub victims: Vec<PodUid>,
    /// The plugin that says so.
    pub plugin: PluginName,
    /// Why the node does not do as it is.
    pub refused: Option<Rejection>,
    /// Why this node and these pods.
    pub choice: Option<Box<PreemptionChoice>>,
}

/// What the `PostFilter` plugins said.
#[derive(Debug, Default)]
pub(super) struct PostFiltered {
    /// Who was asked.
    pub(super) post_filters: Vec<PluginName>,
    pub(super) nomination: Nomination,
    /// What it adds to the message.
    pub(super) message: String,
}

impl Cycle<'_> {
    /// Asks what can be done about a pod that fits nowhere. In a cluster without nodes nothing can.
    pub(super) fn post_filter(
        &self,
        state: &CycleState,
        refusals: &dyn Refusals,
    ) -> Result<PostFiltered, Interruption> {
        let mut found = PostFiltered::default();
        if self.cluster.is_empty() || self.profile.points.post_filter.is_empty() {
            return Ok(found);
        }
        let status = self.observe(
            ObservedPoint::PostFilter,
            |status: &Result<_, _>| *status.as_ref().unwrap_or(&StatusCode::Wait),
            || self.run_post_filters(&self.failed_attempt(state, refusals), &mut found),
        );
        status.map(|_| found)
    }

    fn run_post_filters(
        &self,
        attempt: &FailedAttempt<'_>,
        found: &mut PostFiltered,
    ) -> Result<StatusCode, Interruption> {
        let mut reasons = Vec::new();
        let mut status = StatusCode::Unschedulable;
        let mut nomination = Nomination::Kept;
        for index in &self.profile.points.post_filter {
            let plugin = self.profile.plugin(*index);
            let Some(post_filter) = plugin.as_post_filter() else {
                continue;
            };
            found.post_filters.push(plugin.name());
            let verdict = post_filter.post_filter(attempt);
            let (rejection, clears) = match verdict {
                PostFilterVerdict::Nominated {
                    node,
                    victims,
                    message,
                    choice,
                } => {
                    let refused = attempt.refusal_of(&node).cloned();
                    nomination = Nomination::For(Box::new(PlannedPreemption {
                        node,
                        victims,
                        plugin: plugin.name(),
                        refused,
                        choice,
                    }));
                    reasons = vec![message];
                    status = StatusCode::Success;
                    break;
                }
                PostFilterVerdict::Rejected(rejection) => (rejection, false),
                PostFilterVerdict::Hopeless(rejection) => (rejection, true),
                PostFilterVerdict::Ask(question) => {
                    return Err(Interruption::Questions(vec![*question]));
                }
                PostFilterVerdict::Failed(error) => {
                    nomination = Nomination::Kept;
                    reasons = vec![error.message];
                    status = StatusCode::Error;
                    break;
                }
            };
            if clears {
                nomination = Nomination::Cleared;
            }
            if rejection.is_unresolvable() {
                if !clears {
                    nomination = Nomination::Kept;
                }
                reasons = vec![rejection.message()];
                status = StatusCode::UnschedulableAndUnresolvable;
                break;
            }
            reasons.push(rejection.message());
        }
        found.nomination = nomination;
        found.message = reasons.join(", ");
        Ok(status)
    }

    fn failed_attempt<'b>(
        &'b self,
        state: &'b CycleState,
        refusals: &'b dyn Refusals,
    ) -> FailedAttempt<'b> {
        FailedAttempt {
            state,
            pod: self.pod,
            cluster: self.cluster,
            refusals,
            ties: TieOrder::new(self.tie_break, self.seed, &self.pod.info.uid),
            earlier: &self.earlier,
            filters: self,
            extenders: self,
        }
    }
}
