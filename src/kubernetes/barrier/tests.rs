//! The barrier against a fake API server on paused time.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;
use tower::service_fn;

use super::*;

const NODES: &str = PATHS[0];
const PODS: &str = PATHS[1];

/// What the server has of one resource, and what it was asked.
#[derive(Clone, Default)]
struct Server {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Versions of the objects, and how many more there are than are told.
    pods: Vec<u64>,
    pods_beyond: usize,
    now: String,
    /// Events of a watch of pods, as (type, version).
    events: Vec<(&'static str, u64)>,
    silent: bool,
    watches: Vec<String>,
    lists: Vec<String>,
}

impl Server {
    fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                if server.state.lock().silent {
                    std::future::pending::<()>().await;
                }
                let frames = server.answer(request.uri());
                let frames =
                    frames.map(|text| Ok::<_, kube::Error>(Frame::data(Bytes::from(text))));
                Ok::<_, kube::Error>(Response::new(StreamBody::new(frames)))
            }
        });
        kube::Client::new(service, "default")
    }

    fn answer(&self, uri: &http::Uri) -> Pin<Box<dyn Stream<Item = String> + Send>> {
        let mut state = self.state.lock();
        let query = uri.query().unwrap_or("").to_owned();
        if query.starts_with("watch=true") {
            state.watches.push(query);
            let lines: Vec<String> = state
                .events
                .iter()
                .map(|(kind, version)| {
                    let object = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}});
                    format!("{}\n", json!({"type": kind, "object": object}))
                })
                .collect();
            return stream::iter(lines).boxed();
        }
        state.lists.push(query.clone());
        let start: usize = query
            .split_once("continue=")
            .map_or(0, |(_, token)| token.parse().unwrap());
        let all: &[u64] = if uri.path() == PODS { &state.pods } else { &[] };
        let beyond = if uri.path() == PODS {
            state.pods_beyond
        } else {
            0
        };
        let end = (start + 500).min(all.len());
        let items: Vec<_> = all[start..end]
            .iter()
            .map(|version| json!({"metadata": {"name": "x", "resourceVersion": version.to_string()}}))
            .collect();
        let remaining = all.len() - end + beyond;
        let token = if remaining > 0 {
            end.to_string()
        } else {
            String::new()
        };
        let list = json!({
            "metadata": {"resourceVersion": state.now, "continue": token, "remainingItemCount": remaining},
            "items": (!items.is_empty()).then_some(items),
        });
        stream::iter([list.to_string()]).boxed()
    }
}

struct Scene {
    server: Server,
    progress: WatchProgress,
}

impl Scene {
    /// Pods with these versions on a server that is at 100, watched up to `observed`.
    fn new(pods: Vec<u64>, observed: &str) -> Self {
        let server = Server::default();
        {
            let mut state = server.state.lock();
            state.pods = pods;
            state.now = "100".to_owned();
        }
        let progress = WatchProgress::new(PATHS);
        progress.advance(NODES, "100");
        progress.advance(PODS, observed);
        Self { server, progress }
    }

    /// So many pods that the newest is not looked for.
    fn large(observed: &str, events: &[(&'static str, u64)]) -> Self {
        let scene = Self::new((1..=500).collect(), observed);
        scene.server.state.lock().pods_beyond = 100_000;
        scene.server.state.lock().events = events.to_vec();
        scene
    }

    async fn pass(&self) -> Result<(), BarrierError> {
        pass(
            &self.server.client(),
            &self.progress,
            &Clock::steady(),
            TIMEOUT,
        )
        .await
    }
}

fn message(result: Result<(), BarrierError>) -> String {
    result.unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn a_watch_at_the_version_of_now_passes_without_a_second_watch() {
    let scene = Scene::large("100", &[]);
    scene.pass().await.unwrap();
    assert!(scene.server.state.lock().watches.is_empty());
    assert_eq!(scene.server.state.lock().lists, ["limit=500", "limit=500"]);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_passes_when_it_has_the_newest_of_all_objects() {
    let scene = Scene::new((1..=1_234).rev().collect(), "1234");
    scene.server.state.lock().now = "2000".to_owned();
    scene.progress.advance(NODES, "1");
    scene.pass().await.unwrap();
    assert_eq!(scene.server.state.lock().lists.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lacks_the_newest_object_does_not_pass_and_says_so() {
    let scene = Scene::new(vec![7, 42, 9], "41");
    assert_eq!(
        message(scene.pass().await),
        "the watch of /api/v1/pods has not reached version 42 within 5s (it is at 41)"
    );
}

#[tokio::test(start_paused = true)]
async fn it_passes_as_soon_as_the_watch_arrives() {
    let scene = Scene::new(vec![42], "41");
    let clock = Clock::steady();
    let start = clock.now();
    let arrive = async {
        sleep(Duration::from_secs(3)).await;
        scene.progress.advance(PODS, "42");
    };
    let (passed, ()) = tokio::join!(scene.pass(), arrive);
    passed.unwrap();
    assert_eq!((clock.now() - start).as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_not_begun_does_not_pass_even_without_objects() {
    let scene = Scene::new(vec![], "none");
    assert_eq!(
        message(scene.pass().await),
        "the watch of /api/v1/pods has not reached version 0 within 5s (it is at none)"
    );
}

#[tokio::test(start_paused = true)]
async fn on_a_large_quiet_cluster_a_second_watch_without_events_proves_that_nothing_was_missed() {
    let scene = Scene::large("90", &[("BOOKMARK", 99), ("BOOKMARK", 101)]);
    scene.pass().await.unwrap();
    assert_eq!(
        scene.server.state.lock().watches,
        ["watch=true&allowWatchBookmarks=true&resourceVersion=90&timeoutSeconds=3"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_seen_by_the_second_watch_must_have_been_seen_by_the_first() {
    let events = [("MODIFIED", 95), ("DELETED", 97), ("BOOKMARK", 100)];
    let scene = Scene::large("90", &events);
    assert!(message(scene.pass().await).contains("version 100 within 5s (it is at 90)"));
    let scene = Scene::large("90", &events);
    let arrive = async {
        sleep(Duration::from_secs(2)).await;
        scene.progress.advance(PODS, "97");
    };
    tokio::join!(scene.pass(), arrive).0.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_after_the_listing_ends_the_second_watch_and_need_not_have_been_seen() {
    let scene = Scene::large("90", &[("MODIFIED", 105)]);
    scene.pass().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_second_watch_that_ends_early_or_with_an_error_proves_nothing() {
    for events in [&[][..], &[("BOOKMARK", 99)], &[("ERROR", 410)]] {
        let scene = Scene::large("90", events);
        assert!(message(scene.pass().await).contains("has not reached version 100"));
        assert!(scene.server.state.lock().watches.len() > 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_is_given_up_after_the_limit() {
    let scene = Scene::new(vec![], "1");
    scene.server.state.lock().silent = true;
    assert_eq!(
        message(scene.pass().await),
        "the API server did not tell the current version of /api/v1/nodes within 5s"
    );
}

#[tokio::test(start_paused = true)]
async fn versions_that_are_no_numbers_are_a_clear_error() {
    let scene = Scene::new(vec![], "1");
    scene.server.state.lock().now = "abc".to_owned();
    let error = scene.pass().await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.contains("resource version \"abc\" is not a number"),
        "{source}"
    );
}
