//! The extension points as traits: when each is called, and what each answer causes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::counted_terms::CountedTerm;
use crate::engine::effect::{EffectAction, EffectOutcome};
use crate::engine::framework::cluster_event::{ClusterEventKind, HintScope, QueueingHint};
use crate::engine::framework::cycle_state::CycleState;
use crate::engine::framework::extender::Question;
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::engine::framework::preemption_choice::PreemptionChoice;
use crate::engine::framework::reservations::{Reservations, Reserved};
use crate::engine::framework::status::{PluginError, Rejection};
use crate::model::object_key::ObjectKey;
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

/// May the pod enter the active queue? Asked before each entry.
pub trait PreEnqueuePlugin {
    /// `Some`: the pod is gated, and is asked about again when an event that this plugin
    /// registered happens.
    fn pre_enqueue(&self, pod: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Rejection>;
}

/// The order of the active queue; exactly one plugin has it.
pub trait QueueSortPlugin {
    /// The smallest key goes first; pods of equal keys go in the order of arrival. `queued` is
    /// when the pod was added to the queue.
    fn sort_key(&self, pod: &PodView<'_>, queued: Timestamp) -> SortKey;
}

/// A place in the active queue, compared lexicographically.
pub type SortKey = [i64; 2];

/// Once per attempt, before any node is looked at.
pub trait PreFilterPlugin {
    /// What the plugin knows of the pod as a whole.
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict;

    /// How what was computed follows pods that are added or removed in a hypothesis.
    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        None
    }
}

/// The answer of [`PreFilterPlugin::pre_filter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreFilterVerdict {
    /// Go on with every node.
    Proceed,
    /// Go on with these nodes only; the others are unresolvable.
    Nodes(BTreeSet<Arc<str>>),
    /// Nothing to judge: this plugin's `Filter` and extensions are left out of the attempt.
    Skip,
    /// No node will do. An unresolvable one ends `PreFilter` at once.
    Rejected(Rejection),
    /// The attempt fails.
    Failed(PluginError),
}

/// Follows hypotheses: preemption removes pods and adds them back.
pub trait PreFilterExtensions {
    /// `added` is on `node` now.
    fn add_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        added: &PodView<'_>,
        node: &NodeView<'_>,
    );

    /// `removed` is no longer on `node`.
    fn remove_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        removed: &PodView<'_>,
        node: &NodeView<'_>,
    );
}

/// Reads counts of pods by topology domain. Asked before each attempt, so that what its other
/// extension points read is counted.
pub trait TopologyReader {
    /// Adds to `terms` what is going to be read for `pod`.
    fn counted_terms(
        &self,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
        terms: &mut Vec<CountedTerm>,
    );
}

/// Does the pod fit the node? The readable, scalar truth of the plugin.
pub trait FilterPlugin {
    /// Judges one node.
    fn filter(&self, state: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict;

    /// How far one verdict reaches: the engine asks once per node class where it may.
    fn scope(&self, pod: &PodView<'_>) -> FilterScope {
        let _ = pod;
        FilterScope::Node
    }
}

/// The answer of [`FilterPlugin::filter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterVerdict {
    /// The pod fits.
    Fits,
    /// It does not.
    Rejected(Rejection),
    /// The attempt fails.
    Failed(PluginError),
}

/// What a filter verdict depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterScope {
    /// The node itself.
    Node,
    /// Only what the nodes of a class have in common.
    NodeClass,
}

/// Called when no node fits: can something be done about it?
pub trait PostFilterPlugin {
    /// What can be done about `attempt`.
    fn post_filter(&self, attempt: &FailedAttempt<'_>) -> PostFilterVerdict;
}

/// Runs the filters of the profile for a plugin that tries hypotheses.
pub trait FilterRunner {
    /// Runs all filters on one node, with the memory of `state`, and with and without the pods
    /// that are nominated for the node.
    fn run_filters(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> FilterVerdict;

    /// Tells every plugin that `added` is on `node`.
    fn add_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        added: &PodView<'_>,
        node: &NodeView<'_>,
    );

    /// Tells every plugin that `removed` is no longer on `node`.
    fn remove_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        removed: &PodView<'_>,
        node: &NodeView<'_>,
    );
}

