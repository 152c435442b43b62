//! Constraints with `ScheduleAnyway`: `PreScore`, `Score`, `NormalizeScore`.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::extension_points::{
    MAX_NODE_SCORE, PreScorePlugin, PreScoreVerdict, ScorePlugin,
};
use crate::engine::framework::{CycleState, PluginError};
use crate::model::map::IdMap;
use crate::model::node_selector::NodeLabels;
use crate::model::symbols::Symbol;
use crate::model::topology_spread::Strictness;
use crate::plugins::pod_topology_spread::constraint::{
    Constraint, Inclusion, PodCount, has_all_keys,
};
use crate::plugins::pod_topology_spread::{NAME, PodTopologySpread};

/// The score that upstream gives ignored nodes (`invalidScore`). A constraint without a positive
/// `maxSkew` comes to it as well.
const IGNORED_SCORE: i64 = -1;

/// What is scored in an attempt.
#[derive(Clone, Debug)]
struct PreScoreState {
    preferences: Vec<Preference>,
    constraints: Vec<Constraint>,
    /// Nodes that lack a key are not scored.
    requires_all_keys: bool,
}

/// What a constraint contributes to scores.
#[derive(Clone, Debug)]
struct Preference {
    pods_on_node: PodCount,
    /// Pods by domain, of the domains of nodes that fit. `None` for `kubernetes.io/hostname`: the
    /// pods on the node itself count.
    pods_in_domain: Option<IdMap<Domain, i64>>,
    /// Keeps a constraint with few domains from being outweighed by one with many.
    weight: f64,
}

/// The value of the node label; upstream takes a missing one for an empty text, so an empty text
/// that no node has is `None`.
type Domain = Option<Symbol>;

fn domain(constraint: &Constraint, node: &NodeView<'_>) -> Domain {
    node.label(constraint.topology_key)
        .or_else(|| node.symbols().get(""))
}

impl PreScorePlugin for PodTopologySpread {
    fn pre_score(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        nodes: &[NodeView<'_>],
    ) -> PreScoreVerdict {
        let Some(cluster) = nodes.first().map(NodeView::cluster) else {
            return PreScoreVerdict::Skip;
        };
        let constraints = match self.constraints(Strictness::Soft, pod, cluster.listers()) {
            Err(error) => {
                return PreScoreVerdict::Failed(PluginError {
                    plugin: NAME,
                    message: format!(
                        "calculating preScoreState: obtaining pod's soft topology spread \
                         constraints: {error}"
                    ),
                });
            }
            Ok(constraints) if constraints.is_empty() => return PreScoreVerdict::Skip,
            Ok(constraints) => constraints,
        };
        let requires_all_keys = self.requires_all_keys(pod);
        let mut scored = PreScoreState {
            preferences: Vec::new(),
            constraints,
            requires_all_keys,
        };
        let is_scored = |node: &&NodeView<'_>| !scored.ignores(node);
        let taking_part: Vec<_> = nodes.iter().filter(is_scored).copied().collect();
        let preferences = scored.constraints.iter();
        scored.preferences = preferences
            .map(|constraint| self.preference(constraint, pod, cluster, &taking_part))
            .collect();
        scored.count(pod, cluster);
        state.write(scored);
        PreScoreVerdict::Proceed
    }
}

impl PodTopologySpread {
    /// The domains of `constraint` among the nodes that take part, empty as yet, and their weight.
    fn preference(
        &self,
        constraint: &Constraint,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
        nodes: &[NodeView<'_>],
    ) -> Preference {
        let is_by_node = constraint.topology_key == self.hostname;
        let domains = || nodes.iter().map(|node| (domain(constraint, node), 0));
        let pods_in_domain: Option<IdMap<_, _>> = (!is_by_node).then(|| domains().collect());
        let size = pods_in_domain.as_ref().map_or(nodes.len(), IdMap::len);
        Preference {
            pods_on_node: constraint.pod_count(pod, cluster),
            weight: topology_weight(size),
            pods_in_domain,
        }
    }
}

/// `topologyNormalizingWeight`. The last bit may differ from Go's; no sum of counts comes so near
/// to a half that it changes a rounded score.
#[expect(
    clippy::cast_precision_loss,
    reason = "upstream computes in float64 too"
)]
fn topology_weight(domains: usize) -> f64 {
    (domains as f64 + 2.0).ln()
}

/// `scoreForCount`.
#[expect(
    clippy::cast_precision_loss,
    reason = "upstream computes in float64 too"
)]
fn score_for_count(count: i64, max_skew: i64, weight: f64) -> f64 {
    count as f64 * weight + (max_skew - 1) as f64
}

// === impl PreScoreState ===

impl PreScoreState {
    fn ignores(&self, node: &NodeView<'_>) -> bool {
        self.requires_all_keys && !has_all_keys(node, &self.constraints)
    }

    /// Counts pods by domain over all nodes, those that do not fit included.
    fn count(&mut self, pod: &PodView<'_>, cluster: Snapshot<'_>) {
        for node in cluster.nodes() {
            if self.ignores(&node) {
                continue;
            }
            let inclusion = Inclusion::of(&self.constraints, pod, &node);
            for (constraint, preference) in self.constraints.iter().zip(&mut self.preferences) {
                let domains = preference.pods_in_domain.as_mut();
                if inclusion.in_domains_of(constraint)
                    && let Some(domains) = domains
                    && let Some(count) = domains.get_mut(&domain(constraint, &node))
                {
                    *count += constraint.count_on(preference.pods_on_node, pod, &node);
                }
            }
        }
    }
}

impl ScorePlugin for PodTopologySpread {
    /// How crowded the domains of the node are: less is better.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "pods in a domain times a small weight"
    )]
    fn score(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let scored: &PreScoreState = state.read().ok_or_else(|| PluginError::no_state(NAME))?;
        if scored.ignores(node) {
            return Ok(0);
        }
        let mut score = 0.0;
        for (constraint, preference) in scored.constraints.iter().zip(&scored.preferences) {
            let Some(domain) = node.label(constraint.topology_key) else {
                continue;
            };
            let count = match &preference.pods_in_domain {
                Some(pods) => pods.get(&Some(domain)).copied().unwrap_or(0),
                None => constraint.count_on(preference.pods_on_node, pod, node),
            };
            score += score_for_count(count, constraint.max_skew, preference.weight);
        }
        Ok(f64::round(score) as i64)
    }

    /// The least crowded node gets the most; nodes that were not scored get nothing.
    fn normalize(
        &self,
        state: &CycleState,
        _: &PodView<'_>,
        nodes: &[NodeView<'_>],
        scores: &mut [i64],
    ) -> Result<(), PluginError> {
        let state: &PreScoreState = state.read().ok_or_else(|| PluginError::no_state(NAME))?;
        let ignored: Vec<bool> = nodes.iter().map(|node| state.ignores(node)).collect();
        let counted = || {
            let scores = scores.iter().zip(&ignored);
            scores
                .filter(|(_, ignored)| !**ignored)
                .map(|(score, _)| *score)
        };
        let least = counted().min().unwrap_or(0);
        let greatest = counted().max().unwrap_or(0).max(0);
        for (score, ignored) in scores.iter_mut().zip(&ignored) {
            *score = match (*ignored || *score == IGNORED_SCORE, greatest) {
                (true, _) => 0,
                (false, 0) => MAX_NODE_SCORE,
                (false, greatest) => MAX_NODE_SCORE * (greatest + least - *score) / greatest,
            };
        }
        Ok(())
    }
}
