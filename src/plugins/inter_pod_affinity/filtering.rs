//! Required affinity and anti-affinity, the pod's own and that of the pods that are there.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::Topology;
use crate::engine::cache::topology::carried_terms::{Candidate, CarriedKind};
use crate::engine::cache::topology::counted_terms::CountedTerm;
use crate::engine::cache::topology::domain_counts::DomainCounts;
use crate::engine::framework::extension_points::{
    FilterPlugin, FilterVerdict, PreFilterExtensions, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{CycleState, PluginError, Rejection};
use crate::model::node_selector::NodeLabels;
use crate::model::pod_affinity::AffinityTerm;
use crate::model::symbols::Symbol;
use crate::plugins::inter_pod_affinity::{InterPodAffinity, NAME, terms};

const AFFINITY: &str = "node(s) didn't match pod affinity rules";
const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
const EXISTING_ANTI_AFFINITY: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// Counts of the cluster at the start of the attempt, and what a hypothesis changes about them.
#[derive(Clone, Debug)]
struct Counts {
    topology_key: Symbol,
    /// Indices of counted terms, or of carried ones.
    terms: Vec<usize>,
    delta: DomainCounts,
}

/// What `PreFilter` finds for `Filter` (`preFilterState`).
#[derive(Clone, Debug)]
pub(super) struct Filtering {
    /// One entry a term of required affinity.
    affinity: Vec<Counts>,
    /// One entry a term of required anti-affinity.
    anti_affinity: Vec<Counts>,
    /// Terms of anti-affinity that pods on nodes have against the pod, one entry a topology key.
    existing: Vec<Counts>,
    /// The pod meets its own affinity: it may be the first of its kind.
    selects_itself: bool,
}

// === impl Counts ===

impl Counts {
    fn counted(term: &CountedTerm, key: Symbol, cluster: Snapshot<'_>) -> Option<Self> {
        Some(Self {
            topology_key: key,
            terms: vec![cluster.topology().counted.index(term)?],
            delta: DomainCounts::default(),
        })
    }

    /// The count in `domain`; `base` gives the counts of a term.
    fn get<'a>(&self, domain: Symbol, base: impl Fn(usize) -> Option<&'a DomainCounts>) -> i64 {
        let base = self.terms.iter().filter_map(|term| base(*term));
        base.map(|counts| counts.get(domain)).sum::<i64>() + self.delta.get(domain)
    }

    /// Whether no domain has a pod.
    fn is_empty<'a>(&self, base: impl Fn(usize) -> Option<&'a DomainCounts>) -> bool {
        let counts = || self.terms.iter().filter_map(|term| base(*term));
        if self.delta.is_empty() {
            return counts().all(DomainCounts::is_empty);
        }
        let domains = counts()
            .flat_map(DomainCounts::iter)
            .chain(self.delta.iter());
        domains
            .map(|(domain, _)| domain)
            .all(|domain| self.get(domain, &base) == 0)
    }
}

// === impl Filtering ===

impl Filtering {
    /// What the pod wants and what others want of it. `None` if terms are not counted.
    pub(super) fn of(pod: &PodView<'_>, cluster: Snapshot<'_>) -> Option<Self> {
        let affinity = &pod.class.affinity;
        let required = terms::required(affinity).zip(&affinity.required);
        let anti = affinity.required_anti.iter();
        Some(Self {
            affinity: required
                .map(|(counted, term)| Counts::counted(&counted, term.topology_key, cluster))
                .collect::<Option<_>>()?,
            anti_affinity: anti
                .map(|term| Counts::counted(&terms::single(term), term.topology_key, cluster))
                .collect::<Option<_>>()?,
            existing: existing(pod, cluster),
            selects_itself: terms::all_select(&affinity.required, pod, cluster),
        })
    }

    /// Whether nobody wants anything.
    fn is_empty(&self) -> bool {
        self.affinity.is_empty() && self.anti_affinity.is_empty() && self.existing.is_empty()
    }

