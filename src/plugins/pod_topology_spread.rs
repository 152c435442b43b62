//! `PodTopologySpread`: pods of a kind are spread evenly over zones, nodes and other domains,
//! strictly (`DoNotSchedule`) or as far as possible (`ScheduleAnyway`).
//!
//! Pods without constraints get those of the profile, with a selector that follows from their
//! services and their controller.

mod constraint;
mod default_selector;
mod domain_spread;
mod filtering;
mod places;
mod queueing;
mod scoring;

use std::sync::Arc;

use crate::apis::plugin_args::{
    DefaultConstraint, DefaultingType, NodeInclusionPolicy, PodTopologySpreadArgs,
    WhenUnsatisfiable,
};
use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::cache::topology::counted_terms::CountedTerm;
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    EnqueueExtensions, FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin, TopologyReader,
};
use crate::engine::framework::{CycleState, Plugin, PluginName};
use crate::model::label_selector::{InvalidSelector, LabelSelector};
use crate::model::node_class::HOSTNAME_LABEL;
use crate::model::symbols::{Symbol, SymbolScope};
use crate::model::topology_spread::{Strictness, TopologySpreadConstraint};
use crate::plugins::pod_topology_spread::constraint::Constraint;
use crate::plugins::pod_topology_spread::default_selector::default_selector;

pub(crate) const NAME: &str = "PodTopologySpread";
pub(crate) const REASON: &str = "node(s) didn't match pod topology spread constraints";
pub(crate) const REASON_MISSING_LABEL: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// `v1.LabelTopologyZone`.
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// `systemDefaultConstraints`: key and skew; all of them are preferences.
const SYSTEM_DEFAULTS: [(&str, i64); 2] = [(HOSTNAME_LABEL, 3), (ZONE_LABEL, 5)];

/// The plugin with the constraints of pods that have none.
#[derive(Clone, Debug)]
pub(crate) struct PodTopologySpread {
    /// Their selectors follow from the pod; `matchLabelKeys` has no effect here, as upstream.
    defaults: Box<[TopologySpreadConstraint]>,
    /// The defaults are Kubernetes' own: a node without a zone still takes part.
    is_system_defaulted: bool,
    hostname: Symbol,
}

impl PodTopologySpread {
    pub(crate) fn new(args: &PodTopologySpreadArgs, scope: &mut SymbolScope<'_>) -> Self {
        let is_system_defaulted = args.defaulting_type == DefaultingType::System;
        let defaults = if is_system_defaulted {
            let defaults = SYSTEM_DEFAULTS.iter();
            defaults
                .map(|&(key, skew)| system_default(scope.intern(key), skew))
                .collect()
        } else {
            let defaults = args.default_constraints.iter();
            defaults
                .map(|constraint| list_default(constraint, scope))
                .collect()
        };
        Self {
            defaults,
            is_system_defaulted,
            hostname: scope.intern(HOSTNAME_LABEL),
        }
    }

    /// The constraints of `pod`, or the default ones (`getConstraints`, `buildDefaultConstraints`).
    fn constraints(
        &self,
        strictness: Strictness,
        pod: &PodView<'_>,
        listers: &Listers,
    ) -> Result<Vec<Constraint>, InvalidSelector> {
        let wanted = |c: &&TopologySpreadConstraint| c.strictness == Some(strictness);
        let own = &pod.class.spread_constraints;
        if !own.is_empty() {
            let own = own.iter().filter(wanted);
            return own
                .map(|constraint| {
                    let selector = constraint.selector_for(|key| pod.labels.get(key))?;
                    Ok(Constraint::new(constraint, selector, pod))
                })
                .collect();
        }
        let mut defaults = self.defaults.iter().filter(wanted).peekable();
        if defaults.peek().is_none() {
            return Ok(Vec::new());
        }
        let selector = default_selector(pod, listers);
        if selector.is_everything() {
            return Ok(Vec::new());
        }
        Ok(defaults
            .map(|constraint| Constraint::new(constraint, selector.clone(), pod))
            .collect())
    }

    /// Those of [`Self::constraints`], if `state` does not have them already.
    fn known_constraints(
        &self,
        strictness: Strictness,
        state: &CycleState,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
    ) -> Result<Arc<[Constraint]>, InvalidSelector> {
        if let Some(Constraints { hard, soft }) = state.read() {
            return Ok(Arc::clone(match strictness {
                Strictness::Hard => hard,
                Strictness::Soft => soft,
            }));
        }
        let constraints = self.constraints(strictness, pod, cluster.listers())?;
        Ok(constraints.into())
    }

    /// All constraints of `pod`.
    fn all_constraints(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
    ) -> Result<Constraints, InvalidSelector> {
        let of = |strictness| self.known_constraints(strictness, state, pod, cluster);
        Ok(Constraints {
            hard: of(Strictness::Hard)?,
            soft: of(Strictness::Soft)?,
        })
    }

    /// Whether nodes must have the keys of all soft constraints of `pod` to be scored.
    fn requires_all_keys(&self, pod: &PodView<'_>) -> bool {
        !pod.class.spread_constraints.is_empty() || !self.is_system_defaulted
    }
}

/// All constraints of one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraints {
    hard: Arc<[Constraint]>,
    soft: Arc<[Constraint]>,
}

fn system_default(topology_key: Symbol, max_skew: i64) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew,
        topology_key,
        strictness: Some(Strictness::Soft),
        selector: Ok(LabelSelector::Nothing),
        match_label_keys: Box::default(),
        min_domains: 1,
        honors_node_affinity: true,
        honors_node_taints: false,
    }
}

fn list_default(
    constraint: &DefaultConstraint,
    scope: &mut SymbolScope<'_>,
) -> TopologySpreadConstraint {
    let honors = |policy| policy == NodeInclusionPolicy::Honor;
    let key = scope.intern(&constraint.topology_key);
    TopologySpreadConstraint {
        strictness: Some(match constraint.when_unsatisfiable {
            WhenUnsatisfiable::DoNotSchedule => Strictness::Hard,
            WhenUnsatisfiable::ScheduleAnyway => Strictness::Soft,
        }),
        min_domains: constraint.min_domains.map_or(1, i64::from),
        honors_node_affinity: honors(constraint.node_affinity_policy),
        honors_node_taints: honors(constraint.node_taints_policy),
        ..system_default(key, i64::from(constraint.max_skew))
    }
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_topology_reader(&self) -> Option<&dyn TopologyReader> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl TopologyReader for PodTopologySpread {
    fn counted_terms(
        &self,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
        terms: &mut Vec<CountedTerm>,
    ) {
        for strictness in [Strictness::Hard, Strictness::Soft] {
            // Selectors that cannot be read fail the attempt when they are needed.
            let constraints = self.constraints(strictness, pod, cluster.listers());
            let constraints = constraints.unwrap_or_default();
            terms.extend(constraints.iter().filter_map(|c| c.counted_term(pod)));
        }
    }
}

#[cfg(test)]
mod tests;
