//! Object metadata without managed fields, most annotations and the like.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// Annotations that volume binding and CSI migration read; all others are dropped.
const KEPT_ANNOTATIONS: [&str; 4] = [
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "storage.alpha.kubernetes.io/",
];

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
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

/// Whether somebody reads an annotation with this key.
pub(crate) fn is_kept(key: &str) -> bool {
    KEPT_ANNOTATIONS
        .iter()
        .any(|prefix| key.starts_with(prefix))
}

/// Reads `metadata`, dropping what scheduling never looks at.
pub(super) fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let slim = Option::<SlimMetadata>::deserialize(deserializer)?.unwrap_or_default();
    let annotations = slim.annotations.map(|annotations| {
        let kept = annotations.into_iter().filter(|(key, _)| is_kept(key));
        kept.collect::<BTreeMap<_, _>>()
    });
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
        annotations: annotations.filter(|kept| !kept.is_empty()),
        owner_references: slim.owner_references,
        ..ObjectMeta::default()
    })
}
