//! Namespaces: their labels, for selectors over namespaces.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::model::objects::{metadata, resource};

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Name, UID and labels.
    #[serde(deserialize_with = "metadata::slim")]
    pub metadata: ObjectMeta,
}

resource!(
    Namespace,
    ClusterResourceScope,
    "",
    "Namespace",
    "namespaces"
);
