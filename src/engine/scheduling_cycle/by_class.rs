//! A cycle that judges only the nodes that changed since the last pod of the class.
//!
//! Every verdict and score comes from the scalar forms of the plugins. Nodes that plugins cannot
//! tell apart by their places are judged by one that stands for them.

use std::borrow::Cow;

use crate::engine::cache::snapshot::NodeView;
use crate::engine::cache::tie_break::{Ranked, TieOrder};
use crate::engine::classes::class_index::ClassIndex;
use crate::engine::classes::class_verdicts::ClassVerdicts;
use crate::engine::classes::ranking::Ranking;
use crate::engine::classes::standing::Standing;
use crate::engine::framework::class_plugin::{Places, Represented};
use crate::engine::framework::extension_points::{
    FilterPlugin, FilterRunner, FilterVerdict, MAX_NODE_SCORE, MIN_NODE_SCORE, PreScoreVerdict,
    ScorePlugin,
};
use crate::engine::framework::{CycleState, Plugin};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::scheduling_cycle::filter::Filters;
use crate::engine::scheduling_cycle::refused::KeptRefusals;
use crate::engine::scheduling_cycle::skipped::Skipped;
use crate::engine::scheduling_cycle::{Cycle, Evaluation, Interruption};

/// What is kept of the class of the pod, with what it gave to the attempt.
#[derive(Debug)]
pub(crate) struct Begun<'c> {
    pub(crate) index: &'c mut ClassIndex,
    pub(crate) standing: &'c mut Standing,
    pub(crate) state: CycleState,
}

/// The best node for a pod whose class is known.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) state: CycleState,
    pub(crate) node: NodeView<'a>,
    /// Its total; 0 if no other node will do.
    pub(crate) total: i64,
    /// How many nodes will do.
    pub(crate) feasible_count: usize,
}

/// What filtering found.
#[expect(
    clippy::large_enum_variant,
    reason = "one value an attempt, on the stack"
)]
pub(super) enum Filtered<'a, 'c> {
    /// Every node was looked at.
    Nodes(Evaluation<'a>),
    /// The class of the pod is known, and there are nodes that will do.
    ByClass(Candidates<'a, 'c>, CycleState),
    /// The class of the pod is known, and no node will do.
    Nowhere(KeptRefusals<'c>, CycleState),
}

/// What is kept of the nodes, brought up to date.
enum Judged<'a, 'c> {
    Candidates(Candidates<'a, 'c>),
    Nowhere(KeptRefusals<'c>),
}

/// The nodes that will do.
pub(super) struct Candidates<'a, 'c> {
    groups: Vec<Alike<'c>>,
    /// The first node of each group.
    nodes: Vec<NodeView<'a>>,
    scorers: Vec<Scorer<'a>>,
    places: &'c [(usize, Box<dyn Places>)],
}

/// Nodes that plugins do not tell apart but by what each scores for itself.
struct Alike<'c> {
    place: Cow<'c, [i64]>,
    size: usize,
    /// The most that one of them scores for itself.
    own: i64,
    /// By what they score for themselves; `None`: the only one.
    ranked: Option<&'c Ranked>,
}

/// What scores nodes in the attempt.
#[derive(Clone, Copy)]
struct Scorer<'a> {
    index: usize,
    plugin: &'a dyn Plugin,
    score: &'a dyn ScorePlugin,
    weight: i64,
    /// It judges nodes by their places.
    by_place: bool,
    /// What it says is compared over all nodes before it counts.
    is_compared: bool,
}

impl<'a> Cycle<'a> {
    /// Which nodes will do, from what is kept of the class. If something cannot be judged, every
    /// node is looked at.
    pub(super) fn filter_by_class<'c>(
        &self,
        known: (&'c mut ClassIndex, &'c mut Standing),
        mut evaluation: Evaluation<'a>,
        skipped: &Skipped,
    ) -> Result<Filtered<'a, 'c>, Interruption> {
        let judged = self.observe_filter(StatusCode::of_result, || {
            let judged = self.judge_by_class(known, &mut evaluation.state, skipped);
            if judged.is_none() {
                let nodes: Vec<_> = self.cluster.nodes().collect();
                let mut verdicts = ClassVerdicts::default();
                let mut filters = Filters::new(self, skipped, &mut verdicts);
                self.judge(&nodes, &mut evaluation, &mut filters)?;
            }
            Ok(judged)
        })?;
        Ok(match judged {
            Some(Judged::Candidates(candidates)) => Filtered::ByClass(candidates, evaluation.state),
            Some(Judged::Nowhere(refusals)) => Filtered::Nowhere(refusals, evaluation.state),
            None => Filtered::Nodes(evaluation),
        })
    }

