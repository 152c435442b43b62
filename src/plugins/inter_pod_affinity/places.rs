//! How nodes are told apart by the domains in which they lie.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::CycleState;
use crate::engine::framework::class_plugin::{ClassPlugin, Places, domain_number};
use crate::model::node_selector::NodeLabels;
use crate::model::symbols::Symbol;
use crate::plugins::inter_pod_affinity::InterPodAffinity;
use crate::plugins::inter_pod_affinity::filtering::Filtering;
use crate::plugins::inter_pod_affinity::scoring::Scoring;
use crate::plugins::inter_pod_affinity::terms;

/// Nodes are told apart by their domains, and where a domain is one node by what is counted there.
#[derive(Debug)]
struct AffinityPlaces {
    plugin: InterPodAffinity,
    hostname: Symbol,
    /// The keys that filters read, then those that scores read; none before the first attempt.
    keys: Option<[Vec<Symbol>; 2]>,
}

impl ClassPlugin for InterPodAffinity {
    /// Selectors may look at the labels of namespaces.
    fn inputs(&self, pod: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Vec<u64>> {
        let is_valid = pod.class.affinity.invalid.is_none();
        is_valid.then(|| vec![cluster.topology().namespaces.generation()])
    }

    /// Whether the pod meets its own affinity, and which terms of other pods select it.
    fn outcome_of_labels(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
        outcome: &mut Vec<u64>,
    ) {
        let own = &pod.class.affinity.required;
        outcome.push(u64::from(terms::all_select(own, pod, *cluster)));
        let first = outcome.len();
        outcome.extend(terms::selecting(pod, *cluster).map(|term| term.serial));
        outcome[first..].sort_unstable();
    }

    fn normalizes(&self) -> bool {
        true
    }

    fn places(&self, _: &PodView<'_>, cluster: &Snapshot<'_>) -> Option<Box<dyn Places>> {
        Some(Box::new(AffinityPlaces {
            plugin: *self,
            hostname: cluster.vocabulary().hostname_label(),
            keys: None,
        }))
    }
}

impl Places for AffinityPlaces {
    fn provide(
        &mut self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> bool {
        let filtering = Filtering::of(pod, *cluster);
        let scoring = Scoring::of(&self.plugin, pod, *cluster);
        let (Some(filtering), Ok(scoring)) = (filtering, scoring) else {
            return false;
        };
        let keys = [
            filtering.topology_keys().collect(),
            scoring.topology_keys().collect(),
        ];
        let is_current = self.keys.as_ref().is_none_or(|known| *known == keys);
        self.keys = Some(keys);
        state.write(filtering);
        state.write(scoring);
        is_current
    }

    fn withdraw(&self, state: &mut CycleState) {
        state.remove::<Filtering>();
        state.remove::<Scoring>();
    }

    fn keys(&self) -> Option<Vec<Symbol>> {
        let keys = self.keys.iter().flatten().flatten();
        let keys: Vec<Symbol> = keys.copied().collect();
        (!keys.contains(&self.hostname)).then_some(keys)
    }

    fn place(
        &self,
        state: &CycleState,
        _: &PodView<'_>,
        node: &NodeView<'_>,
        place: &mut Vec<i64>,
    ) {
        if self.keys.iter().flatten().all(Vec::is_empty) {
            return;
        }
        let domain = |key: Symbol| domain_number(node.label(key));
        if let Some(filtering) = state.read::<Filtering>() {
            for (key, count) in filtering.topology_keys().zip(filtering.counts_at(node)) {
                place.push(match count {
                    Some(count) if key == self.hostname => i64::from(count > 0),
                    _ => domain(key),
                });
            }
        }
        if let Some(scoring) = state.read::<Scoring>() {
            for (key, score) in scoring.topology_keys().zip(scoring.scores_at(node)) {
                place.push(match score {
                    Some(score) if key == self.hostname => score,
                    _ => domain(key),
                });
            }
        }
    }
}
