//! Terms of affinity that pods carry, as texts.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodAffinityTerm;

use crate::engine::audit::selector::{form, form_of_object, text};
use crate::engine::cache::topology::carried_terms::{CarriedKind, CarriedTerm};
use crate::model::objects::Pod;
use crate::model::symbols::Symbols;

/// A term: its form, and the label whose values are the domains.
pub(super) type Term = (String, String);

/// The term as the engine keeps it.
pub(super) fn of_engine(carried: &CarriedTerm, symbols: &Symbols) -> Term {
    let selector = &carried.term.selector;
    let names = selector.namespaces.iter();
    let names: BTreeSet<&str> = names.map(|name| text(*name, symbols)).collect();
    let form = written(
        carried.kind,
        carried.weight,
        &names,
        &form(&selector.namespace_selector, symbols),
        &form(&selector.labels, symbols),
    );
    (form, text(carried.term.topology_key, symbols).to_owned())
}

/// The terms that the object of a pod has.
pub(super) fn of_pod(pod: &Pod) -> Vec<Term> {
    let Some(affinity) = &pod.spec.affinity else {
        return Vec::new();
    };
    let mut terms = Vec::new();
    let mut add =
        |kind, weight, term: &PodAffinityTerm| terms.push(of_object(kind, weight, term, pod));
    if let Some(to) = &affinity.pod_affinity {
        for term in to
            .required_during_scheduling_ignored_during_execution
            .iter()
            .flatten()
        {
            add(CarriedKind::Required, 0, term);
        }
        for weighted in to
            .preferred_during_scheduling_ignored_during_execution
            .iter()
            .flatten()
        {
            add(
                CarriedKind::Preferred,
                weighted.weight,
                &weighted.pod_affinity_term,
            );
        }
    }
    if let Some(from) = &affinity.pod_anti_affinity {
        for term in from
            .required_during_scheduling_ignored_during_execution
            .iter()
            .flatten()
        {
            add(CarriedKind::RequiredAnti, 0, term);
        }
        for weighted in from
            .preferred_during_scheduling_ignored_during_execution
            .iter()
            .flatten()
        {
            add(
                CarriedKind::PreferredAnti,
                weighted.weight,
                &weighted.pod_affinity_term,
            );
        }
    }
    terms
}

fn of_object(kind: CarriedKind, weight: i32, term: &PodAffinityTerm, pod: &Pod) -> Term {
    let mut names: BTreeSet<&str> = term
        .namespaces
        .iter()
        .flatten()
        .map(|name| &**name)
        .collect();
    if names.is_empty() && term.namespace_selector.is_none() {
        names.insert(pod.metadata.namespace.as_deref().unwrap_or_default());
    }
    let form = written(
        kind,
        i64::from(weight),
        &names,
        &form_of_object(term.namespace_selector.as_ref()),
        &form_of_object(term.label_selector.as_ref()),
    );
    (form, term.topology_key.clone())
}

fn written(
    kind: CarriedKind,
    weight: i64,
    names: &BTreeSet<&str>,
    namespaces: &str,
    labels: &str,
) -> String {
    format!("{kind:?} {weight} in {names:?} or [{namespaces}]: [{labels}]")
}
