//! The progress behind kube-runtime's own watcher, against a fake API server.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, channel::mpsc, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    client::Body,
    runtime::watcher::{self, Event, watcher},
};
use tower::service_fn;

use super::*;

const PODS: &str = "/api/v1/pods";

fn line(kind: &str, version: u64) -> String {
    format!(
        "{{\"type\":\"{kind}\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"p{version}\",\"namespace\":\"default\",\"resourceVersion\":\"{version}\"}}}}}}\n"
    )
}

/// Answers lists with an empty one of version 5, and the next watches with what comes out of `chunks`.
fn server(content_type: &'static str) -> (kube::Client, mpsc::UnboundedSender<String>) {
    let (sender, chunks) = mpsc::unbounded::<String>();
    let chunks = Arc::new(parking_lot::Mutex::new(Some(chunks)));
    let service = service_fn(move |request: Request<Body>| {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let frames: Pin<Box<dyn Stream<Item = String> + Send>> = if is_watch {
            match chunks.lock().take() {
                Some(chunks) => chunks.boxed(),
                None => stream::pending().boxed(),
            }
        } else {
            let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}"#;
            stream::iter([list.to_owned()]).boxed()
        };
        let frames = frames.map(|text| Ok::<_, kube::Error>(Frame::data(Bytes::from(text))));
        let response = Response::builder()
            .header(header::CONTENT_TYPE, content_type)
            .body(StreamBody::new(frames));
        async move { response }
    });
    (kube::Client::new(service, "default"), sender)
}

fn at(progress: &watch::Receiver<Option<ResourceVersion>>) -> Option<String> {
    progress.borrow().map(|version| version.to_string())
}

fn pods(
    inner: &kube::Client,
) -> (
    impl Stream<Item = watcher::Result<Event<Pod>>> + use<>,
    watch::Receiver<Option<ResourceVersion>>,
    WatchProgress,
) {
    let progress = WatchProgress::new([PODS]);
    let api: Api<Pod> = Api::all(progress.client(inner));
    let seen = progress.subscribe(PODS).unwrap();
    (watcher(api, watcher::Config::default()), seen, progress)
}

#[tokio::test(start_paused = true)]
async fn progress_begins_with_the_watch_after_the_list() {
    let (client, _chunks) = server("application/json");
    let (events, seen, _progress) = pods(&client);
    let mut events = pin!(events);
    assert!(matches!(events.try_next().await, Ok(Some(Event::Init))));
    assert!(matches!(events.try_next().await, Ok(Some(Event::InitDone))));
    assert_eq!(at(&seen), None);
    let more = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
    assert!(more.is_err());
    assert_eq!(at(&seen).as_deref(), Some("5"));
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_counts_when_the_events_before_it_have_been_taken() {
    let (client, chunks) = server("application/json");
    let (events, seen, _progress) = pods(&client);
    let mut events = pin!(events);
    events.next().await;
    events.next().await;
    let text = line("ADDED", 10) + &line("ADDED", 11) + &line("BOOKMARK", 12);
    chunks.unbounded_send(text).unwrap();
    for expected in ["p10", "p11"] {
        match events.try_next().await {
            Ok(Some(Event::Apply(pod))) => assert_eq!(pod.metadata.name.as_deref(), Some(expected)),
            other => panic!("{other:?}"),
        }
        assert_eq!(at(&seen).as_deref(), Some("5"));
    }
    let more = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
    assert!(more.is_err());
    assert_eq!(at(&seen).as_deref(), Some("12"));
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_in_pieces_and_the_events_around_it_arrive_unchanged() {
    let (client, chunks) = server("application/json;stream=watch");
    let (events, seen, _progress) = pods(&client);
    let mut events = pin!(events);
    events.next().await;
    events.next().await;
    let text = line("ADDED", 10) + &line("BOOKMARK", 12) + &line("MODIFIED", 13);
    for piece in text.as_bytes().chunks(7) {
        chunks
            .unbounded_send(String::from_utf8(piece.to_vec()).unwrap())
            .unwrap();
    }
    let mut names = Vec::new();
    for _ in 0..2 {
        match events.try_next().await {
            Ok(Some(Event::Apply(pod))) => names.extend(pod.metadata.name),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names, ["p10", "p13"]);
    assert_eq!(at(&seen).as_deref(), Some("12"));
}

#[tokio::test(start_paused = true)]
async fn other_encodings_pass_unread() {
    let (client, chunks) = server("application/vnd.kubernetes.protobuf;stream=watch");
    let (events, seen, progress) = pods(&client);
    let mut events = pin!(events);
    events.next().await;
    events.next().await;
    chunks.unbounded_send(line("BOOKMARK", 12)).unwrap();
    let more = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
    assert!(more.is_err());
    assert_eq!(at(&seen).as_deref(), Some("5"));
    progress.advance(PODS, "9");
    assert_eq!(at(&seen).as_deref(), Some("9"));
}

#[tokio::test(start_paused = true)]
async fn events_only_advance_and_a_new_watch_sets_also_an_earlier_version() {
    let (client, _chunks) = server("application/json");
    let progress = WatchProgress::new([PODS]);
    let seen = progress.subscribe(PODS).unwrap();
    progress.advance(PODS, "20");
    progress.advance(PODS, "19");
    progress.advance(PODS, "none");
    progress.advance("/api/v1/nodes", "21");
    assert_eq!(at(&seen).as_deref(), Some("20"));
    let client = progress.client(&client);
    for (query, expected) in [
        ("watch=true&resourceVersion=7", "7"),
        ("watch=true&resourceVersion=0", "7"),
        ("watch=true&resourceVersion=8&sendInitialEvents=true", "7"),
        ("limit=500&resourceVersion=9", "7"),
    ] {
        let request = Request::get(format!("{PODS}?{query}")).body(Body::empty());
        client.send(request.unwrap()).await.unwrap();
        assert_eq!(at(&seen).as_deref(), Some(expected), "{query}");
    }
    assert!(progress.subscribe("/api/v1/nodes").is_none());
}
