//! `Toleration` and `TopologySpreadConstraint` (k8s.io/api, `core/v1`).

use k8s_openapi::api::core::v1 as api;
use prost::Message;

use crate::kubernetes::protobuf::omit_empty;
use crate::kubernetes::protobuf::selector::LabelSelector;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Toleration {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    operator: String,
    #[prost(string, tag = "3")]
    value: String,
    #[prost(string, tag = "4")]
    effect: String,
    #[prost(int64, optional, tag = "5")]
    seconds: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TopologySpreadConstraint {
    #[prost(int32, tag = "1")]
    max_skew: i32,
    #[prost(string, tag = "2")]
    topology_key: String,
    #[prost(string, tag = "3")]
    when_unsatisfiable: String,
    #[prost(message, optional, tag = "4")]
    label_selector: Option<LabelSelector>,
    #[prost(int32, optional, tag = "5")]
    min_domains: Option<i32>,
    #[prost(string, optional, tag = "6")]
    node_affinity_policy: Option<String>,
    #[prost(string, optional, tag = "7")]
    node_taints_policy: Option<String>,
    #[prost(string, repeated, tag = "8")]
    match_label_keys: Vec<String>,
}

impl From<Toleration> for api::Toleration {
    fn from(toleration: Toleration) -> Self {
        Self {
            effect: omit_empty(toleration.effect),
            key: omit_empty(toleration.key),
            operator: omit_empty(toleration.operator),
            toleration_seconds: toleration.seconds,
            value: omit_empty(toleration.value),
        }
    }
}

impl From<TopologySpreadConstraint> for api::TopologySpreadConstraint {
    fn from(constraint: TopologySpreadConstraint) -> Self {
        Self {
            label_selector: constraint.label_selector.map(Into::into),
            match_label_keys: omit_empty(constraint.match_label_keys),
            max_skew: constraint.max_skew,
            min_domains: constraint.min_domains,
            node_affinity_policy: constraint.node_affinity_policy,
            node_taints_policy: constraint.node_taints_policy,
            topology_key: constraint.topology_key,
            when_unsatisfiable: constraint.when_unsatisfiable,
        }
    }
}
