//! `NodeAffinity`: node selector, required and preferred node affinity, and the affinity that the
//! profile adds to every pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterScope, FilterVerdict, MAX_NODE_SCORE,
    PreFilterPlugin, PreFilterVerdict, PreScorePlugin, PreScoreVerdict, ScorePlugin,
    default_normalize,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginError,
    PluginName, QueueingHint, Rejection,
};
use crate::model::node_class::HOSTNAME_LABEL;
use crate::model::node_selector::{
    NodeLabels, NodeSelectorTerm, PreferredTerm, any_term_matches, parse_error,
};
use crate::model::symbols::{Symbol, SymbolScope};

pub(crate) const NAME: &str = "NodeAffinity";
pub(crate) const REASON_POD: &str = "node(s) didn't match Pod's node affinity/selector";
pub(crate) const REASON_ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
pub(crate) const REASON_CONFLICT: &str = "pod affinity terms conflict";

/// The plugin with the affinity that its profile adds.
#[derive(Debug)]
pub(crate) struct NodeAffinity {
    added_required: Option<Box<[NodeSelectorTerm]>>,
    added_preferred: Box<[PreferredTerm]>,
    hostname: Symbol,
}

impl NodeAffinity {
    /// Fails on a term that cannot be parsed, with the text why.
    pub(crate) fn try_new(
        added: Option<&v1::NodeAffinity>,
        scope: &mut SymbolScope<'_>,
    ) -> Result<Self, String> {
        let required = added
            .and_then(|a| {
                a.required_during_scheduling_ignored_during_execution
                    .as_ref()
            })
            .map(|s| NodeSelectorTerm::compile_all(&s.node_selector_terms, scope));
        let preferred: Box<[PreferredTerm]> = added
            .and_then(|a| {
                a.preferred_during_scheduling_ignored_during_execution
                    .as_ref()
            })
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, term)| PreferredTerm {
                weight: term.weight,
                term: NodeSelectorTerm::compile(&term.preference, index, scope),
            })
            .collect();
        let terms = required
            .iter()
            .flatten()
            .chain(preferred.iter().map(|p| &p.term));
        if let Some(error) = parse_error(terms) {
            return Err(format!("addedAffinity: {error}"));
        }
        Ok(Self {
            added_required: required,
            added_preferred: preferred,
            hostname: scope.intern(HOSTNAME_LABEL),
        })
    }

    fn matches_added(&self, node: &NodeView<'_>) -> bool {
        self.added_required
            .as_ref()
            .is_none_or(|terms| any_term_matches(terms, node))
    }
}

/// Whether node selector and required affinity of the pod match the node
/// (`RequiredNodeAffinity.Match`).
pub(crate) fn matches_required(pod: &PodView<'_>, node: &impl NodeLabels) -> bool {
    pod.class
        .node_selector
        .iter()
        .all(|&(key, value)| node.label(key) == Some(value))
        && pod
            .class
            .required_terms
            .as_ref()
            .is_none_or(|terms| any_term_matches(terms, node))
}

impl Plugin for NodeAffinity {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for NodeAffinity {
    /// Nothing is kept of a pod that names its nodes: only these are looked at.
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        (!names_its_nodes(pod)).then(Vec::new)
    }

    fn normalizes(&self) -> bool {
        true
    }
}

impl PreFilterPlugin for NodeAffinity {
    /// The fast path: when every term pins nodes by name, no other node is looked at.
    fn pre_filter(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        let Some(terms) = &pod.class.required_terms else {
            return if self.added_required.is_none() && pod.class.node_selector.is_empty() {
                PreFilterVerdict::Skip
            } else {
                PreFilterVerdict::Proceed
            };
        };
        if !names_its_nodes(pod) {
            return PreFilterVerdict::Proceed;
        }
        let names: BTreeSet<Arc<str>> = terms
            .iter()
            .flat_map(pinned_nodes)
            .map(|name| pod.symbols.shared_text(name))
            .collect();
        if names.is_empty() {
            PreFilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON_CONFLICT))
        } else {
            PreFilterVerdict::Nodes(names)
        }
    }
}

/// Whether every term of the required affinity lists names of nodes.
fn names_its_nodes(pod: &PodView<'_>) -> bool {
    let terms = pod.class.required_terms.as_deref().unwrap_or_default();
    !terms.is_empty() && terms.iter().all(|term| !term.pinned_names.is_empty())
}

/// The names that every list of the term allows.
fn pinned_nodes(term: &NodeSelectorTerm) -> Vec<Symbol> {
    let [first, others @ ..] = &*term.pinned_names else {
        return Vec::new();
    };
    let in_all = |name: &&Symbol| others.iter().all(|list| list.contains(name));
    first.iter().filter(in_all).copied().collect()
}

impl FilterPlugin for NodeAffinity {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        if !self.matches_added(node) {
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON_ENFORCED))
        } else if matches_required(pod, node) {
            FilterVerdict::Fits
        } else {
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON_POD))
        }
    }

    fn scope(&self, pod: &PodView<'_>) -> FilterScope {
        let terms = pod.class.required_terms.iter().flatten();
        let reads_one_node = terms
            .chain(self.added_required.iter().flatten())
            .any(|term| term.reads_name() || term.reads_label(self.hostname))
            || pod
                .class
                .node_selector
                .iter()
                .any(|&(key, _)| key == self.hostname);
        if reads_one_node {
            FilterScope::Node
        } else {
            FilterScope::NodeClass
        }
    }
}

impl PreScorePlugin for NodeAffinity {
    fn pre_score(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &[NodeView<'_>],
    ) -> PreScoreVerdict {
        let terms = pod
            .class
            .preferred_terms
            .iter()
            .filter(|preferred| counts(preferred))
            .map(|preferred| &preferred.term);
        if let Some(message) = parse_error(terms) {
            return PreScoreVerdict::Failed(PluginError {
                plugin: NAME,
                message,
            });
        }
        if pod.class.preferred_terms.is_empty() && self.added_preferred.is_empty() {
            PreScoreVerdict::Skip
        } else {
            PreScoreVerdict::Proceed
        }
    }
}

/// Terms of weight 0 and empty terms are dropped before parsing (`NewPreferredSchedulingTerms`).
fn counts(preferred: &PreferredTerm) -> bool {
    preferred.weight != 0 && !preferred.term.is_empty
}

impl ScorePlugin for NodeAffinity {
    /// The sum of the weights of the preferred terms that match.
    fn score(
        &self,
        _: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let terms = self
            .added_preferred
            .iter()
            .chain(&pod.class.preferred_terms);
        Ok(terms
            .filter(|preferred| counts(preferred) && preferred.term.matches(node))
            .map(|preferred| i64::from(preferred.weight))
            .sum())
    }

    fn normalize(
        &self,
        _: &CycleState,
        _: &PodView<'_>,
        _: &[NodeView<'_>],
        scores: &mut [i64],
    ) -> Result<(), PluginError> {
        default_normalize(MAX_NODE_SCORE, false, scores);
        Ok(())
    }
}

impl EnqueueExtensions for NodeAffinity {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 1] = [ClusterEventKind::new(
            EventResource::Node,
            ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL),
        )];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Class
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        QueueingHint::queue_if(
            change
                .node
                .as_ref()
                .is_some_and(|node| self.matches_added(node) && matches_required(pod, node)),
        )
    }
}

#[cfg(test)]
mod tests;