    /// Judges the nodes that changed since the last pod of the class, then one node of each place.
    /// `None`: something cannot be judged.
    fn judge_by_class<'c>(
        &self,
        (index, standing): (&'c mut ClassIndex, &'c mut Standing),
        state: &mut CycleState,
        skipped: &Skipped,
    ) -> Option<Judged<'a, 'c>> {
        let scorers = self.scorers(index, state)?;
        self.judge_changed(standing, index, state, skipped, &scorers)?;
        let shared = index.place_keys().map(|keys| standing.take_ranking(keys));
        let (number, mut ranking) = match shared {
            Some((number, ranking)) => (Some(number), ranking),
            None => (None, std::mem::take(&mut index.ranking)),
        };
        self.rank_changed(&mut ranking, standing, index, state);
        match number {
            Some(number) => standing.put_ranking(number, ranking),
            None => index.ranking = ranking,
        }
        let (index, standing) = (&*index, &*standing);
        let ranking = number.map_or(&index.ranking, |number| standing.ranking(number));
        let filters = self.place_filters(index, skipped);
        let (mut groups, mut nodes) = (Vec::new(), Vec::new());
        let mut refusals = KeptRefusals::new(standing, ranking);
        for (number, group) in ranking.groups() {
            let (own, _, slot) = *group.nodes().last()?;
            let node = self.cluster.node_in(slot)?;
            match run(&filters, state, self, &node) {
                FilterVerdict::Fits => {
                    groups.push(Alike {
                        place: Cow::Borrowed(group.place()),
                        size: group.nodes().len(),
                        own,
                        ranked: Some(group.nodes()),
                    });
                    nodes.push(node);
                }
                FilterVerdict::Rejected(refusal) => {
                    refusals.places.insert(number, refusal);
                }
                FilterVerdict::Failed(_) => return None,
            }
        }
        for slot in &standing.promised {
            let node = self.cluster.node_in(*slot)?;
            match self.run_filters(state, &self.pod, &node) {
                FilterVerdict::Fits => {}
                FilterVerdict::Rejected(refusal) => {
                    refusals.promised.insert(*slot, refusal);
                    continue;
                }
                FilterVerdict::Failed(_) => return None,
            }
            let mut place = Vec::new();
            let own = self.score_alone(state, &node, &scorers, &mut place)?;
            self.place(index, state, &node, &mut place);
            groups.push(Alike {
                place: Cow::Owned(place),
                size: 1,
                own,
                ranked: None,
            });
            nodes.push(node);
        }
        if groups.is_empty() {
            // A node is refused by the first filter that will not have it.
            let is_kept = self.places_are_judged_last(index, skipped);
            return is_kept.then_some(Judged::Nowhere(refusals));
        }
        Some(Judged::Candidates(Candidates {
            groups,
            nodes,
            scorers,
            places: &index.places,
        }))
    }

    /// The best of the nodes that will do. `None` if something cannot be judged.
    pub(super) fn choose(
        &self,
        mut candidates: Candidates<'a, '_>,
        mut state: CycleState,
    ) -> Option<Choice<'a>> {
        let sizes = candidates.groups.iter().map(|group| group.size);
        let feasible_count = sizes.clone().sum();
        let (node, total) = if feasible_count == 1 {
            (*candidates.nodes.first()?, 0)
        } else {
            state.write(Represented(sizes.collect()));
            self.best_of(&mut candidates, &mut state)?
        };
        state.remove::<Represented>();
        for (_, places) in candidates.places {
            places.withdraw(&mut state);
        }
        Some(Choice {
            state,
            node,
            total,
            feasible_count,
        })
    }

    fn best_of(
        &self,
        candidates: &mut Candidates<'a, '_>,
        state: &mut CycleState,
    ) -> Option<(NodeView<'a>, i64)> {
        self.observe(ObservedPoint::PreScore, of_option, || {
            candidates.keep_scorers_that_take_part(self, state)
        })?;
        let totals = self.observe(ObservedPoint::Score, of_option, || {
            candidates.totals(self, state)
        })?;
        let greatest = *totals.iter().max()?;
        let order = TieOrder::new(self.tie_break, self.seed, &self.pod.info.uid);
        let groups = candidates.groups.iter().zip(&candidates.nodes).zip(&totals);
        let best = groups.filter(|(_, total)| **total == greatest);
        let first = best.filter_map(|((group, node), _)| match group.ranked {
            Some(ranked) => order.first(ranked, self.cluster),
            None => Some(*node),
        });
        Some((first.min_by_key(|node| order.rank(node))?, greatest))
    }

    /// What scores in the attempt. `PreScore` of what judges a node by itself is run here, since it
    /// does not depend on the other nodes.
    fn scorers(&self, index: &ClassIndex, state: &mut CycleState) -> Option<Vec<Scorer<'a>>> {
        let mut scorers = Vec::with_capacity(self.profile.points.score.len());
        for &(plugin_index, weight) in &self.profile.points.score {
            let plugin = self.profile.plugin(plugin_index);
            let scorer = Scorer {
                index: plugin_index,
                plugin,
                score: plugin.as_score()?,
                weight,
                by_place: index.judges_by_place(plugin_index),
                is_compared: plugin.as_class_plugin()?.normalizes(),
            };
            if scorer.by_place || scorer.takes_part(self, state, &[])? {
                scorers.push(scorer);
            }
        }
        Some(scorers)
    }

    fn place_filters(&self, index: &ClassIndex, skipped: &Skipped) -> Vec<&'a dyn FilterPlugin> {
        let filters = self.filters(skipped);
        filters
            .filter(|(plugin, _)| index.judges_by_place(*plugin))
            .map(|(_, filter)| filter)
            .collect()
    }

    /// Whether every filter that judges a node by itself comes before those that judge places.
    fn places_are_judged_last(&self, index: &ClassIndex, skipped: &Skipped) -> bool {
        let filters = self.filters(skipped);
        filters
            .map(|(plugin, _)| index.judges_by_place(plugin))
            .is_sorted()
    }

    /// Judges the nodes by themselves that changed.
    fn judge_changed(
        &self,
        standing: &mut Standing,
        index: &ClassIndex,
        state: &CycleState,
        skipped: &Skipped,
        scorers: &[Scorer<'a>],
    ) -> Option<()> {
        let changes = self.cluster.node_changes();
        standing.changed.catch_up(changes, self.cluster);
        if standing.changed.next().is_none() {
            return Some(());
        }
        let mut verdicts = std::mem::take(&mut standing.verdicts);
        let is_wanted = |plugin: usize| !index.judges_by_place(plugin);
        let mut filters = Filters::of(self, skipped, &mut verdicts, is_wanted);
        let judged = self.judge_alone(standing, state, &mut filters, scorers);
        standing.verdicts = verdicts;
        judged
    }

    fn judge_alone(
        &self,
        standing: &mut Standing,
        state: &CycleState,
        filters: &mut Filters<'a, '_>,
        scorers: &[Scorer<'a>],
    ) -> Option<()> {
        let mut compared = Vec::new();
        while let Some(slot) = standing.changed.next() {
            let node = self.cluster.node_in(slot);
            let is_promised = standing.note_promised(slot, node.as_ref(), self.cluster);
            let node = node.filter(|_| !is_promised);
            let verdict = node.map(|node| (node, filters.run(state, &self.pod, &node)));
            match verdict {
                Some((node, FilterVerdict::Fits)) => {
                    compared.clear();
                    let own = self.score_alone(state, &node, scorers, &mut compared)?;
                    standing.fits(slot, own, &compared);
                }
                Some((_, FilterVerdict::Rejected(refusal))) => standing.refuses(slot, refusal),
                Some((_, FilterVerdict::Failed(_))) => return None,
                None => standing.leaves(slot),
            }
            standing.changed.pop();
        }
        Some(())
    }

    /// What a node scores for itself; what is to be compared goes to `compared`.
    fn score_alone(
        &self,
        state: &CycleState,
        node: &NodeView<'a>,
        scorers: &[Scorer<'a>],
        compared: &mut Vec<i64>,
    ) -> Option<i64> {
        let mut own = 0;
        for scorer in scorers.iter().filter(|scorer| !scorer.by_place) {
            let raw = scorer.score.score(state, &self.pod, node).ok()?;
            if scorer.is_compared {
                compared.push(raw);
            } else {
                own += in_range(raw)? * scorer.weight;
            }
        }
        Some(own)
    }

    /// Ranks the nodes that changed, as they stand by themselves.
    fn rank_changed(
        &self,
        ranking: &mut Ranking,
        standing: &Standing,
        index: &ClassIndex,
        state: &CycleState,
    ) {
        let changes = self.cluster.node_changes();
        ranking.changed.catch_up(changes, self.cluster);
        let mut place = Vec::new();
        while let Some(slot) = ranking.changed.next() {
            ranking.changed.pop();
            match (self.cluster.node_in(slot), standing.scores(slot)) {
                (Some(node), Some((own, compared))) => {
                    place.clear();
                    place.extend_from_slice(compared);
                    self.place(index, state, &node, &mut place);
                    ranking.put(slot, node.ring_position(), &place, own);
                }
                _ => ranking.remove(slot),
            }
        }
        ranking.settle();
    }

    /// Adds to `place` where a node lies.
    fn place(
        &self,
        index: &ClassIndex,
        state: &CycleState,
        node: &NodeView<'a>,
        place: &mut Vec<i64>,
    ) {
        for (_, places) in &index.places {
            places.place(state, &self.pod, node, place);
        }
    }
}

/// The verdict of the first filter that says no.
fn run(
    filters: &[&dyn FilterPlugin],
    state: &CycleState,
    cycle: &Cycle<'_>,
    node: &NodeView<'_>,
) -> FilterVerdict {
    let mut verdicts = filters
        .iter()
        .map(|filter| filter.filter(state, &cycle.pod, node));
    let first = verdicts.find(|verdict| *verdict != FilterVerdict::Fits);
    first.unwrap_or(FilterVerdict::Fits)
}

fn in_range(score: i64) -> Option<i64> {
    (MIN_NODE_SCORE..=MAX_NODE_SCORE)
        .contains(&score)
        .then_some(score)
}

#[expect(clippy::ref_option, reason = "the observer lends what came out")]
fn of_option<T>(outcome: &Option<T>) -> StatusCode {
    match outcome {
        Some(_) => StatusCode::Success,
        None => StatusCode::Error,
    }
}

// === impl Candidates ===

impl<'a> Candidates<'a, '_> {
    /// Runs `PreScore` of what scores by places; it sees one node of each group.
    fn keep_scorers_that_take_part(
        &mut self,
        cycle: &Cycle<'a>,
        state: &mut CycleState,
    ) -> Option<()> {
        let mut taking_part = Vec::with_capacity(self.scorers.len());
        for scorer in &self.scorers {
            if !scorer.by_place || scorer.takes_part(cycle, state, &self.nodes)? {
                taking_part.push(*scorer);
            }
        }
        self.scorers = taking_part;
        Some(())
    }

    /// The best total of each group.
    fn totals(&self, cycle: &Cycle<'a>, state: &CycleState) -> Option<Vec<i64>> {
        let mut totals: Vec<i64> = self.groups.iter().map(|group| group.own).collect();
        let mut in_place = 0;
        for scorer in &self.scorers {
            let mut scores = if scorer.by_place {
                let nodes = self.nodes.iter();
                let scores = nodes.map(|node| scorer.score.score(state, &cycle.pod, node).ok());
                scores.collect::<Option<Vec<i64>>>()?
            } else if scorer.is_compared {
                in_place += 1;
                let groups = self.groups.iter();
                groups.map(|group| group.place[in_place - 1]).collect()
            } else {
                continue;
            };
            let (pod, nodes) = (&cycle.pod, &self.nodes);
            scorer
                .score
                .normalize(state, pod, nodes, &mut scores)
                .ok()?;
            for (total, score) in totals.iter_mut().zip(scores) {
                *total += in_range(score)? * scorer.weight;
            }
        }
        Some(totals)
    }
}

// === impl Scorer ===

impl Scorer<'_> {
    /// Runs its `PreScore`, if the profile has it. `None` if that fails.
    fn takes_part(
        &self,
        cycle: &Cycle<'_>,
        state: &mut CycleState,
        nodes: &[NodeView<'_>],
    ) -> Option<bool> {
        if !cycle.profile.points.pre_score.contains(&self.index) {
            return Some(true);
        }
        let Some(pre_score) = self.plugin.as_pre_score() else {
            return Some(true);
        };
        match pre_score.pre_score(state, &cycle.pod, nodes) {
            PreScoreVerdict::Proceed => Some(true),
            PreScoreVerdict::Skip => Some(false),
            PreScoreVerdict::Failed(_) => None,
        }
    }
}