/// The answer of [`PostFilterPlugin::post_filter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostFilterVerdict {
    /// Room is being made; no further plugin is asked.
    Nominated {
        /// The node that the pod is nominated for.
        node: Arc<str>,
        /// The pods to evict there, the most important first.
        victims: Vec<PodUid>,
        /// The part of the message that it adds.
        message: String,
        /// Why this node and these pods, if it was a choice.
        choice: Option<Box<PreemptionChoice>>,
    },
    /// Nothing can be done now; an earlier nomination of the pod stays. An unresolvable one ends
    /// the point, otherwise the next plugin is asked.
    Rejected(Rejection),
    /// Nothing can be done, and an earlier nomination of the pod does not help either.
    Hopeless(Rejection),
    /// The plugin failed; its text becomes part of the message.
    Failed(PluginError),
    /// An extender has to be asked first; the plugin is asked again when it has answered.
    Ask(Box<Question>),
}

/// Once per attempt, with the nodes that fit.
pub trait PreScorePlugin {
    /// What the plugin wants to know before it scores.
    fn pre_score(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        nodes: &[NodeView<'_>],
    ) -> PreScoreVerdict;
}

/// The answer of [`PreScorePlugin::pre_score`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreScoreVerdict {
    /// Go on.
    Proceed,
    /// Nothing to score: this plugin's `Score` is left out of the attempt.
    Skip,
    /// The attempt fails.
    Failed(PluginError),
}

/// The least score after normalisation (`framework.MinNodeScore`).
pub const MIN_NODE_SCORE: i64 = 0;
/// The greatest score after normalisation (`framework.MaxNodeScore`).
pub const MAX_NODE_SCORE: i64 = 100;

/// How good is the node? The readable, scalar truth of the plugin.
pub trait ScorePlugin {
    /// Scores one node; any range if [`ScorePlugin::normalize`] brings it into 0..=100.
    fn score(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError>;

    /// Brings the scores of all nodes into 0..=100, in place (`NormalizeScore`). `nodes` and
    /// `scores` are parallel.
    fn normalize(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        nodes: &[NodeView<'_>],
        scores: &mut [i64],
    ) -> Result<(), PluginError> {
        let _ = (state, pod, nodes, scores);
        Ok(())
    }
}

/// `helper.DefaultNormalizeScore`: scales so that the greatest score is `max`; `reverse` makes the
/// greatest the worst. Divisions truncate.
pub fn default_normalize(max: i64, reverse: bool, scores: &mut [i64]) {
    let greatest = scores.iter().copied().max().unwrap_or(0).max(0);
    if greatest == 0 {
        if reverse {
            scores.fill(max);
        }
        return;
    }
    for score in scores {
        *score = max.saturating_mul(*score) / greatest;
        if reverse {
            *score = max - *score;
        }
    }
}

/// Keeps what the pod will use, beside the room on the node.
pub trait ReservePlugin {
    /// Reserves. A `Some` undoes the reservations of all plugins of the attempt.
    fn reserve(
        &self,
        state: &mut CycleState,
        reservations: &mut Reservations,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Option<Refusal>;

    /// Undoes [`ReservePlugin::reserve`]; must be idempotent and may come without a matching
    /// reservation.
    fn unreserve(
        &self,
        state: &mut CycleState,
        reservations: &mut Reservations,
        pod: &PodView<'_>,
        node: &str,
    );

    /// Everything that is reserved and still counts, for audits.
    fn reserved(&self, cluster: &Snapshot<'_>) -> Vec<Reserved> {
        let _ = cluster;
        Vec::new()
    }

    /// What of it the attempt of `state` reserved and has not written yet.
    fn reserved_by(&self, state: &CycleState, cluster: &Snapshot<'_>) -> Vec<Reserved> {
        let _ = (state, cluster);
        Vec::new()
    }
}

/// A stop on the way from a chosen node to a bound pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A no: the pod is unschedulable for now.
    Rejected(Rejection),
    /// An error: the pod is tried again.
    Failed(PluginError),
}

/// May the pod be bound, or must it wait?
pub trait PermitPlugin {
    /// Asked after the reservation. `waiting` are the pods that wait at this point.
    fn permit(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
        waiting: &[PodUid],
    ) -> PermitVerdict;
}

/// The answer of [`PermitPlugin::permit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitVerdict {
    /// What becomes of the pod.
    pub decision: PermitDecision,
    /// Pods that wait and that this plugin lets go.
    pub allow: Vec<PodUid>,
    /// Pods that wait and that this plugin sends back to the queue.
    pub reject: Vec<(PodUid, Rejection)>,
}

impl From<PermitDecision> for PermitVerdict {
    /// Of a plugin that has nothing to say of the pods that wait.
    fn from(decision: PermitDecision) -> Self {
        Self {
            decision,
            allow: Vec::new(),
            reject: Vec::new(),
        }
    }
}

/// What becomes of a pod at `Permit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermitDecision {
    /// Bind it.
    Allow,
    /// Hold it until each plugin that holds it lets it go, at most for this long.
    Wait(Duration),
    /// Back to the queue.
    Refuse(Refusal),
}

