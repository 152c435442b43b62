//! Bindings of which nobody knows whether they were carried out.

use serde_json::json;

use super::fake_api::Fault;
use super::{DONE, FailureKind, Rig, bind, failure, message, millis, secs};

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_settled_by_reading_the_pod() {
    for (fault, after) in [(Fault::LoseAnswer, secs(4)), (Fault::Break, secs(0))] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([fault.clone()]);
        assert_eq!(rig.outcome(bind("n1")).await, DONE, "{fault:?}");
        assert_eq!(rig.api.methods(), ["POST", "GET"], "{fault:?}");
        assert_eq!(rig.api.pod("p")["spec"]["nodeName"], "n1");
        assert_eq!(rig.elapsed(), after, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_binding_whose_answer_makes_no_sense_is_done_and_in_no_doubt() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Garble]);
    assert_eq!(rig.outcome(bind("n1")).await, DONE);
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn the_pod_is_read_from_the_store_and_not_from_a_cache_of_the_server() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Break]);
    rig.outcome(bind("n1")).await;
    let get = &rig.api.seen()[1];
    assert_eq!(get.method, http::Method::GET);
    assert_eq!(get.path, "/api/v1/namespaces/ns/pods/p");
    assert_eq!(get.query, "");
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_did_not_arrive_is_sent_again() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Swallow]);
    assert_eq!(rig.outcome(bind("n1")).await, DONE);
    assert_eq!(rig.api.methods(), ["POST", "GET", "POST"]);
    assert_eq!(rig.api.times(), [0, 4_000, 4_050]);
}

#[tokio::test(start_paused = true)]
async fn a_doubt_about_a_pod_that_is_elsewhere_gone_or_another_one_is_not_tried_again() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Refuse(500));
    rig.api
        .edit_pod("p", |pod| pod["spec"]["nodeName"] = json!("n2"));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::AlreadyBound);
    rig.api
        .edit_pod("p", |pod| pod["metadata"]["uid"] = json!("another"));
    assert_eq!(failure(rig.outcome(bind("n1")).await), FailureKind::Gone);
    rig.api.delete_pod("p");
    assert_eq!(failure(rig.outcome(bind("n1")).await), FailureKind::Gone);
    assert_eq!(rig.api.methods(), ["POST", "GET"].repeat(3));
}

#[tokio::test(start_paused = true)]
async fn server_errors_are_tried_five_times_with_pauses_that_double() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Refuse(503));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome.clone()), FailureKind::Unavailable);
    assert_eq!(message(outcome), "refused by the test");
    assert_eq!(rig.api.methods(), ["POST", "GET"].repeat(5));
    assert_eq!(
        rig.api.times(),
        [0, 0, 50, 50, 150, 150, 350, 350, 750, 750]
    );
    assert_eq!(rig.elapsed(), millis(750));
}

#[tokio::test(start_paused = true)]
async fn a_server_error_that_passes_ends_in_a_binding() {
    for code in [500, 502, 503, 504] {
        let mut rig = Rig::start();
        rig.api.disturb_writes([Fault::Refuse(code)]);
        assert_eq!(rig.outcome(bind("n1")).await, DONE, "{code}");
        assert_eq!(rig.api.methods(), ["POST", "GET", "POST"], "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_error_with_retry_after_is_waited_for_as_well() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Limit(503, "3")]);
    assert_eq!(rig.outcome(bind("n1")).await, DONE);
    assert_eq!(rig.api.times(), [0, 0, 3_000]);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_is_repeated_until_the_answer_is_clear() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Break]);
    let faults = [
        Fault::Refuse(500),
        Fault::Break,
        Fault::Limit(429, "2"),
        Fault::Swallow,
        Fault::Refuse(401),
        Fault::Refuse(504),
        Fault::Refuse(504),
    ];
    rig.api.disturb_reads(faults);
    assert_eq!(rig.outcome(bind("n1")).await, DONE);
    let milliseconds = [0, 0, 50, 150, 2_150, 6_550, 7_350, 8_150, 8_950];
    assert_eq!(rig.api.times(), milliseconds);
    assert_eq!(rig.api.methods()[0], "POST");
    assert!(rig.api.methods()[1..].iter().all(|method| method == "GET"));
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_cannot_be_settled_ends_with_the_leadership() {
    let mut rig = Rig::start();
    rig.lead_for(secs(10));
    rig.api.disturb_writes([Fault::LoseAnswer]);
    rig.api.disturb_all_reads(Fault::Refuse(500));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::NotLeading);
    assert!(rig.elapsed() >= secs(9) && rig.elapsed() < secs(10));
    assert_eq!(rig.api.times().last(), Some(&8_750));
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_we_may_not_settle_ends_after_five_reads() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Refuse(500)]);
    rig.api.disturb_all_reads(Fault::Refuse(403));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::Unavailable);
    assert_eq!(
        rig.api.methods(),
        ["POST", "GET", "GET", "GET", "GET", "GET"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_doubt_about_a_pod_that_makes_no_sense_ends() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Refuse(500)]);
    rig.api
        .edit_pod("p", |pod| pod["spec"]["nodeName"] = json!({"not": "text"}));
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome.clone()), FailureKind::Unavailable);
    let said = message(outcome);
    assert!(
        said.starts_with("refused by the test; the pod cannot be read: "),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_doubt_that_cannot_be_settled() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::Break]);
    rig.api.disturb_all_reads(Fault::Refuse(500));
    rig.submit("p", bind("n1"));
    tokio::time::sleep(secs(1)).await;
    rig.stop.cancel();
    (&mut rig.running).await.unwrap().unwrap();
    assert_eq!(rig.elapsed(), secs(1));
    assert_eq!(failure(rig.completion().await.1), FailureKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_request_may_take_four_seconds_while_the_leadership_is_long() {
    let mut rig = Rig::start();
    rig.api.disturb_writes([Fault::LoseAnswer]);
    rig.outcome(bind("n1")).await;
    assert_eq!(rig.api.times(), [0, 4_000]);
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_one_second_before_the_leadership() {
    let mut rig = Rig::start();
    rig.lead_for(millis(3_500));
    rig.api.disturb_writes([Fault::LoseAnswer]);
    let outcome = rig.outcome(bind("n1")).await;
    assert_eq!(failure(outcome), FailureKind::NotLeading);
    assert_eq!(rig.elapsed(), millis(2_500));
    assert_eq!(rig.api.methods(), ["POST"]);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_during_a_request_gives_the_next_one_its_full_time() {
    let mut rig = Rig::start();
    rig.lead_for(secs(3));
    rig.api.disturb_writes([Fault::Swallow, Fault::Swallow]);
    rig.submit("p", bind("n1"));
    tokio::time::sleep(secs(1)).await;
    rig.lead_for(secs(60));
    assert_eq!(rig.completion().await.1, DONE);
    // 2 s for the first, settled; 4 s for the second, settled.
    assert_eq!(rig.api.times(), [0, 2_000, 2_050, 6_050, 6_150]);
}
