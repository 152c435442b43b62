//! `Affinity` and what it consists of (k8s.io/api, `core/v1`).

use k8s_openapi::api::core::v1 as api;
use prost::Message;

use crate::kubernetes::protobuf::selector::{LabelSelector, SelectorRequirement};
use crate::kubernetes::protobuf::{each, omit_empty};

#[derive(Clone, PartialEq, Message)]
pub(super) struct Affinity {
    #[prost(message, optional, tag = "1")]
    node: Option<NodeAffinity>,
    #[prost(message, optional, tag = "2")]
    pod: Option<PodAffinity>,
    #[prost(message, optional, tag = "3")]
    pod_anti: Option<PodAffinity>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeAffinity {
    #[prost(message, optional, tag = "1")]
    required: Option<NodeSelector>,
    #[prost(message, repeated, tag = "2")]
    preferred: Vec<PreferredSchedulingTerm>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeSelector {
    #[prost(message, repeated, tag = "1")]
    node_selector_terms: Vec<NodeSelectorTerm>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeSelectorTerm {
    #[prost(message, repeated, tag = "1")]
    match_expressions: Vec<SelectorRequirement>,
    #[prost(message, repeated, tag = "2")]
    match_fields: Vec<SelectorRequirement>,
}

#[derive(Clone, PartialEq, Message)]
struct PreferredSchedulingTerm {
    #[prost(int32, tag = "1")]
    weight: i32,
    #[prost(message, optional, tag = "2")]
    preference: Option<NodeSelectorTerm>,
}

/// `PodAffinity` and `PodAntiAffinity`, which are alike.
#[derive(Clone, PartialEq, Message)]
struct PodAffinity {
    #[prost(message, repeated, tag = "1")]
    required: Vec<PodAffinityTerm>,
    #[prost(message, repeated, tag = "2")]
    preferred: Vec<WeightedPodAffinityTerm>,
}

#[derive(Clone, PartialEq, Message)]
struct PodAffinityTerm {
    #[prost(message, optional, tag = "1")]
    label_selector: Option<LabelSelector>,
    #[prost(string, repeated, tag = "2")]
    namespaces: Vec<String>,
    #[prost(string, tag = "3")]
    topology_key: String,
    #[prost(message, optional, tag = "4")]
    namespace_selector: Option<LabelSelector>,
    #[prost(string, repeated, tag = "5")]
    match_label_keys: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    mismatch_label_keys: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct WeightedPodAffinityTerm {
    #[prost(int32, tag = "1")]
    weight: i32,
    #[prost(message, optional, tag = "2")]
    pod_affinity_term: Option<PodAffinityTerm>,
}

impl From<Affinity> for api::Affinity {
    fn from(affinity: Affinity) -> Self {
        Self {
            node_affinity: affinity.node.map(Into::into),
            pod_affinity: affinity.pod.map(Into::into),
            pod_anti_affinity: affinity.pod_anti.map(Into::into),
        }
    }
}

impl From<NodeAffinity> for api::NodeAffinity {
    fn from(affinity: NodeAffinity) -> Self {
        Self {
            preferred_during_scheduling_ignored_during_execution: omit_empty(each(
                affinity.preferred,
            )),
            required_during_scheduling_ignored_during_execution: affinity.required.map(Into::into),
        }
    }
}

impl From<NodeSelector> for api::NodeSelector {
    fn from(selector: NodeSelector) -> Self {
        Self {
            node_selector_terms: each(selector.node_selector_terms),
        }
    }
}

impl From<NodeSelectorTerm> for api::NodeSelectorTerm {
    fn from(term: NodeSelectorTerm) -> Self {
        Self {
            match_expressions: omit_empty(each(term.match_expressions)),
            match_fields: omit_empty(each(term.match_fields)),
        }
    }
}

impl From<SelectorRequirement> for api::NodeSelectorRequirement {
    fn from(requirement: SelectorRequirement) -> Self {
        Self {
            key: requirement.key,
            operator: requirement.operator,
            values: omit_empty(requirement.values),
        }
    }
}

impl From<PreferredSchedulingTerm> for api::PreferredSchedulingTerm {
    fn from(term: PreferredSchedulingTerm) -> Self {
        Self {
            preference: term.preference.unwrap_or_default().into(),
            weight: term.weight,
        }
    }
}

impl From<PodAffinity> for api::PodAffinity {
    fn from(affinity: PodAffinity) -> Self {
        Self {
            preferred_during_scheduling_ignored_during_execution: omit_empty(each(
                affinity.preferred,
            )),
            required_during_scheduling_ignored_during_execution: omit_empty(each(
                affinity.required,
            )),
        }
    }
}

impl From<PodAffinity> for api::PodAntiAffinity {
    fn from(affinity: PodAffinity) -> Self {
        let alike = api::PodAffinity::from(affinity);
        Self {
            preferred_during_scheduling_ignored_during_execution: alike
                .preferred_during_scheduling_ignored_during_execution,
            required_during_scheduling_ignored_during_execution: alike
                .required_during_scheduling_ignored_during_execution,
        }
    }
}

impl From<PodAffinityTerm> for api::PodAffinityTerm {
    fn from(term: PodAffinityTerm) -> Self {
        Self {
            label_selector: term.label_selector.map(Into::into),
            match_label_keys: omit_empty(term.match_label_keys),
            mismatch_label_keys: omit_empty(term.mismatch_label_keys),
            namespace_selector: term.namespace_selector.map(Into::into),
            namespaces: omit_empty(term.namespaces),
            topology_key: term.topology_key,
        }
    }
}

impl From<WeightedPodAffinityTerm> for api::WeightedPodAffinityTerm {
    fn from(term: WeightedPodAffinityTerm) -> Self {
        Self {
            pod_affinity_term: term.pod_affinity_term.unwrap_or_default().into(),
            weight: term.weight,
        }
    }
}
