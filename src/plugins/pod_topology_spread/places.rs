//! Pods by domain, followed from node to node whose object or whose count changes, and how nodes are
//! told apart by them.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::engine::cache::node_changes::NodeChanges;
use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::CycleState;
use crate::engine::framework::class_plugin::{ClassPlugin, Places, domain_number};
use crate::model::map::IdMap;
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
    /// Up to which change of its counter each source is followed; none before the first attempt.
    positions: Option<Vec<u64>>,
    spreads: Vec<DomainSpread>,
    sums: DomainSums,
    /// What each node added to each hard constraint, by slot and constraint.
    hard_shares: Vec<Option<(Symbol, i64)>>,
    /// The same of soft ones.
    soft_shares: Vec<Option<(Domain, i64)>>,
}

/// What an entry of a map of domains takes, with its place in the table.
const BYTES_OF_DOMAIN: usize = 48;

/// What a node adds.
#[derive(Default)]
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
            positions: None,
            spreads: vec![DomainSpread::default(); hard.len()],
            sums: self.no_sums(&soft),
            hard,
            soft,
            hard_shares: Vec::new(),
            soft_shares: Vec::new(),
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
        if self.positions.is_none() {
            let positions = self.counters(cluster).map(NodeChanges::position);
            self.positions = Some(positions.collect());
        }
    }

    /// The changes of the counters that are read.
    fn counters<'c>(&self, cluster: Snapshot<'c>) -> impl Iterator<Item = &'c NodeChanges> {
        let sources = self.hard_sources.iter().chain(&self.soft_sources);
        sources.filter_map(move |source| match source {
            PodCount::Counter(index) => cluster.topology().counted.changes(*index),
            PodCount::Zero | PodCount::Search => None,
        })
    }

    /// Counts what changed since the last attempt on nodes whose objects did not. `false`: that is not
    /// known.
    fn follow_counters(&mut self, pod: &PodView<'_>, cluster: Snapshot<'_>) -> bool {
        let mut sources = self.hard_sources.iter().chain(&self.soft_sources);
        if sources.any(|source| matches!(source, PodCount::Search)) {
            return false;
        }
        let earlier = self.positions.take().unwrap_or_default();
        let mut changed = Vec::new();
        for (log, position) in self.counters(cluster).zip(&earlier) {
            match log.since(*position) {
                Some(slots) => changed.extend(slots),
                None => changed.extend(cluster.slots()),
            }
        }
        let positions = self.counters(cluster).map(NodeChanges::position);
        self.positions = Some(positions.collect());
        changed.sort_unstable();
        changed.dedup();
        for slot in changed {
            self.update(pod, slot, cluster.node_in(slot).as_ref());
        }
        true
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

    /// The node in `slot` adds `shares` from now on to hard constraints.
    fn replace_hard(&mut self, slot: Slot, shares: &[Option<(Symbol, i64)>]) {
        let known = of_slot(&mut self.hard_shares, slot, self.hard.len());
        for ((known, spread), share) in known.iter_mut().zip(&mut self.spreads).zip(shares) {
            if known == share {
                continue;
            }
            if let Some((domain, pods)) = *known {
                spread.count_nodes(domain, -1, -pods);
            }
            if let Some((domain, pods)) = *share {
                spread.count_nodes(domain, 1, pods);
            }
            *known = *share;
        }
    }

    /// The same of soft ones.
    fn replace_soft(&mut self, slot: Slot, shares: &[Option<(Domain, i64)>]) {
        let known = of_slot(&mut self.soft_shares, slot, self.soft.len());
        for ((known, sums), share) in known.iter_mut().zip(&mut self.sums).zip(shares) {
            if known == share {
                continue;
            }
            if let Some(sums) = sums {
                add(sums, *known, -1);
                add(sums, *share, 1);
            }
            *known = *share;
        }
    }
}

/// The entries of the node in `slot`, `each` of them.
fn of_slot<T: Copy>(shares: &mut Vec<Option<T>>, slot: Slot, each: usize) -> &mut [Option<T>] {
    let first = slot.index() * each;
    if shares.len() < first + each {
        shares.resize(first + each, None);
    }
    &mut shares[first..first + each]
}

fn add(sums: &mut Arc<IdMap<Domain, i64>>, share: Option<(Domain, i64)>, sign: i64) {
    let Some((domain, pods)) = share.filter(|(_, pods)| *pods != 0) else {
        return;
    };
    let sums = Arc::make_mut(sums);
    let sum = sums.entry(domain).or_insert(0);
    *sum += sign * pods;
    if *sum == 0 {
        sums.swap_remove(&domain);
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
        let is_current = is_current && self.follow_counters(pod, *cluster);
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

    fn bytes(&self) -> usize {
        let spreads = self.spreads.iter().map(DomainSpread::domains);
        let sums = self.sums.iter().flatten().map(|sums| sums.len());
        self.hard_shares.capacity() * size_of::<Option<(Symbol, i64)>>()
            + self.soft_shares.capacity() * size_of::<Option<(Domain, i64)>>()
            + spreads.chain(sums).sum::<usize>() * BYTES_OF_DOMAIN
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
        let mut shares = node
            .map(|node| self.shares_of(pod, node))
            .unwrap_or_default();
        shares.hard.resize(self.hard.len(), None);
        shares.soft.resize(self.soft.len(), None);
        self.replace_hard(slot, &shares.hard);
        self.replace_soft(slot, &shares.soft);
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
