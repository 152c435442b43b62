use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::*;
use crate::kubernetes::clock::Clock;
use crate::kubernetes::leadership::heartbeat::Heartbeat;
use crate::kubernetes::leadership::{Leadership, Standing, Tenure, Term};

/// An API server that knows the token `good`, which may get `/metrics`, and `poor`, which may not.
fn reviewer() -> kube::Client {
    let service = tower::service_fn(|request: http::Request<kube::client::Body>| async move {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect_bytes().await.unwrap();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        review["status"] = if path.ends_with("/tokenreviews") {
            let token = review["spec"]["token"].clone();
            json!({"authenticated": token != "bad", "user": {"username": token}})
        } else {
            json!({"allowed": review["spec"]["user"] == "good"})
        };
        let body = kube::client::Body::from(serde_json::to_vec(&review).unwrap());
        Ok::<_, std::convert::Infallible>(http::Response::new(body))
    });
    kube::Client::new(service, "default")
}

struct Page {
    router: axum::Router,
    synced: watch::Sender<bool>,
    shutdown: CancellationToken,
}

fn page() -> Page {
    page_of(Leadership::always())
}

fn page_of(leadership: Leadership) -> Page {
    let (synced, receiver) = watch::channel(false);
    let shutdown = CancellationToken::new();
    let health = Health {
        heartbeat: Heartbeat::new(Clock::system()),
        leadership,
        synced: receiver,
        shutdown: shutdown.clone(),
    };
    let authorizer = Arc::new(Authorizer::new(reviewer(), Clock::system()));
    let served = Served {
        health,
        metrics: Arc::new(Metrics::default()),
        authorizer,
        open_paths: ["/open".to_owned()].into(),
    };
    Page {
        router: router(served),
        synced,
        shutdown,
    }
}

async fn get(page: &Page, path: &str, token: Option<&str>) -> (StatusCode, String) {
    let mut request = http::Request::get(path);
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::empty()).unwrap();
    let response = page.router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn readiness_waits_for_the_caches_and_ends_with_the_process() {
    let page = page();
    let (status, text) = get(&page, "/readyz", None).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(text.contains("[-]informer-sync failed"), "{text}");
    page.synced.send_replace(true);
    assert_eq!(
        get(&page, "/readyz", None).await,
        (StatusCode::OK, "ok".to_owned())
    );
    page.shutdown.cancel();
    assert!(
        get(&page, "/readyz", None)
            .await
            .1
            .contains("[-]shutdown failed")
    );
    assert_eq!(get(&page, "/livez", None).await.0, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_hangs_is_not_alive() {
    let page = page();
    tokio::time::advance(Duration::from_secs(31)).await;
    let (status, text) = get(&page, "/livez", None).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(text.contains("has not turned for 31 s"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn metrics_need_a_token_that_may_read_them() {
    let page = page();
    assert_eq!(
        get(&page, "/metrics", None).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        get(&page, "/metrics", Some("bad")).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        get(&page, "/metrics", Some("poor")).await.0,
        StatusCode::FORBIDDEN
    );
    let (status, text) = get(&page, "/metrics", Some("good")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        text.contains("scheduler_preemption_attempts_total"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_ran_out_long_ago_is_not_alive() {
    let clock = Clock::steady();
    let term = Term {
        lease_uid: "uid".into(),
        transitions: 1,
    };
    let deadline = clock.now() + Duration::from_secs(5);
    let tenure = Tenure::new(term, deadline, clock.mark());
    let standing = watch::Sender::new(Standing::Leading(tenure));
    let page = page_of(Leadership::elected(clock, standing.subscribe()));
    tokio::time::advance(Duration::from_secs(24)).await;
    assert_eq!(get(&page, "/livez", None).await.0, StatusCode::OK);
    tokio::time::advance(Duration::from_secs(2)).await;
    let (status, text) = get(&page, "/livez", None).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(text.contains("[-]leaderElection failed"), "{text}");
}
