//! What can be done about a pod that fits nowhere (`RunPostFilterPlugins`).

use std::sync::Arc;

use crate::engine::cache::tie_break::TieOrder;
use crate::engine::framework::extension_points::PostFilterVerdict;
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::engine::framework::preemption_choice::PreemptionChoice;
use crate::engine::framework::{PluginName, Rejection};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::scheduling_cycle::{Cycle, Evaluation, Interruption};
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

impl<'a> Cycle<'a> {
    /// Asks what can be done about a pod that fits nowhere. In a cluster without nodes nothing can.
    pub(super) fn post_filter(&self, evaluation: &mut Evaluation<'a>) -> Result<(), Interruption> {
        if self.cluster.is_empty() || self.profile.points.post_filter.is_empty() {
            return Ok(());
        }
        let status = self.observe(
            ObservedPoint::PostFilter,
            |status: &Result<_, _>| *status.as_ref().unwrap_or(&StatusCode::Wait),
            || self.run_post_filters(evaluation),
        );
        status.map(|_| ())
    }

    fn run_post_filters(
        &self,
        evaluation: &mut Evaluation<'a>,
    ) -> Result<StatusCode, Interruption> {
        let mut reasons = Vec::new();
        let mut status = StatusCode::Unschedulable;
        let mut nomination = Nomination::Kept;
        for index in &self.profile.points.post_filter {
            let plugin = self.profile.plugin(*index);
            let Some(post_filter) = plugin.as_post_filter() else {
                continue;
            };
            evaluation.post_filters.push(plugin.name());
            let verdict = post_filter.post_filter(&self.failed_attempt(evaluation));
            let (rejection, clears) = match verdict {
                PostFilterVerdict::Nominated {
                    node,
                    victims,
                    message,
                    choice,
                } => {
                    let refused = self.failed_attempt(evaluation).refusal_of(&node).cloned();
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
        evaluation.nomination = nomination;
        evaluation.diagnosis.post_filter_message = reasons.join(", ");
        Ok(status)
    }

    fn failed_attempt<'b>(&'b self, evaluation: &'b Evaluation<'a>) -> FailedAttempt<'b> {
        FailedAttempt {
            state: &evaluation.state,
            pod: self.pod,
            cluster: self.cluster,
            rejected: &evaluation.rejected,
            not_looked_at: evaluation.not_looked_at.as_ref(),
            ties: TieOrder::new(self.tie_break, self.seed, &self.pod.info.uid),
            earlier: &self.earlier,
            filters: self,
            extenders: self,
        }
    }
}
