//! Terms as they are counted, and whether they select a pod.

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::cache::topology::carried_terms::Candidate;
use crate::engine::cache::topology::counted_terms::{CountedTerm, Domains};
use crate::model::label_set::LabelSet;
use crate::model::pod_affinity::{AffinityTerm, PodAffinity, PodSelector};

/// The pods that one term selects, by domain.
pub(super) fn single(term: &AffinityTerm) -> CountedTerm {
    CountedTerm {
        all_of: Box::from([term.selector.clone()]),
        domains: Domains::Label(term.topology_key),
        counts_terminating: true,
    }
}

/// The pods that every term of required affinity selects, by the domains of each term: only a pod
/// that meets all of them counts for any.
pub(super) fn required(affinity: &PodAffinity) -> impl Iterator<Item = CountedTerm> + '_ {
    let mut selectors: Vec<PodSelector> = affinity
        .required
        .iter()
        .map(|term| term.selector.clone())
        .collect();
    selectors.sort_unstable();
    selectors.dedup();
    let all_of = selectors.into_boxed_slice();
    affinity.required.iter().map(move |term| CountedTerm {
        all_of: all_of.clone(),
        domains: Domains::Label(term.topology_key),
        counts_terminating: true,
    })
}

/// Whether `term` selects `pod` (`AffinityTerm.Matches`).
pub(super) fn selects(term: &AffinityTerm, pod: &PodView<'_>, cluster: Snapshot<'_>) -> bool {
    let labels = cluster.namespace_labels(pod.namespace);
    term.selector.selects_namespace(pod.namespace, labels)
        && term.selector.labels.matches(pod.labels)
}

/// Whether there are terms and all of them select `pod` (`podMatchesAllAffinityTerms`).
pub(super) fn all_select(terms: &[AffinityTerm], pod: &PodView<'_>, cluster: Snapshot<'_>) -> bool {
    !terms.is_empty() && terms.iter().all(|term| selects(term, pod, cluster))
}

/// Whether a term of another pod selects the pod in question. A namespace that is not known counts
/// as one without labels (`GetNamespaceLabelsSnapshot`).
pub(super) fn selects_incoming(
    term: &AffinityTerm,
    pod: &PodView<'_>,
    cluster: Snapshot<'_>,
) -> bool {
    let unknown = LabelSet::default();
    let labels = cluster.namespace_labels(pod.namespace).unwrap_or(&unknown);
    term.selector.selects_namespace(pod.namespace, Some(labels))
        && term.selector.labels.matches(pod.labels)
}

/// The terms of pods on nodes that select the pod in question.
pub(super) fn selecting<'a>(
    pod: &'a PodView<'a>,
    cluster: Snapshot<'a>,
) -> impl Iterator<Item = Candidate<'a>> {
    let carried = &cluster.topology().carried;
    let candidates = carried.candidates(pod.namespace, pod.labels);
    candidates.filter(move |term| selects_incoming(&term.carried.term, pod, cluster))
}
