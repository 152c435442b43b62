//! Objects that Bayplan writes for each pod: `Binding` (k8s.io/api, `core/v1`) and `Event`
//! (`events/v1`), in the protobuf that client-go writes as well. Their field numbers are those of
//! `generated.proto` in k8s.io/api and k8s.io/apimachinery v0.37 and never change.

use std::collections::BTreeMap;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Request};
use prost::Message;

use crate::kubernetes::clock;
use crate::kubernetes::protobuf::envelope::{MAGIC, TypeMeta, Unknown};
use crate::model::timestamp::Timestamp;

/// What an answer may be: what stands between here and the API server may know no protobuf.
const ANSWERS: &str = "application/vnd.kubernetes.protobuf,application/json";

/// An object that can be written.
pub trait Written: Message {
    /// Group and version.
    const API_VERSION: &'static str;
    /// The name of the kind.
    const KIND: &'static str;
}

/// Puts a pod on a node.
#[derive(Clone, PartialEq, Message)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Binding {
    /// The pod; its UID is the condition.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    /// The node.
    #[prost(message, optional, tag = "2")]
    pub target: Option<ObjectReference>,
}

/// Tells of a pod.
#[derive(Clone, PartialEq, Message)]
#[cfg_attr(test, derive(serde::Serialize), serde(rename_all = "camelCase"))]
pub struct Event {
    /// The event's own name and namespace.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    /// When it happened.
    #[prost(message, optional, tag = "2")]
    pub event_time: Option<MicroTime>,
    /// The scheduler that says so.
    #[prost(string, tag = "4")]
    pub reporting_controller: String,
    /// The replica that says so.
    #[prost(string, tag = "5")]
    pub reporting_instance: String,
    /// What was done.
    #[prost(string, tag = "6")]
    pub action: String,
    /// Why.
    #[prost(string, tag = "7")]
    pub reason: String,
    /// The pod.
    #[prost(message, optional, tag = "8")]
    pub regarding: Option<ObjectReference>,
    /// Another pod that has to do with it.
    #[prost(message, optional, tag = "9")]
    pub related: Option<ObjectReference>,
    /// A sentence for people.
    #[prost(string, tag = "10")]
    pub note: String,
    /// `Normal` or `Warning`.
    #[prost(string, tag = "11")]
    pub r#type: String,
}

/// What is said of an object that is written, of `ObjectMeta`.
#[derive(Clone, PartialEq, Message)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Metadata {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its namespace.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// The UID that it must have, if any.
    #[prost(string, tag = "5")]
    pub uid: String,
    /// Its annotations.
    #[prost(btree_map = "string, string", tag = "12")]
    pub annotations: BTreeMap<String, String>,
}

/// Names another object.
#[derive(Clone, PartialEq, Message)]
#[cfg_attr(test, derive(serde::Serialize), serde(rename_all = "camelCase"))]
pub struct ObjectReference {
    /// The name of its kind.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// Its namespace, empty if it is in none.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Its name.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Its UID, empty if it may be any.
    #[prost(string, tag = "4")]
    pub uid: String,
    /// Its group and version.
    #[prost(string, tag = "5")]
    pub api_version: String,
}

/// A time in microseconds.
#[derive(Clone, Copy, PartialEq, Message)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct MicroTime {
    /// Since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// In whole microseconds.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// Makes `request` one with `object` in its body.
pub fn with_body<T: Written>(request: Request<()>, object: &T) -> Request<Vec<u8>> {
    let mut request = request.map(|()| body(object));
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(super::LIST));
    headers.insert(ACCEPT, HeaderValue::from_static(ANSWERS));
    request
}

fn body<T: Written>(object: &T) -> Vec<u8> {
    let unknown = Unknown {
        type_meta: Some(TypeMeta {
            api_version: T::API_VERSION.to_owned(),
            kind: T::KIND.to_owned(),
        }),
        raw: object.encode_to_vec().into(),
        ..Unknown::default()
    };
    let mut body = Vec::with_capacity(MAGIC.len() + unknown.encoded_len());
    body.extend_from_slice(MAGIC);
    unknown.encode_raw(&mut body);
    body
}

impl Written for Binding {
    const API_VERSION: &'static str = "v1";
    const KIND: &'static str = "Binding";
}

impl Written for Event {
    const API_VERSION: &'static str = "events.k8s.io/v1";
    const KIND: &'static str = "Event";
}

impl From<Timestamp> for MicroTime {
    fn from(time: Timestamp) -> Self {
        let time = clock::utc(time);
        Self {
            seconds: time.as_second(),
            nanos: time.subsec_nanosecond(),
        }
    }
}

/// What a body says, which is such an object or JSON; null if it is neither.
#[cfg(test)]
pub fn as_json(body: &[u8]) -> serde_json::Value {
    let written = written_as_json(body);
    written.unwrap_or_else(|| serde_json::from_slice(body).unwrap_or_default())
}

/// What an object says that was written, without what is empty.
#[cfg(test)]
fn written_as_json(body: &[u8]) -> Option<serde_json::Value> {
    let object = Unknown::decode(body.strip_prefix(MAGIC)?).ok()?;
    let types = object.type_meta?;
    let value = match &*types.kind {
        Binding::KIND => serde_json::to_value(Binding::decode(object.raw).ok()?),
        Event::KIND => serde_json::to_value(Event::decode(object.raw).ok()?),
        _ => return None,
    };
    let mut value = value.ok()?;
    drop_empty(&mut value);
    value["kind"] = types.kind.into();
    value["apiVersion"] = types.api_version.into();
    Some(value)
}

#[cfg(test)]
fn drop_empty(value: &mut serde_json::Value) {
    use serde_json::Value;

    if let Value::Object(fields) = value {
        fields.values_mut().for_each(drop_empty);
        fields.retain(|_, value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        });
    }
}
