//! Preferred affinity and anti-affinity, the pod's own and that of the pods that are there.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::carried_terms::CarriedKind;
use crate::engine::cache::topology::domain_counts::DomainCounts;
use crate::engine::framework::extension_points::{
    MAX_NODE_SCORE, PreScorePlugin, PreScoreVerdict, ScorePlugin,
};
use crate::engine::framework::{CycleState, PluginError};
use crate::model::map::IdMap;
use crate::model::node_selector::NodeLabels;
use crate::model::pod_affinity::{PodAffinity, WeightedAffinityTerm};
use crate::model::symbols::Symbol;
use crate::plugins::inter_pod_affinity::filtering::not_counted;
use crate::plugins::inter_pod_affinity::{InterPodAffinity, NAME, terms};

/// Sums of weights by topology key and domain (`preScoreState.topologyScore`).
#[derive(Clone, Debug, Default)]
struct Scoring(Vec<(Symbol, IdMap<Symbol, i64>)>);

impl Scoring {
    /// Every pod in a domain adds `weight` to its nodes.
    fn add(&mut self, key: Symbol, counts: &DomainCounts, weight: i64) {
        if counts.is_empty() {
            return;
        }
        let known = self.0.iter().position(|(known, _)| *known == key);
        let index = known.unwrap_or_else(|| {
            self.0.push((key, IdMap::default()));
            self.0.len() - 1
        });
        for (domain, count) in counts.iter() {
            let score = self.0[index].1.entry(domain).or_insert(0);
            *score = score.saturating_add(weight.saturating_mul(count));
        }
    }

    /// The pod's own preferences.
    fn add_own(
        &mut self,
        preferred: &[WeightedAffinityTerm],
        sign: i64,
        cluster: Snapshot<'_>,
    ) -> Result<(), PluginError> {
        let counted = &cluster.topology().counted;
        for WeightedAffinityTerm { weight, term } in preferred {
            let index = counted.index(&terms::single(term));
            let counts = index.and_then(|index| counted.counts(index));
            let counts = counts.ok_or_else(not_counted)?;
            self.add(term.topology_key, counts, sign * weight);
        }
        Ok(())
    }

    /// What pods on nodes mean by `kind`; `weight` of each term.
    fn add_carried(
        &mut self,
        kind: CarriedKind,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
        weight: impl Fn(i64) -> i64,
    ) {
        let carried = cluster.topology().carried.of_kind(kind);
        let carried =
            carried.filter(|(_, carried, _)| terms::selects_incoming(&carried.term, pod, cluster));
        for (_, term, counts) in carried {
            self.add(term.term.topology_key, counts, weight(term.weight));
        }
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
        let affinity = &pod.class.affinity;
        if self.ignores_preferred_terms_of_existing_pods && !prefers_something(affinity) {
            return PreScoreVerdict::Skip;
        }
        let Some(cluster) = nodes.first().map(NodeView::cluster) else {
            return PreScoreVerdict::Skip;
        };
        let mut scoring = Scoring::default();
        let own = scoring
            .add_own(&affinity.preferred, 1, cluster)
            .and_then(|()| scoring.add_own(&affinity.preferred_anti, -1, cluster));
        if let Err(error) = own {
            return PreScoreVerdict::Failed(error);
        }
        if self.hard_pod_affinity_weight > 0 {
            let hard = self.hard_pod_affinity_weight;
            scoring.add_carried(CarriedKind::Required, pod, cluster, |_| hard);
        }
        scoring.add_carried(CarriedKind::Preferred, pod, cluster, |weight| weight);
        scoring.add_carried(CarriedKind::PreferredAnti, pod, cluster, |weight| -weight);
        if scoring.0.is_empty() {
            return PreScoreVerdict::Skip;
        }
        state.write(scoring);
        PreScoreVerdict::Proceed
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
        let scores = scoring.0.iter().filter_map(|(key, domains)| {
            let domain = node.label(*key)?;
            domains.get(&domain).copied()
        });
        Ok(scores.sum())
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
