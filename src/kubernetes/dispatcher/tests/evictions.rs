//! Evictions: condition, then deletion, of the pod that is meant and no other.

use serde_json::json;

use super::fake_api::Fault;
use super::{DONE, EffectOutcome, FailureKind, Rig, bind, condition, failure, millis, secs};
use crate::engine::effect::{EffectAction, Eviction};

fn evict() -> EffectAction {
    EffectAction::Evict(Eviction {
        message: "bayplan: preempting to accommodate a higher priority pod".to_owned(),
        observed_generation: 2,
    })
}

#[tokio::test(start_paused = true)]
async fn a_victim_is_told_why_and_then_deleted() {
    let mut rig = Rig::start();
    assert_eq!(rig.outcome(evict()).await, DONE);
    let [patch, delete] = &rig.api.seen()[..] else {
        panic!("two requests were expected: {:?}", rig.api.seen());
    };
    assert_eq!(patch.path, "/api/v1/namespaces/ns/pods/p/status");
    assert_eq!(
        patch.body,
        json!({"metadata": {"uid": "uid-p"}, "status": {"conditions": [{
            "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
            "message": "bayplan: preempting to accommodate a higher priority pod",
            "observedGeneration": 2, "lastTransitionTime": "2023-11-14T22:13:20Z"}]}})
    );
    assert_eq!(delete.method, http::Method::DELETE);
    assert_eq!(delete.path, "/api/v1/namespaces/ns/pods/p");
    assert_eq!(delete.body["preconditions"], json!({"uid": "uid-p"}));
    assert!(delete.body["gracePeriodSeconds"].is_null());
    assert!(rig.api.pod("p")["metadata"]["deletionTimestamp"].is_string());
}

#[tokio::test(start_paused = true)]
async fn each_call_is_sent_again_while_that_may_help() {
    for fault in [
        Fault::Refuse(429),
        Fault::Refuse(500),
        Fault::Break,
        Fault::Refuse(409),
    ] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([fault.clone()]);
        assert_eq!(rig.outcome(evict()).await, DONE, "{fault:?}");
        let writes = rig
            .api
            .methods()
            .into_iter()
            .filter(|method| method != "GET");
        assert_eq!(writes.collect::<Vec<_>>(), ["PATCH", "PATCH", "DELETE"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_whose_answer_was_lost_is_sent_again() {
    let mut rig = Rig::start();
    rig.api
        .disturb_writes([Fault::Delay(millis(1)), Fault::LoseAnswer]);
    assert_eq!(rig.outcome(evict()).await, DONE);
    assert_eq!(rig.api.methods(), ["PATCH", "DELETE", "DELETE"]);
}

#[tokio::test(start_paused = true)]
async fn a_victim_that_had_left_is_gone() {
    let mut rig = Rig::start();
    rig.api.delete_pod("p");
    assert_eq!(failure(rig.outcome(evict()).await), FailureKind::Gone);
    assert_eq!(rig.api.methods(), ["PATCH"]);
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_same_name_is_left_alone() {
    let mut rig = Rig::start();
    // It takes the name between the two calls.
    rig.api
        .disturb_writes([Fault::Delay(millis(1)), Fault::Limit(429, "1")]);
    rig.submit("p", evict());
    tokio::time::sleep(millis(500)).await;
    rig.api
        .edit_pod("p", |pod| pod["metadata"]["uid"] = json!("another"));
    let (_, outcome) = rig.completion().await;
    assert_eq!(failure(outcome), FailureKind::Gone);
    assert!(rig.api.pod("p")["metadata"]["deletionTimestamp"].is_null());

    let mut rig = Rig::start();
    rig.api
        .edit_pod("p", |pod| pod["metadata"]["uid"] = json!("another"));
    let kind = failure(rig.outcome(evict()).await);
    assert!(matches!(kind, FailureKind::Gone | FailureKind::Refused));
    assert!(rig.api.pod("p")["metadata"]["deletionTimestamp"].is_null());
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_is_not_allowed_says_so() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Refuse(403));
    assert_eq!(failure(rig.outcome(evict()).await), FailureKind::Refused);
    assert_eq!(rig.api.methods(), ["PATCH"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_evicted_without_leadership() {
    let mut rig = Rig::start();
    rig.lead_for(secs(1));
    assert_eq!(failure(rig.outcome(evict()).await), FailureKind::NotLeading);
    assert!(rig.api.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_takes_the_place_of_an_eviction_that_waits() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Delay(secs(1))]);
    let binding = rig.submit("p", bind("n1"));
    tokio::time::sleep(millis(100)).await;
    let eviction = rig.submit("p", evict());
    let late = rig.submit("p", condition("late"));
    assert_eq!(rig.completion().await, (late, EffectOutcome::Superseded));
    assert_eq!(rig.completion().await, (binding, DONE));
    assert_eq!(rig.completion().await, (eviction, DONE));
    assert_eq!(rig.api.methods(), ["POST", "PATCH", "DELETE"]);
}
