//! The API objects that scheduling reads, slim: fields that no decision needs are never kept.
//!
//! The same types decode watch events and cluster files. `null` reads as absent everywhere.

pub mod metadata;
pub mod namespace;
pub mod node;
pub mod pod;
pub mod policy;
pub mod storage;
pub mod workloads;

pub use namespace::Namespace;
pub use node::Node;
pub use pod::Pod;
pub use policy::PodDisruptionBudget;
pub use storage::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass,
    VolumeAttachment,
};
pub use workloads::{ReplicaSet, ReplicationController, Service, StatefulSet};

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default value, as the API server does.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Names the resource of the API that a slim type decodes.
macro_rules! resource {
    ($type:ident, $scope:ident, $group:literal, $kind:literal, $plural:literal) => {
        impl ::kube::Resource for $type {
            type DynamicType = ();
            type Scope = ::k8s_openapi::$scope;

            fn kind((): &()) -> ::std::borrow::Cow<'_, str> {
                $kind.into()
            }

            fn group((): &()) -> ::std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> ::std::borrow::Cow<'_, str> {
                "v1".into()
            }

            fn plural((): &()) -> ::std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(
                &mut self,
            ) -> &mut ::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
use resource;
