//! Constraints with `DoNotSchedule`: `PreFilter`, its extensions, `Filter`.

use std::sync::Arc;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::extension_points::{
    FilterPlugin, FilterVerdict, PreFilterExtensions, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{CycleState, PluginError, Rejection};
use crate::model::map::IdMap;
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
struct PreFilterState {
    constraints: Arc<[Constraint]>,
    spreads: Vec<DomainSpread>,
}

impl PreFilterPlugin for PodTopologySpread {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        match self.constraints(Strictness::Hard, pod, cluster.listers()) {
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
                    constraints: constraints.into(),
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
    let sources: Vec<PodCount> = constraints
        .iter()
        .map(|constraint| constraint.pod_count(pod, cluster))
        .collect();
    let mut counts: Vec<IdMap<Symbol, i64>> = vec![IdMap::default(); constraints.len()];
    let mut domains = Vec::with_capacity(constraints.len());
    for node in cluster.nodes() {
        domains.clear();
        domains.extend(constraints.iter().map_while(|c| node.label(c.topology_key)));
        if domains.len() < constraints.len() {
            continue;
        }
        let inclusion = Inclusion::of(constraints, pod, &node);
        for (index, constraint) in constraints.iter().enumerate() {
            if inclusion.in_domains_of(constraint) {
                let matching = constraint.count_on(sources[index], pod, &node);
                *counts[index].entry(domains[index]).or_insert(0) += matching;
            }
        }
    }
    counts.into_iter().map(DomainSpread::new).collect()
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
