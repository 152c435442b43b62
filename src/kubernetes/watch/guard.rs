//! An object of a watch that may turn out not to be readable, without harm to the others.
//!
//! As `kube::core::DeserializeGuard`, but also for objects whose metadata cannot be decoded, one of
//! which would otherwise fail the whole list, and without copying each good object.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;

/// The object, or what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Guard<K>(pub(super) Result<K, Unreadable>);

/// An object that cannot be decoded.
#[derive(Clone, Debug)]
pub(super) struct Unreadable {
    /// Why.
    pub(super) error: String,
    /// Which one: name, namespace, UID and version as far as they are texts.
    pub(super) metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guard<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(K::deserialize(&value).map_err(|error| Unreadable {
            error: error.to_string(),
            metadata: identity(&value["metadata"]),
        })))
    }
}

fn identity(metadata: &Value) -> ObjectMeta {
    let text = |field: &str| metadata[field].as_str().map(str::to_owned);
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ..ObjectMeta::default()
    }
}

impl<K: Resource> Resource for Guard<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(kind)
    }

    fn group(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::group(kind)
    }

    fn version(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::version(kind)
    }

    fn plural(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(kind)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0
            .as_ref()
            .map_or_else(|unreadable| &unreadable.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0
            .as_mut()
            .map_or_else(|unreadable| &mut unreadable.metadata, K::meta_mut)
    }
}
