//! Preferred affinity and anti-affinity, the pod's own and that of the pods that are there.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::carried_terms::{Candidate, CarriedKind};
use crate::engine::cache::topology::domain_counts::DomainCounts;
use crate::engine::framework::extension_points::{
    MAX_NODE_SCORE, PreScorePlugin, PreScoreVerdict, ScorePlugin,
};
use crate::engine::framework::{CycleState, PluginError};
use crate::model::node_selector::NodeLabels;
use crate::model::pod_affinity::{PodAffinity, WeightedAffinityTerm};
use crate::model::symbols::Symbol;
use crate::plugins::inter_pod_affinity::filtering::not_counted;
use crate::plugins::inter_pod_affinity::{InterPodAffinity, NAME, terms};

/// What adds to the scores of nodes, by topology key (`preScoreState.topologyScore`). Sums are made
/// where a node is scored, since most domains are never asked about.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoring(Vec<(Symbol, Vec<Weighted>)>);

/// Every pod that is counted in the domain of a node adds a weight.
#[derive(Clone, Copy, Debug)]
struct Weighted {
    counts: Source,
    weight: i64,
}

/// Where counts are; indices hold as long as the cluster stands still.
#[derive(Clone, Copy, Debug)]
enum Source {
    Counted(usize),
    Carried(usize),
}

impl Source {
    fn counts(self, cluster: Snapshot<'_>) -> Option<&DomainCounts> {
        match self {
            Self::Counted(index) => cluster.topology().counted.counts(index),
            Self::Carried(index) => cluster.topology().carried.counts(index),
        }
    }
}

impl Scoring {
    /// What `pod` prefers, and what pods on nodes prefer about it.
    pub(super) fn of(
        plugin: &InterPodAffinity,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
    ) -> Result<Self, PluginError> {
        let mut scoring = Self::default();
        let affinity = &pod.class.affinity;
        if plugin.ignores_preferred_terms_of_existing_pods && !prefers_something(affinity) {
            return Ok(scoring);
        }
        scoring.add_own(&affinity.preferred, 1, cluster)?;
        scoring.add_own(&affinity.preferred_anti, -1, cluster)?;
        scoring.add_carried(plugin.hard_pod_affinity_weight, pod, cluster);
        scoring.0.sort_unstable_by_key(|(key, _)| *key);
        Ok(scoring)
    }

    /// Every pod in a domain adds `weight` to its nodes.
    fn add(&mut self, key: Symbol, counts: Source, weight: i64, cluster: Snapshot<'_>) {
        if counts.counts(cluster).is_none_or(DomainCounts::is_empty) {
            return;
        }
        let weighted = Weighted { counts, weight };
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, of_key)) => of_key.push(weighted),
            None => self.0.push((key, vec![weighted])),
        }
    }

    /// The pod's own preferences.
    fn add_own(
        &mut self,
        preferred: &[WeightedAffinityTerm],
        sign: i64,
        cluster: Snapshot<'_>,
    ) -> Result<(), PluginError> {
        for WeightedAffinityTerm { weight, term } in preferred {
            let index = cluster.topology().counted.index(&terms::single(term));
            let counts = Source::Counted(index.ok_or_else(not_counted)?);
            self.add(term.topology_key, counts, sign * weight, cluster);
        }
        Ok(())
    }

    /// What pods on nodes mean; `hard` is the weight of what they require.
    fn add_carried(&mut self, hard: i64, pod: &PodView<'_>, cluster: Snapshot<'_>) {
        for Candidate { index, carried, .. } in terms::selecting(pod, cluster) {
            let weight = match carried.kind {
                CarriedKind::Required if hard > 0 => hard,
                CarriedKind::Preferred => carried.weight,
                CarriedKind::PreferredAnti => -carried.weight,
                CarriedKind::Required | CarriedKind::RequiredAnti => continue,
            };
            let counts = Source::Carried(index);
            self.add(carried.term.topology_key, counts, weight, cluster);
        }
    }

    /// The topology keys that are read, in a fixed order.
    pub(super) fn topology_keys(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.0.iter().map(|(key, _)| *key)
    }

    /// What each key adds to the score of `node`, in the order of the keys.
    pub(super) fn scores_at<'a>(
        &'a self,
        node: &'a NodeView<'_>,
    ) -> impl Iterator<Item = Option<i64>> + 'a {
        let cluster = node.cluster();
        self.0.iter().map(move |(key, weighted)| {
            let domain = node.label(*key)?;
            let score = weighted.iter().fold(0_i64, |score, weighted| {
                let counts = weighted.counts.counts(cluster);
                let count = counts.map_or(0, |counts| counts.get(domain));
                score.saturating_add(weighted.weight.saturating_mul(count))
            });
            Some(score)
        })
    }
}

fn prefers_something(affinity: &PodAffinity) -> bool {
    !affinity.preferred.is_empty() || !affinity.preferred_anti.is_empty()
}

impl PreScorePlugin for InterPodAffinity {
    fn pre_score(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        nodes: &[NodeView<'_>],
    ) -> PreScoreVerdict {
        if state.read::<Scoring>().is_none() {
            let Some(cluster) = nodes.first().map(NodeView::cluster) else {
                return PreScoreVerdict::Skip;
            };
            match Scoring::of(self, pod, cluster) {
                Ok(scoring) => state.write(scoring),
                Err(error) => return PreScoreVerdict::Failed(error),
            }
        }
        match state.read::<Scoring>() {
            Some(scoring) if !scoring.0.is_empty() => PreScoreVerdict::Proceed,
            _ => PreScoreVerdict::Skip,
        }
    }
}

impl ScorePlugin for InterPodAffinity {
    fn score(
        &self,
        state: &CycleState,
        _: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let scoring: &Scoring = state.read().ok_or_else(|| PluginError::no_state(NAME))?;
        Ok(scoring.scores_at(node).flatten().sum())
    }

    fn normalize(
        &self,
        _: &CycleState,
        _: &PodView<'_>,
        _: &[NodeView<'_>],
        scores: &mut [i64],
    ) -> Result<(), PluginError> {
        let least = scores.iter().copied().min().unwrap_or(0);
        let range = scores.iter().copied().max().unwrap_or(0) - least;
        for score in scores {
            *score = if range > 0 {
                scaled(*score - least, range)
            } else {
                0
            };
        }
        Ok(())
    }
}

/// As upstream computes it, in floating point, truncated.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "upstream's arithmetic"
)]
fn scaled(above_least: i64, range: i64) -> i64 {
    (MAX_NODE_SCORE as f64 * (above_least as f64 / range as f64)) as i64
}
