//! What extenders say of the nodes that passed the filters (`findNodesThatPassExtenders`, and the
//! extenders' part of `prioritizeNodes`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::cache::snapshot::NodeView;
use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::extender::{Answer, EXTENDER, Extender, Filtered, Question, Subject};
use crate::engine::framework::extension_points::MAX_NODE_SCORE;
use crate::engine::framework::{PluginError, Rejection};
use crate::engine::scheduling_cycle::{Cycle, Evaluation, Interruption};

/// The greatest score an extender gives (`extenderv1.MaxExtenderPriority`).
const MAX_EXTENDER_SCORE: i64 = 10;

/// A node that came to fit after an extender was asked; the next attempt asks about it.
const NOT_ASKED: &str = "node(s) fit only after the extender was asked";

/// What extenders said of single nodes; a later word replaces an earlier one.
pub(super) type Told = BTreeMap<Arc<str>, Rejection>;

impl<'a> Cycle<'a> {
    /// Narrows the feasible nodes by what each extender says of those that the ones before left.
    /// `promised`: the only node is the one that the pod is nominated for.
    pub(super) fn filter_by_extenders(
        &self,
        evaluation: &mut Evaluation<'a>,
        told: &mut Told,
        promised: bool,
    ) -> Result<(), Interruption> {
        for (position, extender) in self.profile.extenders.iter().enumerate() {
            if evaluation.feasible.is_empty() {
                break;
            }
            if !extender.filters() || !extender.is_interested(&self.pod) {
                continue;
            }
            let nodes = names(&evaluation.feasible);
            let question = self.question(position, extender, Subject::Filter { nodes, promised });
            let Some((asked, answer)) = self.answer_to(&question) else {
                return Err(Interruption::Questions(vec![question]));
            };
            match filtered(asked, answer) {
                Ok(filtered) => narrow(evaluation, told, asked, filtered),
                Err(_) if extender.config.ignorable => {}
                Err(message) => {
                    return Err(Interruption::Failed(PluginError {
                        plugin: EXTENDER,
                        message,
                    }));
                }
            }
        }
        Ok(())
    }

    /// The same for all nodes, once the filters are done: what was said goes into the diagnosis.
    pub(super) fn ask_extenders(
        &self,
        evaluation: &mut Evaluation<'a>,
        mut told: Told,
    ) -> Result<(), Interruption> {
        let before = evaluation.feasible.len();
        self.filter_by_extenders(evaluation, &mut told, false)?;
        if evaluation.feasible.len() == before && told.is_empty() {
            return Ok(());
        }
        self.note(evaluation, told);
        if evaluation.feasible.len() != before {
            // Nobody says which events help: any may.
            evaluation.diagnosis.unschedulable_plugins.insert(EXTENDER);
        }
        Ok(())
    }

    /// Adds what extenders said to the rejected nodes and counts all reasons anew. Nodes that went
    /// without a word have none of their own.
    fn note(&self, evaluation: &mut Evaluation<'a>, mut told: Told) {
        for (node, rejection) in &mut evaluation.rejected {
            if let Some(said) = told.remove(node.name()) {
                *rejection = said;
            }
        }
        for node in &evaluation.feasible {
            told.remove(node.name());
        }
        let mut counted = Diagnosis::default();
        let mut named = evaluation.rejected.len();
        for (name, rejection) in told {
            match self.cluster.node(&name) {
                Some(node) => evaluation.rejected.push((node, rejection)),
                // Upstream counts what is said of unknown nodes as well.
                None => counted.add(&rejection, 1),
            }
            named += 1;
        }
        for (_, rejection) in &evaluation.rejected {
            counted.add(rejection, 1);
        }
        if let Some(rejection) = &evaluation.not_looked_at {
            counted.add(
                rejection,
                evaluation.diagnosis.node_count.saturating_sub(named),
            );
        }
        evaluation.diagnosis.rejections = counted.rejections;
        evaluation.diagnosis.resolvable_count = counted.resolvable_count;
    }

    /// Sees to it that every extender that scores has been asked about the feasible nodes.
    pub(super) fn ask_for_scores(&self, evaluation: &Evaluation<'a>) -> Result<(), Interruption> {
        let questions = self.score_questions(evaluation);
        let open: Vec<_> = questions
            .filter(|question| self.answer_to(question).is_none())
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        Err(Interruption::Questions(open))
    }

