//! One scheduling cycle: which nodes will do, and which is best (`schedulePod`).
//!
//! Pure and read-only: the cycle borrows the cache and says what it found; the engine applies it.

mod by_class;
mod extenders;
mod filter;
mod filter_runner;
mod nominated;
mod post_filter;
mod preemption_extenders;
mod refused;
mod sampling;
mod score;
mod select;
mod skipped;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::tie_break::TieBreak;
use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::earlier_preemptions::EarlierPreemptions;
use crate::engine::framework::extender::{Answer, Question};
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{CycleState, PluginError, PluginName, Rejection};
use crate::engine::observer::{CycleObserver, ObservedPoint, StatusCode};
use crate::engine::scheduling_cycle::by_class::Filtered;
use crate::engine::scheduling_cycle::post_filter::PostFiltered;
use crate::engine::scheduling_cycle::refused::{EachRefusal, KeptRefusals};

pub(crate) use by_class::{Begun, Choice};
pub use post_filter::{Nomination, PlannedPreemption};
pub use score::PluginScores;

/// One attempt to find a node for a pod.
#[derive(Debug)]
pub(crate) struct Cycle<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) observer: &'a dyn CycleObserver,
    pub(crate) cluster: Snapshot<'a>,
    pub(crate) pod: PodView<'a>,
    /// Which attempt of the pod it is.
    pub(crate) attempt: u32,
    /// What the extenders were asked and answered so far.
    pub(crate) answers: &'a [(Question, Answer)],
    /// What became of earlier preemptions of the pod.
    pub(crate) earlier: EarlierPreemptions,
    /// Where in the order of nodes the search begins.
    pub(crate) start: usize,
    pub(crate) tie_break: TieBreak,
    pub(crate) seed: u64,
}

/// What a cycle found, as long as the cluster stands still.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// What the plugins remember for the rest of the attempt.
    pub(crate) state: CycleState,
    /// The nodes that will do.
    pub feasible: Vec<NodeView<'a>>,
    /// The nodes that were looked at and will not do.
    pub rejected: Vec<(NodeView<'a>, Rejection)>,
    /// What holds for the nodes that were not looked at.
    pub not_looked_at: Option<Rejection>,
    /// How many nodes were looked at.
    pub(crate) looked_at: usize,
    /// Scores by plugin, parallel to `feasible`; empty if fewer than two nodes will do.
    pub scores: Vec<PluginScores>,
    /// Totals, parallel to `feasible`; empty likewise.
    pub totals: Vec<i64>,
    /// The index in `feasible` of the node that is taken.
    pub chosen: Option<usize>,
    /// Why nodes will not do, counted.
    pub diagnosis: Diagnosis,
    /// What becomes of the pod's nomination if no node will do.
    pub nomination: Nomination,
    /// The `PostFilter` plugins that were asked.
    pub post_filters: Vec<PluginName>,
}

/// What a cycle found.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one value an attempt, on the stack"
)]
pub(crate) enum Found<'a> {
    /// Every node was looked at.
    Evaluation(Evaluation<'a>),
    /// The best node, from what is kept of the class of the pod.
    Choice(Choice<'a>),
}

/// Why a cycle has no evaluation.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// Extenders have to be asked first, all at once.
    Questions(Vec<Question>),
    /// Something could not be judged.
    Failed(PluginError),
}

impl<'a> Cycle<'a> {
    /// Runs the cycle. `class`: what is kept of the class of the pod, if it is known.
    pub(crate) fn run(&self, class: Option<Begun<'_>>) -> Result<Found<'a>, Interruption> {
        let evaluation = match self.filter_nodes(class)? {
            Filtered::Nodes(evaluation) => evaluation,
            Filtered::ByClass(candidates, state) => match self.choose(candidates, state) {
                Some(choice) => return Ok(Found::Choice(choice)),
                None => return self.run(None),
            },
            Filtered::Nowhere(refusals, state) => {
                let evaluation = self.fits_nowhere(&refusals, state)?;
                return Ok(Found::Evaluation(evaluation));
            }
        };
        self.evaluate(evaluation).map(Found::Evaluation)
    }

    fn evaluate(&self, mut evaluation: Evaluation<'a>) -> Result<Evaluation<'a>, Interruption> {
        if evaluation.feasible.is_empty() {
            let refusals = EachRefusal::of(&evaluation, self.cluster.len());
            let found = self.post_filter(&evaluation.state, &refusals)?;
            evaluation.note_post_filters(found);
            return Ok(evaluation);
        }
        if evaluation.feasible.len() == 1 {
            evaluation.chosen = Some(0);
            return Ok(evaluation);
        }
        self.score_nodes(&mut evaluation)?;
        evaluation.chosen = self.select(&evaluation);
        Ok(evaluation)
    }

    /// No node will do, as it is kept of the class of the pod.
    fn fits_nowhere(
        &self,
        refusals: &KeptRefusals<'_>,
        state: CycleState,
    ) -> Result<Evaluation<'a>, Interruption> {
        let nodes = self.cluster.len();
        let mut evaluation = Evaluation::new(state, nodes);
        evaluation.diagnosis = refusals.diagnosis(nodes);
        let found = self.post_filter(&evaluation.state, refusals)?;
        evaluation.note_post_filters(found);
        Ok(evaluation)
    }

    fn observe<T>(
        &self,
        point: ObservedPoint,
        status: impl FnOnce(&T) -> StatusCode,
        run: impl FnOnce() -> T,
    ) -> T {
        self.observer
            .during(point, &self.profile.scheduler_name, status, run)
    }
}

impl Evaluation<'_> {
    fn new(state: CycleState, node_count: usize) -> Self {
        Self {
            state,
            feasible: Vec::new(),
            rejected: Vec::new(),
            not_looked_at: None,
            looked_at: 0,
            scores: Vec::new(),
            totals: Vec::new(),
            chosen: None,
            diagnosis: Diagnosis {
                node_count,
                ..Diagnosis::default()
            },
            nomination: Nomination::default(),
            post_filters: Vec::new(),
        }
    }

    fn note_post_filters(&mut self, found: PostFiltered) {
        self.post_filters = found.post_filters;
        self.nomination = found.nomination;
        self.diagnosis.post_filter_message = found.message;
    }

    /// The nodes with the greatest total; the only feasible one if there is but one.
    pub fn best(&self) -> BTreeSet<&Arc<str>> {
        let greatest = self.totals.iter().max();
        let nodes = self.feasible.iter().enumerate();
        nodes
            .filter(|(index, _)| self.totals.get(*index) == greatest)
            .map(|(_, node)| node.name())
            .collect()
    }
}
