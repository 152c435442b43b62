//! Binding volumes: merge patches of volumes and claims, each for one version of its object.
//!
//! A patch whose answer was lost is sent again: if it had been carried out, the version is another
//! one and the server says so. Then the pod is tried again, and finds the volume reserved for it.

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::effect::volumes::{ClaimWrite, VolumeWrite, VolumeWrites, WrittenObject};
use crate::engine::effect::{EffectOutcome, FailureKind};
use crate::kubernetes::dispatcher::retry::{Failure, Meaning, next_try, send};
use crate::kubernetes::dispatcher::{Caller, failed, not_leading};
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim};

impl Caller {
    /// Writes one after the other, and stops at the first that fails.
    pub(super) async fn bind_volumes(
        &self,
        writes: &VolumeWrites,
        stop: &CancellationToken,
    ) -> EffectOutcome {
        let volumes = writes.volumes.iter().map(|write| {
            let request = Request::new(PersistentVolume::url_path(&(), None));
            (request, &write.volume, volume_patch(write))
        });
        let claims = writes.claims.iter().map(|write| {
            let namespace = Some(&*write.claim.key.namespace);
            let request = Request::new(PersistentVolumeClaim::url_path(&(), namespace));
            (request, &write.claim, claim_patch(write))
        });
        let mut versions = Vec::new();
        for (request, object, patch) in volumes.chain(claims) {
            match self.patch_object(&request, object, patch, stop).await {
                Ok(version) => versions.push(version),
                Err(outcome) => return outcome,
            }
        }
        EffectOutcome::Written(versions)
    }

    /// Gives the resourceVersion after the patch, if the answer tells it.
    async fn patch_object(
        &self,
        request: &Request,
        object: &WrittenObject,
        patch: Value,
        stop: &CancellationToken,
    ) -> Result<Option<u64>, EffectOutcome> {
        let body = Patch::Merge(patch);
        for attempt in 1.. {
            let Some(limit) = self.leadership.write_timeout() else {
                return Err(not_leading());
            };
            let request = request.patch(&object.key.name, &PatchParams::default(), &body);
            let Failure {
                meaning,
                retry_after,
                message,
            } = match send(&self.client, limit, request).await {
                Ok(answer) => return Ok(resource_version(&answer)),
                Err(failure) => failure,
            };
            match meaning {
                Meaning::NotFound | Meaning::Refused => {
                    return Err(failed(FailureKind::Refused, message));
                }
                Meaning::Conflict => return Err(failed(FailureKind::Unavailable, message)),
                Meaning::Busy | Meaning::Unknown => {}
            }
            if !next_try(attempt, retry_after, stop).await {
                return Err(failed(FailureKind::Unavailable, message));
            }
        }
        Err(not_leading())
    }
}

fn resource_version(answer: &[u8]) -> Option<u64> {
    let object: Value = serde_json::from_slice(answer).ok()?;
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// The version makes the server refuse the patch for another state of the object, the UID for
/// another object of the name.
fn metadata(object: &WrittenObject) -> Value {
    json!({"uid": &*object.uid, "resourceVersion": &*object.resource_version})
}

fn volume_patch(write: &VolumeWrite) -> Value {
    let mut metadata = metadata(&write.volume);
    if write.is_bound_by_controller {
        metadata["annotations"] = json!({"pv.kubernetes.io/bound-by-controller": "yes"});
    }
    let claim = &write.claim;
    json!({"metadata": metadata, "spec": {"claimRef": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": &*claim.key.namespace,
        "name": &*claim.key.name,
        "uid": &*claim.uid,
        "resourceVersion": &*claim.resource_version,
    }}})
}

fn claim_patch(write: &ClaimWrite) -> Value {
    let mut metadata = metadata(&write.claim);
    metadata["annotations"] = json!({"volume.kubernetes.io/selected-node": &*write.node});
    json!({"metadata": metadata})
}
