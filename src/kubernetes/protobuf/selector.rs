//! `LabelSelector` (k8s.io/apimachinery, `pkg/apis/meta/v1`).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;
use prost::Message;

use crate::kubernetes::protobuf::{each, omit_empty};

#[derive(Clone, PartialEq, Message)]
pub(super) struct LabelSelector {
    #[prost(btree_map = "string, string", tag = "1")]
    match_labels: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "2")]
    match_expressions: Vec<SelectorRequirement>,
}

/// `LabelSelectorRequirement` and `NodeSelectorRequirement`, which are alike.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SelectorRequirement {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) operator: String,
    #[prost(string, repeated, tag = "3")]
    pub(super) values: Vec<String>,
}

impl From<LabelSelector> for api::LabelSelector {
    fn from(selector: LabelSelector) -> Self {
        Self {
            match_expressions: omit_empty(each(selector.match_expressions)),
            match_labels: omit_empty(selector.match_labels),
        }
    }
}

impl From<SelectorRequirement> for api::LabelSelectorRequirement {
    fn from(requirement: SelectorRequirement) -> Self {
        Self {
            key: requirement.key,
            operator: requirement.operator,
            values: omit_empty(requirement.values),
        }
    }
}
