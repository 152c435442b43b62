//! Bindings that the server answers clearly.

use serde_json::json;

use super::fake_api::Fault;
use super::{DONE, FailureKind, Rig, bind, failure, message, millis, secs};
use crate::kubernetes::leadership::Standing;

#[tokio::test(start_paused = true)]
async fn a_binding_is_one_post_with_the_uid_the_node_and_the_term() {
    let mut rig = Rig::start();
    assert_eq!(rig.outcome(bind("n1")).await, DONE);
    let [post] = &rig.api.seen()[..] else {
        panic!("one request was expected: {:?}", rig.api.seen());
    };
    assert_eq!(post.method, http::Method::POST);
    assert_eq!(post.path, "/api/v1/namespaces/ns/pods/p/binding");
    assert_eq!(
        post.body,
        json!({"apiVersion": "v1", "kind": "Binding",
            "metadata": {"namespace": "ns", "name": "p", "uid": "uid-p",
                "annotations": {"bayplan.dev/term": "lease/7"}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}})
    );
    assert_eq!(rig.api.pod("p")["spec"]["nodeName"], "n1");
    assert_eq!(rig.elapsed(), millis(0));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_bound_to_the_wanted_node_already_is_done() {
    let mut rig = Rig::start();
    rig.api
        .edit_pod("p", |pod| pod["spec"]["nodeName"] = json!("n1"));
    assert_eq!(rig.outcome(bind("n1")).await, DONE);
    assert_eq!(rig.api.methods(), ["POST", "GET"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_bound_to_another_node_is_left_there() {
    let mut rig = Rig::start();
    rig.api
        .edit_pod("p", |pod| pod["spec"]["nodeName"] = json!("n2"));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome.clone()), FailureKind::AlreadyBound);
    assert_eq!(message(outcome), "pod \"ns/p\" is bound to node \"n2\"");
    assert_eq!(rig.api.methods(), ["POST", "GET"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_exist_any_more_is_gone() {
    let mut rig = Rig::start();
    rig.api.delete_pod("p");
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome.clone()), FailureKind::Gone);
    assert_eq!(message(outcome), "pods \"p\" not found");
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_same_name_is_not_bound() {
    let mut rig = Rig::start();
    rig.api
        .edit_pod("p", |pod| pod["metadata"]["uid"] = json!("another"));
    assert_eq!(failure(rig.outcome(bind("n1")).await), FailureKind::Gone);
    assert_eq!(rig.api.methods(), ["POST", "GET"]);
    assert!(rig.api.pod("p")["spec"]["nodeName"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_being_deleted_is_gone() {
    let mut rig = Rig::start();
    rig.api.edit_pod("p", |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    assert_eq!(failure(rig.outcome(bind("n1")).await), FailureKind::Gone);
    assert_eq!(rig.api.methods(), ["POST", "GET"]);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_about_an_unbound_pod_sends_it_back_with_the_servers_words() {
    let mut rig = Rig::start();
    rig.api.edit_pod("p", |pod| {
        pod["spec"]["schedulingGates"] = json!([{"name": "g"}]);
    });
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome.clone()), FailureKind::Unavailable);
    assert_eq!(
        message(outcome),
        "Operation cannot be fulfilled on pods/binding \"p\": pod p has non-empty .spec.schedulingGates"
    );
    assert_eq!(rig.api.methods(), ["POST", "GET"]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_binding_is_not_tried_again() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Refuse(403)]);
    assert_eq!(failure(rig.outcome(bind("n1")).await), FailureKind::Refused);
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_name_makes_no_address_is_refused_without_a_request() {
    let mut rig = Rig::start();
    rig.submit("", bind("n1"));
    let (_, outcome) = rig.completion().await;
    assert_eq!(failure(outcome), FailureKind::Refused);
    assert!(rig.api.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_time_in_retry_after_is_waited_for_exactly() {
    for fault in [Fault::Limit(429, "7"), Fault::LimitByStatus(7)] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([fault]);
        assert_eq!(rig.outcome(bind("n1")).await, DONE);
        assert_eq!(rig.api.methods(), ["POST", "POST"]);
        assert_eq!(rig.api.times(), [0, 7_000]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_retry_after_is_taken_for_none() {
    for seconds in ["0", "soon", "-1", "Mon, 30 Nov 2026 08:00:00 GMT"] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([Fault::Limit(429, seconds)]);
        assert_eq!(rig.outcome(bind("n1")).await, DONE);
        assert_eq!(rig.api.times(), [0, 50], "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_for_ever_is_tried_five_times() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Refuse(429));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::Unavailable);
    assert_eq!(rig.api.methods(), ["POST"; 5]);
    assert_eq!(rig.api.times(), [0, 50, 150, 350, 750]);
    // Nothing is waited for after the last try.
    assert_eq!(rig.elapsed(), millis(750));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_hours_gets_half_a_minute_each_time() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Limit(429, "36000"));
    let id = rig.submit("p", bind("n1"));
    // The replica goes on to lead.
    for _ in 0..4 {
        tokio::time::sleep(secs(32)).await;
    }
    let (completed, outcome) = rig.completion().await;
    assert_eq!(completed, id);
    assert_eq!(failure(outcome.clone()), FailureKind::Unavailable);
    assert_eq!(message(outcome), "Too many requests.");
    assert_eq!(rig.api.times(), [0, 32_000, 64_000, 96_000, 128_000]);
}

#[tokio::test(start_paused = true)]
async fn without_leadership_nothing_is_sent() {
    let mut rig = Rig::start();
    for standing in [Standing::Standby, Standing::Ended] {
        rig.standing.send_replace(standing);
        let outcome = rig.outcome(bind("n1")).await;
        assert_eq!(failure(outcome), FailureKind::NotLeading);
    }
    rig.lead_for(secs(1));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::NotLeading);
    assert!(rig.api.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_leadership_that_ends_during_a_pause_ends_the_tries() {
    let mut rig = Rig::start();
    rig.lead_for(secs(6));
    rig.api.disturb_writes([Fault::Limit(429, "5")]);
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::NotLeading);
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_pause_at_once() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Limit(429, "20"));
    rig.submit("p", bind("n1"));
    tokio::time::sleep(secs(1)).await;
    rig.stop.cancel();
    let (_, outcome) = rig.completion().await;
    assert_eq!(failure(outcome), FailureKind::Unavailable);
    (&mut rig.running).await.unwrap().unwrap();
    assert_eq!(rig.elapsed(), secs(1));
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_the_answer_to_what_was_sent() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Delay(secs(2))]);
    rig.submit("p", bind("n1"));
    tokio::time::sleep(secs(1)).await;
    rig.stop.cancel();
    (&mut rig.running).await.unwrap().unwrap();
    assert_eq!(rig.elapsed(), secs(2));
    assert_eq!(rig.completion().await.1, DONE);
}
