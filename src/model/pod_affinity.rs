//! Affinity and anti-affinity between pods, compiled (`framework.AffinityTerm`).

use k8s_openapi::api::core::v1;
use thiserror::Error;

use crate::model::field_error::aggregate;
use crate::model::label_selector::{InvalidSelector, LabelSelector};
use crate::model::label_set::LabelSet;
use crate::model::symbols::{Symbol, SymbolScope};

/// Which pods, by namespace and labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSelector {
    /// Namespaces by name, sorted.
    pub namespaces: Box<[Symbol]>,
    /// Namespaces by label, in addition.
    pub namespace_selector: LabelSelector,
    /// Labels of the pods.
    pub labels: LabelSelector,
}

/// Pods that are to be, or not to be, in the same domain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AffinityTerm {
    /// Which pods.
    pub selector: PodSelector,
    /// The node label whose values are the domains.
    pub topology_key: Symbol,
}

/// A preferred term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WeightedAffinityTerm {
    /// 1 to 100 in a valid object.
    pub weight: i64,
    /// The term.
    pub term: AffinityTerm,
}

/// The affinity of a pod to other pods. A list with a term that cannot be read is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodAffinity {
    /// `podAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
    pub required: Box<[AffinityTerm]>,
    /// `podAffinity.preferredDuringSchedulingIgnoredDuringExecution`.
    pub preferred: Box<[WeightedAffinityTerm]>,
    /// `podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
    pub required_anti: Box<[AffinityTerm]>,
    /// `podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`.
    pub preferred_anti: Box<[WeightedAffinityTerm]>,
    /// Why lists cannot be read: such a pod is not placed.
    pub invalid: Option<InvalidAffinity>,
}

/// Affinity that the API server would have refused; in upstream's words (`NewPodInfo`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("{0}")]
pub struct InvalidAffinity(Box<str>);

// === impl PodSelector ===

impl PodSelector {
    /// Whether the pods of a namespace are meant. `namespace_labels` are `None` if the namespace
    /// is not known.
    pub fn selects_namespace(&self, namespace: Symbol, labels: Option<&LabelSet>) -> bool {
        self.namespaces.binary_search(&namespace).is_ok()
            || self.namespace_selector.is_everything()
            || labels.is_some_and(|labels| self.namespace_selector.matches(labels))
    }

    /// Whether no namespace is meant but those that are named.
    pub fn names_all_namespaces(&self) -> bool {
        self.namespace_selector == LabelSelector::Nothing
    }

    /// Whether the labels of namespaces are looked at.
    pub fn reads_namespace_labels(&self) -> bool {
        !self.namespace_selector.requirements().is_empty()
    }

    /// Every symbol in the selector.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let names = self.namespaces.iter().copied();
        names
            .chain(self.namespace_selector.symbols())
            .chain(self.labels.symbols())
    }
}

// === impl AffinityTerm ===

impl AffinityTerm {
    /// Compiles a term of a pod in `namespace`. Without namespaces and selector it means that
    /// namespace.
    fn compile(
        term: &v1::PodAffinityTerm,
        namespace: Symbol,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Self, InvalidSelector> {
        let named = term.namespaces.as_deref().unwrap_or_default();
        let mut namespaces: Vec<Symbol> = named.iter().map(|name| scope.intern(name)).collect();
        if named.is_empty() && term.namespace_selector.is_none() {
            namespaces.push(namespace);
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        Ok(Self {
            selector: PodSelector {
                namespaces: namespaces.into_boxed_slice(),
                namespace_selector: LabelSelector::compile(
                    term.namespace_selector.as_ref(),
                    scope,
                )?,
                labels: LabelSelector::compile(term.label_selector.as_ref(), scope)?,
            },
            topology_key: scope.intern(&term.topology_key),
        })
    }

    fn compile_all(
        terms: Option<&Vec<v1::PodAffinityTerm>>,
        namespace: Symbol,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Box<[Self]>, InvalidSelector> {
        let terms = terms.into_iter().flatten();
        terms
            .map(|term| Self::compile(term, namespace, scope))
            .collect()
    }
}

// === impl WeightedAffinityTerm ===

impl WeightedAffinityTerm {
    fn compile_all(
        terms: Option<&Vec<v1::WeightedPodAffinityTerm>>,
        namespace: Symbol,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Box<[Self]>, InvalidSelector> {
        let terms = terms.into_iter().flatten();
        terms
            .map(|weighted| {
                Ok(Self {
                    weight: i64::from(weighted.weight),
                    term: AffinityTerm::compile(&weighted.pod_affinity_term, namespace, scope)?,
                })
            })
            .collect()
    }
}

// === impl PodAffinity ===

impl PodAffinity {
    /// Compiles the affinity of a pod in `namespace`. `matchLabelKeys` were merged into the
    /// selectors by the API server (KEP-3633).
    pub fn compile(
        affinity: &v1::Affinity,
        namespace: Symbol,
        scope: &mut SymbolScope<'_>,
    ) -> Self {
        let (to, from) = (&affinity.pod_affinity, &affinity.pod_anti_affinity);
        let required = to.as_ref().and_then(|a| {
            a.required_during_scheduling_ignored_during_execution
                .as_ref()
        });
        let preferred = to.as_ref().and_then(|a| {
            a.preferred_during_scheduling_ignored_during_execution
                .as_ref()
        });
        let required_anti = from.as_ref().and_then(|a| {
            a.required_during_scheduling_ignored_during_execution
                .as_ref()
        });
        let preferred_anti = from.as_ref().and_then(|a| {
            a.preferred_during_scheduling_ignored_during_execution
                .as_ref()
        });
        let mut errors = Vec::new();
        let required = AffinityTerm::compile_all(required, namespace, scope);
        let required_anti = AffinityTerm::compile_all(required_anti, namespace, scope);
        let preferred = WeightedAffinityTerm::compile_all(preferred, namespace, scope);
        let preferred_anti = WeightedAffinityTerm::compile_all(preferred_anti, namespace, scope);
        let mut affinity = Self {
            required: readable(required, "requiredAffinityTerms", &mut errors),
            required_anti: readable(required_anti, "requiredAntiAffinityTerms", &mut errors),
            preferred: readable(preferred, "preferredAffinityTerms", &mut errors),
            preferred_anti: readable(preferred_anti, "preferredAntiAffinityTerms", &mut errors),
            invalid: None,
        };
        if !errors.is_empty() {
            let text = aggregate(errors.iter().map(String::as_str));
            affinity.invalid = Some(InvalidAffinity(text.into()));
        }
        affinity
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty()
            && self.preferred.is_empty()
            && self.required_anti.is_empty()
            && self.preferred_anti.is_empty()
            && self.invalid.is_none()
    }
}

/// The terms of a list; none, and an error more, if one of them cannot be read.
fn readable<T>(
    terms: Result<Box<[T]>, InvalidSelector>,
    list: &str,
    errors: &mut Vec<String>,
) -> Box<[T]> {
    terms.unwrap_or_else(|error| {
        errors.push(format!("{list}: {error}"));
        Box::default()
    })
}