/// Prepares the world for the pod: volumes, devices.
pub trait PreBindPlugin {
    /// Whether there is something to do; cheap and without effect.
    fn pre_flight(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> PreBindPreFlight;

    /// What is to be done.
    fn pre_bind(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> PreBindStep;

    /// The effect of an earlier step was carried out, or was not; what now?
    fn completed(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        outcome: &EffectOutcome,
    ) -> PreBindStep;

    /// Is what the plugin waits for there? Asked after it said [`PreBindStep::Wait`], then whenever
    /// the cluster changed, and a last time when the time is up. The node may be gone by then.
    fn poll(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        node: &str,
        cluster: &Snapshot<'_>,
        time: WaitTime,
    ) -> PreBindStep {
        let _ = (state, pod, node, cluster, time);
        PreBindStep::Done
    }
}

/// Whether a wait may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitTime {
    /// There is time left.
    Left,
    /// The time is up: [`PreBindStep::Wait`] is no answer any more.
    Up,
}

/// The answer of [`PreBindPlugin::pre_flight`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreBindPreFlight {
    /// Nothing to do.
    Skip,
    /// Something to do.
    Work {
        /// Beside the plugins next to it that allow it too (since 1.36).
        allow_parallel: bool,
    },
}

/// A step at `PreBind`.
#[derive(Clone, Debug, PartialEq)]
pub enum PreBindStep {
    /// Done.
    Done,
    /// Carry this out and tell me.
    Effect(EffectAction),
    /// Wait for what others do, at most this long from now.
    Wait(Duration),
    /// It cannot be done.
    Refuse(Refusal),
}

/// Binds the pod.
pub trait BindPlugin {
    /// The effect that binds the pod; `None` leaves it to the next plugin.
    fn bind(&self, pod: &PodView<'_>, node: &NodeView<'_>) -> Option<EffectAction>;
}

/// Told when a pod is bound.
pub trait PostBindPlugin {
    /// The pod is bound to `node`.
    fn post_bind(
        &self,
        state: &mut CycleState,
        reservations: &mut Reservations,
        pod: &PodView<'_>,
        node: &str,
    );
}

/// Which changes may help pods that the plugin rejected.
pub trait EnqueueExtensions {
    /// The kinds of change to be asked about.
    fn events_to_register(&self) -> &[ClusterEventKind];

    /// What [`Self::queueing_hint`] reads of the pod. One of all pods that have it in common is
    /// asked for the others.
    fn hint_scope(&self) -> HintScope {
        HintScope::Pod
    }

    /// Whether `change` may help `pod`. Judged against the cluster as it is now: what matters is
    /// whether the pod could fit today, not what the object looked like before.
    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let _ = (change, pod);
        QueueingHint::Queue
    }
}

/// A change that plugins are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// What kind of change.
    pub event: ClusterEventKind,
    /// The node that changed, or the node of the pod that changed; `None` if it is gone.
    pub node: Option<NodeView<'a>>,
    /// The pod that changed, or the last that was known of it if it is gone; `None` if it is gone
    /// since an earlier attempt began, or none did.
    pub other: Option<PodView<'a>>,
    /// The name of the object of another kind that changed.
    pub object: Option<&'a ObjectKey>,
    /// The cluster as it is now.
    pub cluster: Snapshot<'a>,
}
