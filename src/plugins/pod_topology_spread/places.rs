//! Pods by domain, followed from node to node that changes, and how nodes are told apart by them.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::CycleState;
use crate::engine::framework::class_plugin::{ClassPlugin, Places, domain_number};
use crate::model::node_selector::NodeLabels;
use crate::model::symbols::Symbol;
use crate::plugins::pod_topology_spread::constraint::{Constraint, PodCount};
use crate::plugins::pod_topology_spread::domain_spread::DomainSpread;
use crate::plugins::pod_topology_spread::filtering::{PreFilterState, shares};
use crate::plugins::pod_topology_spread::scoring::{
    Domain, DomainSums, KeptSums, PreScoreState, sum_shares,
};
use crate::plugins::pod_topology_spread::{Constraints, PodTopologySpread};

/// What is counted for one class of pods.
#[derive(Debug)]
struct SpreadPlaces {
    plugin: PodTopologySpread,
    hard: Arc<[Constraint]>,
    soft: Arc<[Constraint]>,
    requires_all_keys: bool,
    /// The generation of the counters for which the sources hold.
    generation: Option<u64>,
    hard_sources: Vec<PodCount>,
    soft_sources: Vec<PodCount>,
    spreads: Vec<DomainSpread>,
    sums: DomainSums,
    /// What each node added, by slot.
    shares: Vec<NodeShares>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodeShares {
    hard: SmallVec<[Option<(Symbol, i64)>; 1]>,
    soft: SmallVec<[Option<(Domain, i64)>; 1]>,
}

impl ClassPlugin for PodTopologySpread {
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        let constraints = &pod.class.spread_constraints;
        let is_valid = constraints.iter().all(|c| c.selector.is_ok());
        is_valid.then(Vec::new)
    }

    /// The constraints with the pod's own selectors, which count pods of its namespace.
    fn outcome_of_labels(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
        outcome: &mut Vec<u64>,
    ) {
        // Selectors that cannot be read fail the attempt when they are needed.
        let Ok(constraints) = self.all_constraints(state, pod, *cluster) else {
            return;
        };
        let Constraints { hard, soft } = &constraints;
        if !hard.is_empty() || !soft.is_empty() {
            outcome.push(pod.namespace.number().cast_unsigned());
            outcome.push(FxBuildHasher.hash_one((hard, soft)));
        }
        state.write(constraints);
    }

    fn normalizes(&self) -> bool {
        true
    }

    fn places(&self, pod: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Box<dyn Places>> {
        let none = CycleState::default();
        let Constraints { hard, soft } = self.all_constraints(&none, pod, *cluster).ok()?;
        Some(Box::new(SpreadPlaces {
            plugin: self.clone(),
            requires_all_keys: self.requires_all_keys(pod),
            generation: None,
            hard_sources: Vec::new(),
            soft_sources: Vec::new(),
            spreads: vec![DomainSpread::default(); hard.len()],
            sums: self.no_sums(&soft),
            hard,
            soft,
            shares: Vec::new(),
        }))
    }
}

impl SpreadPlaces {
    fn find_sources(&mut self, pod: &PodView<'_>, cluster: Snapshot<'_>) {
        let generation = Some(cluster.topology().counted.generation());
        if self.generation != generation {
            self.generation = generation;
            self.hard_sources = PodCount::of_all(&self.hard, pod, cluster);
            self.soft_sources = PodCount::of_all(&self.soft, pod, cluster);
        }
    }

    fn shares_of(&mut self, pod: &PodView<'_>, node: &NodeView<'_>) -> NodeShares {
        self.find_sources(pod, node.cluster());
        let all_keys = self.requires_all_keys;
        let mut found = NodeShares::default();
        if !self.hard.is_empty() {
            found.hard = shares(&self.hard, &self.hard_sources, pod, node);
        }
        if !self.soft.is_empty() {
            found.soft = sum_shares(&self.soft, &self.soft_sources, all_keys, pod, node);
        }
        found
    }

    /// Adds what a node adds, or takes it away with a `sign` of -1.
    fn count(&mut self, shares: &NodeShares, sign: i64) {
        for (spread, share) in self.spreads.iter_mut().zip(&shares.hard) {
            if let Some((domain, pods)) = *share {
                spread.count_nodes(domain, sign, sign * pods);
            }
        }
        for (sums, share) in self.sums.iter_mut().zip(&shares.soft) {
            let (Some(sums), Some((domain, pods))) = (sums, *share) else {
                continue;
            };
            if pods == 0 {
                continue;
            }
            let sums = Arc::make_mut(sums);
            let sum = sums.entry(domain).or_insert(0);
            *sum += sign * pods;
            if *sum == 0 {
                sums.swap_remove(&domain);
            }
        }
    }
}

impl Places for SpreadPlaces {
    fn provide(
        &mut self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> bool {
        let constraints = self.plugin.all_constraints(state, pod, *cluster);
        let is_current =
            constraints.is_ok_and(|found| found.hard == self.hard && found.soft == self.soft);
        self.find_sources(pod, *cluster);
        if is_current && !self.hard.is_empty() {
            state.write(PreFilterState {
                constraints: Arc::clone(&self.hard),
                spreads: self.spreads.clone(),
            });
        }
        if is_current && !self.soft.is_empty() {
            state.write(KeptSums(self.sums.clone()));
        }
        is_current
    }

    fn withdraw(&self, state: &mut CycleState) {
        state.remove::<Constraints>();
        state.remove::<PreFilterState>();
        state.remove::<KeptSums>();
        state.remove::<PreScoreState>();
    }

    fn follows_nodes(&self) -> bool {
        !self.hard.is_empty() || !self.soft.is_empty()
    }

    fn keys(&self) -> Option<Vec<Symbol>> {
        let constraints = self.hard.iter().chain(&*self.soft);
        let keys: Vec<Symbol> = constraints.map(|c| c.topology_key).collect();
        (!keys.contains(&self.plugin.hostname)).then_some(keys)
    }

    fn update(&mut self, pod: &PodView<'_>, slot: Slot, node: Option<&NodeView<'_>>) {
        if !self.follows_nodes() {
            return;
        }
        if self.shares.len() <= slot.index() {
            self.shares.resize(slot.index() + 1, NodeShares::default());
        }
        let shares = node
            .map(|node| self.shares_of(pod, node))
            .unwrap_or_default();
        if shares == self.shares[slot.index()] {
            return;
        }
        let earlier = std::mem::take(&mut self.shares[slot.index()]);
        self.count(&earlier, -1);
        self.count(&shares, 1);
        self.shares[slot.index()] = shares;
    }

    fn place(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>, place: &mut Vec<i64>) {
        let domain = |constraint: &Constraint| node.label(constraint.topology_key);
        let is_by_node = |constraint: &Constraint| constraint.topology_key == self.plugin.hostname;
        for (constraint, spread) in self.hard.iter().zip(&self.spreads) {
            place.push(match domain(constraint) {
                Some(domain) if is_by_node(constraint) => spread.count(domain),
                domain => domain_number(domain),
            });
        }
        for (constraint, source) in self.soft.iter().zip(&self.soft_sources) {
            place.push(match domain(constraint) {
                Some(_) if is_by_node(constraint) => constraint.count_on(*source, pod, node),
                domain => domain_number(domain),
            });
        }
    }
}