    /// The topology keys that are read, in a fixed order.
    pub(super) fn topology_keys(&self) -> impl Iterator<Item = Symbol> + '_ {
        let own = self.affinity.iter().chain(&self.anti_affinity);
        own.chain(&self.existing).map(|counts| counts.topology_key)
    }

    /// How many pods each entry counts in the domain of `node`, in the order of the keys; `None`
    /// where the node has no domain.
    pub(super) fn counts_at<'a>(
        &'a self,
        node: &'a NodeView<'_>,
    ) -> impl Iterator<Item = Option<i64>> + 'a {
        let topology = node.cluster().topology();
        let own = self.affinity.iter().chain(&self.anti_affinity);
        let own = own.map(move |counts| {
            let domain = node.label(counts.topology_key)?;
            Some(counts.get(domain, |term| topology.counted.counts(term)))
        });
        let existing = self.existing.iter().map(move |counts| {
            let domain = node.label(counts.topology_key)?;
            Some(counts.get(domain, |term| topology.carried.counts(term)))
        });
        own.chain(existing)
    }

    /// Whether there is a pod that meets the affinity in the node's domain of every term, or the
    /// pod is the first of its kind (`nodeTopologyMatchesAffinity`).
    fn meets_affinity(&self, node: &NodeView<'_>, topology: &Topology) -> bool {
        let counted = |term| topology.counted.counts(term);
        let mut pods_exist = true;
        for counts in &self.affinity {
            let Some(domain) = node.label(counts.topology_key) else {
                return false;
            };
            pods_exist &= counts.get(domain, counted) > 0;
        }
        pods_exist
            || (self.selects_itself && self.affinity.iter().all(|counts| counts.is_empty(counted)))
    }

    fn meets_anti_affinity(&self, node: &NodeView<'_>, topology: &Topology) -> bool {
        self.anti_affinity.iter().all(|counts| {
            let domain = node.label(counts.topology_key);
            domain.is_none_or(|domain| counts.get(domain, |t| topology.counted.counts(t)) <= 0)
        })
    }

    fn meets_existing_anti_affinity(&self, node: &NodeView<'_>, topology: &Topology) -> bool {
        self.existing.iter().all(|counts| {
            let domain = node.label(counts.topology_key);
            domain.is_none_or(|domain| counts.get(domain, |t| topology.carried.counts(t)) <= 0)
        })
    }

    /// `other` came to `node`, or left it (`updateWithPod`).
    fn update(&mut self, pod: &PodView<'_>, other: &PodView<'_>, node: &NodeView<'_>, by: i64) {
        let cluster = node.cluster();
        for term in &other.class.affinity.required_anti {
            self.update_existing(term, pod, node, by);
        }
        let own = &pod.class.affinity;
        if terms::all_select(&own.required, other, cluster) {
            for counts in &mut self.affinity {
                counts.change(node, by);
            }
        }
        for (term, counts) in own.required_anti.iter().zip(&mut self.anti_affinity) {
            if terms::selects(term, other, cluster) {
                counts.change(node, by);
            }
        }
    }

    fn update_existing(
        &mut self,
        term: &AffinityTerm,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
        by: i64,
    ) {
        if !terms::selects_incoming(term, pod, node.cluster()) {
            return;
        }
        let key = term.topology_key;
        let known = self.existing.iter().position(|c| c.topology_key == key);
        let index = known.unwrap_or_else(|| {
            self.existing.push(Counts {
                topology_key: key,
                terms: Vec::new(),
                delta: DomainCounts::default(),
            });
            self.existing.len() - 1
        });
        self.existing[index].change(node, by);
    }
}

impl Counts {
    fn change(&mut self, node: &NodeView<'_>, by: i64) {
        if let Some(domain) = node.label(self.topology_key) {
            self.delta.add(domain, by);
        }
    }
}

/// The terms of anti-affinity against `pod`, by topology key.
fn existing(pod: &PodView<'_>, cluster: Snapshot<'_>) -> Vec<Counts> {
    let selecting = terms::selecting(pod, cluster);
    let against = selecting.filter(|term| term.carried.kind == CarriedKind::RequiredAnti);
    let mut existing: Vec<Counts> = Vec::new();
    for Candidate { index, carried, .. } in against {
        let key = carried.term.topology_key;
        match existing.iter_mut().find(|c| c.topology_key == key) {
            Some(counts) => counts.terms.push(index),
            None => existing.push(Counts {
                topology_key: key,
                terms: vec![index],
                delta: DomainCounts::default(),
            }),
        }
    }
    existing.sort_unstable_by_key(|counts| counts.topology_key);
    existing
}

impl PreFilterPlugin for InterPodAffinity {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        if let Some(error) = &pod.class.affinity.invalid {
            let reason = format!("parsing pod: {error}");
            return PreFilterVerdict::Rejected(Rejection::unresolvable(NAME, reason));
        }
        if state.read::<Filtering>().is_none() {
            match Filtering::of(pod, *cluster) {
                Some(filtering) => state.write(filtering),
                None => return PreFilterVerdict::Failed(not_counted()),
            }
        }
        match state.read::<Filtering>() {
            Some(filtering) if !filtering.is_empty() => PreFilterVerdict::Proceed,
            _ => PreFilterVerdict::Skip,
        }
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

/// The engine did not ask what is read.
pub(super) fn not_counted() -> PluginError {
    PluginError {
        plugin: NAME,
        message: "terms of pod affinity are read that were not counted".to_owned(),
    }
}

impl PreFilterExtensions for InterPodAffinity {
    fn add_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        added: &PodView<'_>,
        node: &NodeView<'_>,
    ) {
        if let Some(filtering) = state.read_mut::<Filtering>() {
            filtering.update(pod, added, node, 1);
        }
    }

    fn remove_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        removed: &PodView<'_>,
        node: &NodeView<'_>,
    ) {
        if let Some(filtering) = state.read_mut::<Filtering>() {
            filtering.update(pod, removed, node, -1);
        }
    }
}

impl FilterPlugin for InterPodAffinity {
    fn filter(&self, state: &CycleState, _: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        let Some(filtering) = state.read::<Filtering>() else {
            return FilterVerdict::Failed(PluginError::no_state(NAME));
        };
        let cluster = node.cluster();
        let topology = cluster.topology();
        if !filtering.meets_affinity(node, topology) {
            return FilterVerdict::Rejected(Rejection::unresolvable(NAME, AFFINITY));
        }
        if !filtering.meets_anti_affinity(node, topology) {
            return FilterVerdict::Rejected(Rejection::unschedulable(NAME, ANTI_AFFINITY));
        }
        if !filtering.meets_existing_anti_affinity(node, topology) {
            return FilterVerdict::Rejected(Rejection::unschedulable(NAME, EXISTING_ANTI_AFFINITY));
        }
        FilterVerdict::Fits
    }
}