    /// Adds the scores of the extenders; one that did not answer gives none.
    pub(super) fn add_extender_scores(&self, evaluation: &Evaluation<'a>, totals: &mut [i64]) {
        for question in self.score_questions(evaluation) {
            let Some((_, Answer::Prioritized(scores))) = self.answer_to(&question) else {
                continue;
            };
            let factor = question
                .extender
                .weight
                .wrapping_mul(MAX_NODE_SCORE / MAX_EXTENDER_SCORE);
            for (node, total) in evaluation.feasible.iter().zip(totals.iter_mut()) {
                // Nothing bounds the numbers of an extender; upstream's overflow as well.
                let score = scores.get(node.name()).copied().unwrap_or(0);
                *total = total.wrapping_add(score.wrapping_mul(factor));
            }
        }
    }

    fn score_questions(&self, evaluation: &Evaluation<'a>) -> impl Iterator<Item = Question> {
        let extenders = self.profile.extenders.iter().enumerate();
        extenders
            .filter(|(_, extender)| extender.prioritizes() && extender.is_interested(&self.pod))
            .map(|(position, extender)| {
                let nodes = names(&evaluation.feasible);
                self.question(position, extender, Subject::Prioritize { nodes })
            })
    }

    pub(super) fn question(
        &self,
        position: usize,
        extender: &Extender,
        subject: Subject,
    ) -> Question {
        Question {
            extender: Arc::clone(&extender.config),
            position,
            attempt: self.attempt,
            subject,
        }
    }

    pub(super) fn answer_to(&self, question: &Question) -> Option<(&'a Question, &'a Answer)> {
        let answers = self.answers.iter();
        let mut like = answers.filter(|(asked, _)| asked.is_like(question));
        like.next().map(|(asked, answer)| (asked, answer))
    }
}

fn names(nodes: &[NodeView<'_>]) -> Vec<Arc<str>> {
    nodes.iter().map(|node| Arc::clone(node.name())).collect()
}

/// The answer, unless it is none or speaks of nodes that nobody asked about.
fn filtered<'b>(asked: &Question, answer: &'b Answer) -> Result<&'b Filtered, String> {
    let filtered = match answer {
        Answer::Filtered(filtered) => filtered,
        Answer::Failed(message) => return Err(message.clone()),
        Answer::Prioritized(_) | Answer::Preempted(_) => {
            return Err("the extender answered another question".to_owned());
        }
    };
    let Subject::Filter { nodes, .. } = &asked.subject else {
        return Ok(filtered);
    };
    let nodes: BTreeSet<_> = nodes.iter().collect();
    let stranger = filtered.nodes.iter().find(|name| !nodes.contains(name));
    match stranger.filter(|_| filtered.by_name) {
        None => Ok(filtered),
        Some(name) => Err(format!(
            "extender {:?} claims a filtered node {name:?} which is not found in the input node \
             list",
            asked.extender.url_prefix
        )),
    }
}

/// Keeps the nodes that the extender lets through.
fn narrow(evaluation: &mut Evaluation<'_>, told: &mut Told, asked: &Question, filtered: &Filtered) {
    for (name, reason) in &filtered.failed {
        let rejection = Rejection::unschedulable(EXTENDER, reason.clone());
        told.insert(Arc::clone(name), rejection);
    }
    for (name, reason) in &filtered.unresolvable {
        let rejection = Rejection::unresolvable(EXTENDER, reason.clone());
        told.insert(Arc::clone(name), rejection);
    }
    let kept: BTreeSet<&Arc<str>> = filtered.nodes.iter().collect();
    if let Subject::Filter { nodes, .. } = &asked.subject {
        let nodes: BTreeSet<&Arc<str>> = nodes.iter().collect();
        for node in &evaluation.feasible {
            if !nodes.contains(node.name()) {
                let rejection = Rejection::unschedulable(EXTENDER, NOT_ASKED);
                told.insert(Arc::clone(node.name()), rejection);
            }
        }
    }
    evaluation
        .feasible
        .retain(|node| kept.contains(node.name()));
}
