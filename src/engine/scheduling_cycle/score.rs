//! Which of the nodes that will do is how good (`prioritizeNodes`).

use crate::engine::framework::extension_points::{MAX_NODE_SCORE, MIN_NODE_SCORE, PreScoreVerdict};
use crate::engine::framework::{PluginError, PluginName};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::scheduling_cycle::skipped::Skipped;
use crate::engine::scheduling_cycle::{Cycle, Evaluation, Interruption};

/// The scores of one plugin, parallel to the feasible nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginScores {
    /// Who scores.
    pub plugin: PluginName,
    /// What a score of it counts.
    pub weight: i64,
    /// As given.
    pub raw: Vec<i64>,
    /// 0..=100.
    pub normalized: Vec<i64>,
}

impl<'a> Cycle<'a> {
    pub(super) fn score_nodes(&self, evaluation: &mut Evaluation<'a>) -> Result<(), Interruption> {
        if self.profile.points.score.is_empty() && self.profile.extenders.is_empty() {
            evaluation.totals = vec![0; evaluation.feasible.len()];
            return Ok(());
        }
        self.ask_for_scores(evaluation)?;
        let skipped = self.observe(ObservedPoint::PreScore, StatusCode::of_result, || {
            self.pre_score(evaluation)
        })?;
        let mut totals = self.observe(ObservedPoint::Score, StatusCode::of_result, || {
            self.run_score_plugins(evaluation, &skipped)
        })?;
        self.add_extender_scores(evaluation, &mut totals);
        evaluation.totals = totals;
        Ok(())
    }

    /// The totals, parallel to the feasible nodes (`RunScorePlugins`).
    fn run_score_plugins(
        &self,
        evaluation: &mut Evaluation<'a>,
        skipped: &Skipped,
    ) -> Result<Vec<i64>, Interruption> {
        let mut totals = vec![0_i64; evaluation.feasible.len()];
        for &(index, weight) in &self.profile.points.score {
            if skipped.has(index) {
                continue;
            }
            let scores = self.plugin_scores(evaluation, index, weight)?;
            for (total, score) in totals.iter_mut().zip(&scores.normalized) {
                *total += score * weight;
            }
            evaluation.scores.push(scores);
        }
        Ok(totals)
    }

    fn pre_score(&self, evaluation: &mut Evaluation<'a>) -> Result<Skipped, Interruption> {
        let mut skipped = Skipped::default();
        for index in &self.profile.points.pre_score {
            let plugin = self.profile.plugin(*index);
            let Some(pre_score) = plugin.as_pre_score() else {
                continue;
            };
            let state = &mut evaluation.state;
            match pre_score.pre_score(state, &self.pod, &evaluation.feasible) {
                PreScoreVerdict::Proceed => {}
                PreScoreVerdict::Skip => {
                    skipped.insert(*index);
                }
                PreScoreVerdict::Failed(error) => {
                    let message = format!("running PreScore plugin {:?}: {error}", plugin.name());
                    return Err(failed(plugin.name(), message));
                }
            }
        }
        Ok(skipped)
    }

    fn plugin_scores(
        &self,
        evaluation: &Evaluation<'a>,
        index: usize,
        weight: i64,
    ) -> Result<PluginScores, Interruption> {
        let name = self.profile.plugin(index).name();
        let running =
            |error: PluginError| failed(name, format!("running Score plugin {name:?}: {error}"));
        let Some(plugin) = self.profile.plugin(index).as_score() else {
            return Err(failed(name, format!("plugin {name:?} does not score")));
        };
        let (state, nodes) = (&evaluation.state, &evaluation.feasible);
        let raw = nodes
            .iter()
            .map(|node| plugin.score(state, &self.pod, node))
            .collect::<Result<Vec<_>, _>>()
            .map_err(running)?;
        let mut normalized = raw.clone();
        plugin
            .normalize(state, &self.pod, nodes, &mut normalized)
            .map_err(running)?;
        let range = MIN_NODE_SCORE..=MAX_NODE_SCORE;
        if let Some(score) = normalized.iter().find(|score| !range.contains(score)) {
            return Err(failed(
                name,
                format!(
                    "applying score defaultWeights on Score plugins: plugin {name:?} returns an \
                     invalid score {score}, it should in the range of [{MIN_NODE_SCORE}, \
                     {MAX_NODE_SCORE}] after normalizing"
                ),
            ));
        }
        Ok(PluginScores {
            plugin: name,
            weight,
            raw,
            normalized,
        })
    }
}

fn failed(plugin: PluginName, message: String) -> Interruption {
    Interruption::Failed(PluginError { plugin, message })
}
