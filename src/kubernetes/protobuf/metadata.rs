//! `ObjectMeta` and `OwnerReference` (k8s.io/apimachinery, `pkg/apis/meta/v1`).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;
use prost::Message;

use crate::kubernetes::protobuf::annotations::Annotation;
use crate::kubernetes::protobuf::time::{Time, time};
use crate::kubernetes::protobuf::{DecodeError, each, omit_empty};

#[derive(Clone, PartialEq, Message)]
pub(super) struct ObjectMeta {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    generate_name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(int64, tag = "7")]
    generation: i64,
    #[prost(message, optional, tag = "8")]
    creation_timestamp: Option<Time>,
    #[prost(message, optional, tag = "9")]
    deletion_timestamp: Option<Time>,
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "12")]
    annotations: Vec<Annotation>,
    #[prost(message, repeated, tag = "13")]
    owner_references: Vec<OwnerReference>,
}

#[derive(Clone, PartialEq, Message)]
struct OwnerReference {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    uid: String,
    #[prost(string, tag = "5")]
    api_version: String,
    #[prost(bool, optional, tag = "6")]
    controller: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    block_owner_deletion: Option<bool>,
}

/// Any object.
#[derive(Clone, PartialEq, Message)]
struct Identified {
    #[prost(message, optional, tag = "1")]
    metadata: Option<Identity>,
}

#[derive(Clone, PartialEq, Message)]
struct Identity {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
}

/// The name, namespace, UID and version in the message of an object, as far as they can be read
/// even if the whole cannot.
pub fn identity(message: &[u8]) -> api::ObjectMeta {
    let mut object = Identified::default();
    // What was read before the error stays.
    let _ = object.merge(message);
    let identity = object.metadata.unwrap_or_default();
    api::ObjectMeta {
        name: omit_empty(identity.name),
        namespace: omit_empty(identity.namespace),
        uid: omit_empty(identity.uid),
        resource_version: omit_empty(identity.resource_version),
        ..api::ObjectMeta::default()
    }
}

impl TryFrom<ObjectMeta> for api::ObjectMeta {
    type Error = DecodeError;

    fn try_from(metadata: ObjectMeta) -> Result<Self, DecodeError> {
        let annotations = metadata.annotations.into_iter();
        let kept: BTreeMap<_, _> = annotations.filter_map(Annotation::kept).collect();
        Ok(Self {
            name: omit_empty(metadata.name),
            generate_name: omit_empty(metadata.generate_name),
            namespace: omit_empty(metadata.namespace),
            uid: omit_empty(metadata.uid),
            resource_version: omit_empty(metadata.resource_version),
            generation: omit_empty(metadata.generation),
            creation_timestamp: time(metadata.creation_timestamp)?,
            deletion_timestamp: time(metadata.deletion_timestamp)?,
            labels: omit_empty(metadata.labels),
            annotations: omit_empty(kept),
            owner_references: omit_empty(each(metadata.owner_references)),
            ..Self::default()
        })
    }
}

impl From<OwnerReference> for api::OwnerReference {
    fn from(reference: OwnerReference) -> Self {
        Self {
            api_version: reference.api_version,
            block_owner_deletion: reference.block_owner_deletion,
            controller: reference.controller,
            kind: reference.kind,
            name: reference.name,
            uid: reference.uid,
        }
    }
}
