//! Patches of volumes and claims.

use std::sync::Arc;

use serde_json::json;

use super::fake_api::Fault;
use super::{EffectAction, EffectOutcome, FailureKind, Rig, failure, message};
use crate::engine::effect::volumes::{ClaimWrite, VolumeWrite, VolumeWrites, WrittenObject};
use crate::model::object_key::ObjectKey;

const VOLUME: &str = "/api/v1/persistentvolumes/pv";
const CLAIM: &str = "/api/v1/namespaces/ns/persistentvolumeclaims/dynamic";

fn object(namespace: &str, name: &str, version: &str) -> WrittenObject {
    WrittenObject {
        key: ObjectKey::new(namespace, name),
        uid: format!("uid-{name}").into(),
        resource_version: version.into(),
    }
}

fn writes() -> EffectAction {
    EffectAction::BindVolumes(Arc::new(VolumeWrites {
        volumes: vec![VolumeWrite {
            volume: object("", "pv", "7"),
            claim: object("ns", "static", "5"),
            is_bound_by_controller: true,
        }],
        claims: vec![ClaimWrite {
            claim: object("ns", "dynamic", "8"),
            node: "n".into(),
        }],
    }))
}

fn rig() -> Rig {
    let rig = Rig::start();
    rig.api.add_object(VOLUME, "uid-pv", 7);
    rig.api.add_object(CLAIM, "uid-dynamic", 8);
    rig
}

#[tokio::test(start_paused = true)]
async fn volumes_are_reserved_and_claims_get_their_node_by_conditional_patches() {
    let mut rig = rig();
    let outcome = rig.outcome(writes()).await;
    assert_eq!(outcome, EffectOutcome::Written(vec![Some(8), Some(9)]));
    let [volume, claim] = &rig.api.seen()[..] else {
        panic!("two requests were expected: {:?}", rig.api.seen());
    };
    assert_eq!([&*volume.path, &*claim.path], [VOLUME, CLAIM]);
    assert_eq!(volume.method, http::Method::PATCH);
    assert_eq!(volume.content_type, "application/merge-patch+json");
    assert_eq!(
        volume.body,
        json!({"metadata": {"uid": "uid-pv", "resourceVersion": "7",
                "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
            "spec": {"claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": "ns", "name": "static", "uid": "uid-static",
                "resourceVersion": "5"}}})
    );
    assert_eq!(
        claim.body,
        json!({"metadata": {"uid": "uid-dynamic", "resourceVersion": "8",
            "annotations": {"volume.kubernetes.io/selected-node": "n"}}})
    );
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_changed_is_left_alone_and_so_is_what_comes_after_it() {
    let mut rig = rig();
    rig.api.add_object(VOLUME, "uid-pv", 70);
    let outcome = rig.outcome(writes()).await;
    assert!(message(outcome).contains("the object has been modified"));
    assert_eq!(rig.api.methods(), ["PATCH"]);
}

#[tokio::test(start_paused = true)]
async fn a_patch_whose_answer_is_lost_is_sent_again_and_found_out_of_date() {
    let mut rig = rig();
    rig.api.disturb_writes([Fault::Break]);
    let outcome = rig.outcome(writes()).await;
    assert_eq!(failure(outcome), FailureKind::Unavailable);
    assert_eq!(rig.api.methods(), ["PATCH", "PATCH"]);
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_server_is_asked_again() {
    let mut rig = rig();
    rig.api.disturb_writes([Fault::Refuse(429)]);
    let outcome = rig.outcome(writes()).await;
    assert_eq!(outcome, EffectOutcome::Written(vec![Some(8), Some(9)]));
}
