//! A spread constraint of one pod, and how the pods that it counts are found.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::cache::topology::counted_terms::{CountedTerm, Domains};
use crate::model::label_selector::LabelSelector;
use crate::model::label_set::LabelSet;
use crate::model::node_selector::NodeLabels;
use crate::model::pod_affinity::PodSelector;
use crate::model::symbols::Symbol;
use crate::model::topology_spread::TopologySpreadConstraint;
use crate::plugins::node_affinity::matches_required;
use crate::plugins::taint_toleration::tolerates_taints;

/// A constraint with everything that depends on the pod filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Constraint {
    pub(super) max_skew: i64,
    pub(super) topology_key: Symbol,
    pub(super) min_domains: i64,
    honors_node_affinity: bool,
    pub(super) honors_node_taints: bool,
    selector: LabelSelector,
    /// Whether the pod itself is of the kind that is spread.
    pub(super) selects_pod: bool,
}

/// Where the count of a constraint's pods on a node comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum PodCount {
    /// It counts no pod.
    Zero,
    /// The counter of this index.
    Counter(usize),
    /// The pods on the node, one by one: the scalar form.
    Search,
}

/// What the two node policies can ask of a node, judged once for all constraints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inclusion {
    matches_affinity: bool,
    tolerates_taints: bool,
}

// === impl PodCount ===

impl PodCount {
    /// Where the counts of `constraints` come from, as long as the cluster stands still.
    pub(super) fn of_all(
        constraints: &[Constraint],
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
    ) -> Vec<Self> {
        let constraints = constraints.iter();
        constraints
            .map(|constraint| constraint.pod_count(pod, cluster))
            .collect()
    }
}

// === impl Constraint ===

impl Constraint {
    pub(super) fn new(
        constraint: &TopologySpreadConstraint,
        selector: LabelSelector,
        pod: &PodView<'_>,
    ) -> Self {
        Self {
            max_skew: constraint.max_skew,
            topology_key: constraint.topology_key,
            min_domains: constraint.min_domains,
            honors_node_affinity: constraint.honors_node_affinity,
            honors_node_taints: constraint.honors_node_taints,
            selects_pod: selector.matches(pod.labels),
            selector,
        }
    }

    /// Whether pods with these labels are of the kind that is spread.
    pub(super) fn selects(&self, labels: &LabelSet) -> bool {
        self.selector.matches(labels)
    }

    /// An empty selector selects every pod and yet counts none (`countPodsMatchSelector` of 1.37).
    fn counts_nobody(&self) -> bool {
        self.selector.is_everything() || self.selector == LabelSelector::Nothing
    }

    /// What is to be counted for the constraint of `pod`. By node, since which nodes are included
    /// depends on the pod.
    pub(super) fn counted_term(&self, pod: &PodView<'_>) -> Option<CountedTerm> {
        let selector = PodSelector {
            namespaces: Box::from([pod.namespace]),
            namespace_selector: LabelSelector::Nothing,
            labels: self.selector.clone(),
        };
        (!self.counts_nobody()).then(|| CountedTerm {
            all_of: Box::from([selector]),
            domains: Domains::Nodes,
            counts_terminating: false,
        })
    }

    /// Where the count comes from, as long as the cluster stands still.
    pub(super) fn pod_count(&self, pod: &PodView<'_>, cluster: Snapshot<'_>) -> PodCount {
        let Some(term) = self.counted_term(pod) else {
            return PodCount::Zero;
        };
        let index = cluster.topology().counted.index(&term);
        index.map_or(PodCount::Search, PodCount::Counter)
    }

    /// How many pods on `node` the constraint of `pod` counts: of the same namespace, selected,
    /// and not being deleted (`countPodsMatchSelector`).
    pub(super) fn count_on(&self, from: PodCount, pod: &PodView<'_>, node: &NodeView<'_>) -> i64 {
        match from {
            PodCount::Zero => 0,
            PodCount::Counter(index) => {
                let counts = node.cluster().topology().counted.counts(index);
                counts.map_or(0, |counts| counts.get(node.node_name()))
            }
            PodCount::Search => {
                let counts = |other: &PodView<'_>| {
                    other.namespace == pod.namespace
                        && !other.info.is_terminating
                        && self.selects(other.labels)
                };
                i64::try_from(node.pods().filter(counts).count()).unwrap_or(i64::MAX)
            }
        }
    }
}

/// Whether `node` has the label that each constraint spreads over.
pub(super) fn has_all_keys(node: &NodeView<'_>, constraints: &[Constraint]) -> bool {
    constraints
        .iter()
        .all(|constraint| node.label(constraint.topology_key).is_some())
}

// === impl Inclusion ===

impl Inclusion {
    /// Judges what any of `constraints` asks for.
    pub(super) fn of(constraints: &[Constraint], pod: &PodView<'_>, node: &NodeView<'_>) -> Self {
        let any = |honors: fn(&Constraint) -> bool| constraints.iter().any(honors);
        Self {
            matches_affinity: !any(|c| c.honors_node_affinity) || matches_required(pod, node),
            tolerates_taints: !any(|c| c.honors_node_taints) || tolerates_taints(pod, node),
        }
    }

    /// Whether the node is part of the domains of `constraint` (`matchNodeInclusionPolicies`).
    pub(super) fn in_domains_of(self, constraint: &Constraint) -> bool {
        (self.matches_affinity || !constraint.honors_node_affinity)
            && (self.tolerates_taints || !constraint.honors_node_taints)
    }
}
