//! Constraints with `DoNotSchedule`: `PreFilter`, its extensions, `Filter`.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::extension_points::{
    FilterPlugin, FilterVerdict, PreFilterExtensions, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{CycleState, PluginError, Rejection};
use crate::model::node_selector::NodeLabels;
use crate::model::symbols::Symbol;
use crate::model::topology_spread::Strictness;
use crate::plugins::pod_topology_spread::constraint::{
    Constraint, Inclusion, PodCount, has_all_keys,
};
use crate::plugins::pod_topology_spread::domain_spread::DomainSpread;
use crate::plugins::pod_topology_spread::{NAME, PodTopologySpread, REASON, REASON_MISSING_LABEL};

/// The constraints of an attempt with how their pods are spread, parallel.
#[derive(Clone, Debug)]
pub(super) struct PreFilterState {
    pub(super) constraints: Arc<[Constraint]>,
    pub(super) spreads: Vec<DomainSpread>,
}

impl PreFilterPlugin for PodTopologySpread {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        if state.read::<PreFilterState>().is_some() {
            return PreFilterVerdict::Proceed;
        }
        match self.known_constraints(Strictness::Hard, state, pod, *cluster) {
            Err(error) => PreFilterVerdict::Failed(PluginError {
                plugin: NAME,
                message: format!(
                    "get constraints from pod: obtaining pod's hard topology spread constraints: \
                     {error}"
                ),
            }),
            Ok(constraints) if constraints.is_empty() => PreFilterVerdict::Skip,
            Ok(constraints) => {
                state.write(PreFilterState {
                    spreads: count(&constraints, pod, *cluster),
                    constraints,
                });
                PreFilterVerdict::Proceed
            }
        }
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

/// Counts by domain over the nodes that have all keys and that the policies include
/// (`calPreFilterState`).
fn count(
    constraints: &[Constraint],
    pod: &PodView<'_>,
    cluster: Snapshot<'_>,
) -> Vec<DomainSpread> {
    let sources = PodCount::of_all(constraints, pod, cluster);
    let mut spreads = vec![DomainSpread::default(); constraints.len()];
    for node in cluster.nodes() {
        let shares = shares(constraints, &sources, pod, &node);
        for (spread, share) in spreads.iter_mut().zip(shares) {
            if let Some((domain, pods)) = share {
                spread.count_nodes(domain, 1, pods);
            }
        }
    }
    spreads
}

/// What a node adds to each constraint: to which domain how many pods. `None` where it is not
/// counted.
pub(super) fn shares(
    constraints: &[Constraint],
    sources: &[PodCount],
    pod: &PodView<'_>,
    node: &NodeView<'_>,
) -> SmallVec<[Option<(Symbol, i64)>; 1]> {
    if !has_all_keys(node, constraints) {
        return SmallVec::from_elem(None, constraints.len());
    }
    let inclusion = Inclusion::of(constraints, pod, node);
    let constraints = constraints.iter().zip(sources);
    let shares = constraints.map(|(constraint, source)| {
        let domain = node.label(constraint.topology_key)?;
        let is_included = inclusion.in_domains_of(constraint);
        is_included.then(|| (domain, constraint.count_on(*source, pod, node)))
    });
    shares.collect()
}

impl FilterPlugin for PodTopologySpread {
    fn filter(&self, state: &CycleState, _: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        let Some(PreFilterState {
            constraints,
            spreads,
        }) = state.read()
        else {
            return FilterVerdict::Failed(PluginError::no_state(NAME));
        };
        for (constraint, spread) in constraints.iter().zip(spreads) {
            let Some(domain) = node.label(constraint.topology_key) else {
                return FilterVerdict::Rejected(Rejection::unresolvable(
                    NAME,
                    REASON_MISSING_LABEL,
                ));
            };
            let with_pod = spread.count(domain) + i64::from(constraint.selects_pod);
            if with_pod - spread.fewest(constraint.min_domains) > constraint.max_skew {
                return FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON));
            }
        }
        FilterVerdict::Fits
    }
}

impl PreFilterExtensions for PodTopologySpread {
    fn add_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        added: &PodView<'_>,
        node: &NodeView<'_>,
    ) {
        change(state, pod, added, node, 1);
    }

    fn remove_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        removed: &PodView<'_>,
        node: &NodeView<'_>,
    ) {
        change(state, pod, removed, node, -1);
    }
}

/// `updateWithPod`: unlike what was counted, this follows pods that are being deleted and empty
/// selectors too.
fn change(
    state: &mut CycleState,
    pod: &PodView<'_>,
    changed: &PodView<'_>,
    node: &NodeView<'_>,
    by: i64,
) {
    let Some(PreFilterState {
        constraints,
        spreads,
    }) = state.read_mut()
    else {
        return;
    };
    if changed.namespace != pod.namespace || !has_all_keys(node, constraints) {
        return;
    }
    let inclusion = Inclusion::of(constraints, pod, node);
    for (constraint, spread) in constraints.iter().zip(spreads) {
        let domain = node.label(constraint.topology_key);
        if let Some(domain) = domain
            && constraint.selects(changed.labels)
            && inclusion.in_domains_of(constraint)
        {
            spread.add(domain, by);
        }
    }
}
