//! Patches of the condition and of the nomination.

use serde_json::json;

use super::fake_api::Fault;
use super::{
    DONE, EffectOutcome, FailureKind, Rig, bind, condition, failure, millis, nomination, secs,
};

#[tokio::test(start_paused = true)]
async fn a_condition_is_one_strategic_patch_of_the_status() {
    let mut rig = Rig::start();
    assert_eq!(rig.outcome(condition("no room")).await, DONE);
    let [patch] = &rig.api.seen()[..] else {
        panic!("one request was expected: {:?}", rig.api.seen());
    };
    assert_eq!(patch.method, http::Method::PATCH);
    assert_eq!(patch.path, "/api/v1/namespaces/ns/pods/p/status");
    assert_eq!(patch.content_type, "application/strategic-merge-patch+json");
    assert_eq!(
        patch.body,
        json!({"metadata": {"uid": "uid-p"}, "status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "no room", "observedGeneration": 3,
            "lastTransitionTime": "2023-11-14T22:13:20Z"}]}})
    );
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_fails_for_now_is_sent_again_without_a_read() {
    for fault in [
        Fault::Refuse(429),
        Fault::Refuse(500),
        Fault::Refuse(503),
        Fault::Break,
    ] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([fault.clone()]);
        assert_eq!(rig.outcome(condition("x")).await, DONE, "{fault:?}");
        assert_eq!(rig.api.methods(), ["PATCH", "PATCH"], "{fault:?}");
        assert_eq!(rig.api.times(), [0, 50], "{fault:?}");
        assert_eq!(rig.api.seen()[0].body, rig.api.seen()[1].body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_waits_as_long_as_the_server_asks() {
    for fault in [
        Fault::Limit(429, "6"),
        Fault::LimitByStatus(6),
        Fault::Limit(503, "6"),
    ] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([fault.clone()]);
        assert_eq!(rig.outcome(condition("x")).await, DONE, "{fault:?}");
        assert_eq!(rig.api.times(), [0, 6_000], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_always_fails_is_sent_five_times() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Refuse(500));
    let outcome = rig.outcome(condition("x")).await;
    assert_eq!(failure(outcome), FailureKind::Unavailable);
    assert_eq!(rig.api.times(), [0, 50, 150, 350, 750]);
    assert_eq!(rig.elapsed(), millis(750));
}

#[tokio::test(start_paused = true)]
async fn a_patch_without_an_answer_is_sent_again_after_four_seconds() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::LoseAnswer]);
    assert_eq!(rig.outcome(condition("x")).await, DONE);
    assert_eq!(rig.api.times(), [0, 4_050]);
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_done_even_if_its_answer_makes_no_sense() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Garble]);
    assert_eq!(rig.outcome(condition("x")).await, DONE);
    assert_eq!(rig.api.methods(), ["PATCH"]);
}

#[tokio::test(start_paused = true)]
async fn a_patch_of_a_pod_that_is_gone_or_refuses_it_ends() {
    for (code, kind) in [
        (404, FailureKind::Gone),
        (409, FailureKind::Gone),
        (403, FailureKind::Refused),
        (422, FailureKind::Refused),
    ] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([Fault::Refuse(code)]);
        assert_eq!(failure(rig.outcome(condition("x")).await), kind, "{code}");
        assert_eq!(rig.api.methods(), ["PATCH"], "{code}");
        assert_eq!(rig.elapsed(), secs(0), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_does_not_touch_another_pod_of_the_same_name() {
    let mut rig = Rig::start();
    rig.api
        .edit_pod("p", |pod| pod["metadata"]["uid"] = json!("another"));
    let outcome = rig.outcome(condition("x")).await;
    assert_eq!(failure(outcome), FailureKind::Refused);
    assert_eq!(rig.api.pod("p")["status"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_not_sent_without_leadership() {
    let mut rig = Rig::start();
    rig.lead_for(secs(1));
    let outcome = rig.outcome(condition("x")).await;
    assert_eq!(failure(outcome), FailureKind::NotLeading);
    assert!(rig.api.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn patches_that_come_during_a_patch_wait_for_it_and_are_sent_as_one() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Delay(secs(1))]);
    let first = rig.submit("p", condition("first"));
    tokio::time::sleep(millis(100)).await;
    let second = rig.submit("p", condition("second"));
    let third = rig.submit("p", nomination("n1"));
    assert_eq!(rig.completion().await, (second, EffectOutcome::Superseded));
    assert_eq!(rig.completion().await, (first, DONE));
    assert_eq!(rig.completion().await, (third, DONE));
    assert_eq!(rig.api.times(), [0, 1_000]);
    let status = &rig.api.seen()[1].body["status"];
    assert_eq!(status["conditions"][0]["message"], "second");
    assert_eq!(status["nominatedNodeName"], "n1");
    assert_eq!(rig.api.most_in_flight().1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_binding_replaces_the_patch_that_waits_and_follows_the_one_in_flight() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Delay(secs(1))]);
    let first = rig.submit("p", condition("first"));
    tokio::time::sleep(millis(100)).await;
    let second = rig.submit("p", condition("second"));
    let binding = rig.submit("p", bind("n1"));
    let late = rig.submit("p", condition("late"));
    assert_eq!(rig.completion().await, (second, EffectOutcome::Superseded));
    assert_eq!(rig.completion().await, (late, EffectOutcome::Superseded));
    assert_eq!(rig.completion().await, (first, DONE));
    assert_eq!(rig.completion().await, (binding, DONE));
    assert_eq!(rig.api.methods(), ["PATCH", "POST"]);
    assert_eq!(rig.api.most_in_flight().1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_comes_during_a_binding_is_never_sent() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Delay(secs(1))]);
    let binding = rig.submit("p", bind("n1"));
    tokio::time::sleep(millis(100)).await;
    let late = rig.submit("p", condition("late"));
    assert_eq!(rig.completion().await, (late, EffectOutcome::Superseded));
    assert_eq!(rig.completion().await, (binding, DONE));
    rig.handle.wait_until_idle().await;
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_binding_has_to_say_is_sent_after_it() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Refuse(403)]);
    assert_eq!(failure(rig.outcome(bind("n1")).await), FailureKind::Refused);
    assert_eq!(rig.outcome(condition("refused")).await, DONE);
    assert_eq!(rig.api.methods(), ["POST", "PATCH"]);
}
