//! Object metadata without annotations, managed fields and the like.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The metadata that is kept, in the order of the API.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SlimMetadata {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

/// Reads `metadata`, dropping what scheduling never looks at.
pub(super) fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let slim = Option::<SlimMetadata>::deserialize(deserializer)?.unwrap_or_default();
    Ok(ObjectMeta {
        name: slim.name,
        generate_name: slim.generate_name,
        namespace: slim.namespace,
        uid: slim.uid,
        resource_version: slim.resource_version,
        generation: slim.generation,
        creation_timestamp: slim.creation_timestamp,
        deletion_timestamp: slim.deletion_timestamp,
        labels: slim.labels,
        owner_references: slim.owner_references,
        ..ObjectMeta::default()
    })
}
