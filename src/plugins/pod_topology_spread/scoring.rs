//! Constraints with `ScheduleAnyway`: `PreScore`, `Score`, `NormalizeScore`.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::Represented;
use crate::engine::framework::extension_points::{
    MAX_NODE_SCORE, PreScorePlugin, PreScoreVerdict, ScorePlugin,
};
use crate::engine::framework::{CycleState, PluginError};
use crate::model::map::{IdMap, IdSet};
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
pub(super) struct PreScoreState {
    preferences: Vec<Preference>,
    constraints: Arc<[Constraint]>,
    /// Nodes that lack a key are not scored.
    requires_all_keys: bool,
}

/// What a constraint contributes to scores.
#[derive(Clone, Debug)]
struct Preference {
    pods_on_node: PodCount,
    /// Pods by domain. `None` for `kubernetes.io/hostname`: the pods on the node itself count.
    pods_in_domain: Option<Arc<IdMap<Domain, i64>>>,
    /// Keeps a constraint with few domains from being outweighed by one with many.
    weight: f64,
}

/// Pods by domain, over all nodes; `None` for a constraint over `kubernetes.io/hostname`.
pub(super) type DomainSums = Vec<Option<Arc<IdMap<Domain, i64>>>>;

/// What was counted before the attempt.
#[derive(Clone, Debug)]
pub(super) struct KeptSums(pub(super) DomainSums);

/// The value of the node label; upstream takes a missing one for an empty text, so an empty text
/// that no node has is `None`.
pub(super) type Domain = Option<Symbol>;

pub(super) fn domain(constraint: &Constraint, node: &NodeView<'_>) -> Domain {
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
        let constraints = match self.known_constraints(Strictness::Soft, state, pod, cluster) {
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
        let sums = match state.read::<KeptSums>() {
            Some(KeptSums(sums)) => sums.clone(),
            None => self.count(&constraints, requires_all_keys, pod, cluster),
        };
        let represented = state.read::<Represented>().map(|sizes| &*sizes.0);
        let taking_part = || {
            let nodes = nodes.iter().enumerate();
            nodes.filter(|(_, node)| !requires_all_keys || has_all_keys(node, &constraints))
        };
        let preferences = constraints.iter().zip(sums).map(|(constraint, sums)| {
            let size = if sums.is_none() {
                let sizes = taking_part().map(|(i, _)| represented.map_or(1, |sizes| sizes[i]));
                sizes.sum()
            } else {
                let domains = taking_part().map(|(_, node)| domain(constraint, node));
                domains.collect::<IdSet<_>>().len()
            };
            Preference {
                pods_on_node: constraint.pod_count(pod, cluster),
                weight: topology_weight(size),
                pods_in_domain: sums,
            }
        });
        state.write(PreScoreState {
            preferences: preferences.collect(),
            constraints,
            requires_all_keys,
        });
        PreScoreVerdict::Proceed
    }
}

impl PodTopologySpread {
    /// Counts pods by domain over all nodes, those that do not fit included.
    fn count(
        &self,
        constraints: &[Constraint],
        requires_all_keys: bool,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
    ) -> DomainSums {
        let sources = PodCount::of_all(constraints, pod, cluster);
        let mut sums = self.no_sums(constraints);
        for node in cluster.nodes() {
            let shares = sum_shares(constraints, &sources, requires_all_keys, pod, &node);
            for (sums, share) in sums.iter_mut().zip(shares) {
                if let (Some(sums), Some((domain, pods))) = (sums, share) {
                    *Arc::make_mut(sums).entry(domain).or_insert(0) += pods;
                }
            }
        }
        sums
    }

    /// Nothing counted yet.
    pub(super) fn no_sums(&self, constraints: &[Constraint]) -> DomainSums {
        let is_by_node = |constraint: &Constraint| constraint.topology_key == self.hostname;
        let constraints = constraints.iter();
        constraints
            .map(|constraint| (!is_by_node(constraint)).then(Arc::default))
            .collect()
    }
}

/// What a node adds to each constraint: to which domain how many pods. `None` where it is not
/// counted.
pub(super) fn sum_shares(
    constraints: &[Constraint],
    sources: &[PodCount],
    requires_all_keys: bool,
    pod: &PodView<'_>,
    node: &NodeView<'_>,
) -> SmallVec<[Option<(Domain, i64)>; 1]> {
    if requires_all_keys && !has_all_keys(node, constraints) {
        return SmallVec::from_elem(None, constraints.len());
    }
    let inclusion = Inclusion::of(constraints, pod, node);
    let constraints = constraints.iter().zip(sources);
    let shares = constraints.map(|(constraint, source)| {
        let is_included = inclusion.in_domains_of(constraint);
        is_included.then(|| {
            let pods = constraint.count_on(*source, pod, node);
            (domain(constraint, node), pods)
        })
    });
    shares.collect()
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
