//! Lists and watches against a fake API server that speaks protobuf.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Response, StatusCode, header};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::timeout;
use tower::service_fn;

use super::watching::WATCH_GRACE;
use super::*;
use crate::kubernetes::resource_version::ResourceVersion;
use crate::model::objects::Pod;

const PODS: &str = "/api/v1/pods";
const TIMEOUT: Duration = Duration::from_secs(200);

/// One answer of the server.
enum Answer {
    /// These bytes, and then the end or silence.
    Protobuf(Vec<Vec<u8>>, bool),
    Json(&'static str),
    Failure(StatusCode, &'static str),
}

type Requests = Arc<Mutex<Vec<String>>>;

/// Answers request after request, and writes down what was asked.
fn server(answers: Vec<Answer>) -> (Client, Requests) {
    let requests = Requests::default();
    let (asked, answers) = (
        Arc::clone(&requests),
        Arc::new(Mutex::new(VecDeque::from(answers))),
    );
    let service = service_fn(move |request: http::Request<Body>| {
        let accept = request.headers()[header::ACCEPT].to_str().unwrap();
        let query = request.uri().query().unwrap_or_default();
        let is_watch = accept.ends_with(";stream=watch");
        assert_eq!(is_watch, query.contains("watch=true"), "{accept}");
        asked.lock().push(query.trim_start_matches('&').to_owned());
        let answer = answers.lock().pop_front();
        async move { Ok::<_, kube::Error>(response(answer)) }
    });
    (Client::new(service, "default"), requests)
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, kube::Error>> + Send>>;

fn response(answer: Option<Answer>) -> Response<StreamBody<Chunks>> {
    let (status, content_type, chunks, is_open) = match answer {
        Some(Answer::Protobuf(chunks, is_open)) => {
            (StatusCode::OK, protobuf::LIST, chunks, is_open)
        }
        Some(Answer::Json(text)) => (StatusCode::OK, "application/json", vec![text.into()], false),
        Some(Answer::Failure(status, text)) => {
            (status, "application/json", vec![text.into()], false)
        }
        None => (StatusCode::OK, protobuf::LIST, Vec::new(), true),
    };
    let chunks = stream::iter(chunks).map(|chunk| Ok(Frame::data(Bytes::from(chunk))));
    let chunks: Chunks = if is_open {
        chunks.chain(stream::pending()).boxed()
    } else {
        chunks.boxed()
    };
    Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, content_type)
        .body(StreamBody::new(chunks))
        .unwrap()
}

/// A field with a length, of three digits to the base 128.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    let digit = |shift: u32| u8::try_from((length >> shift) & 0x7f).unwrap();
    let key = [number << 3 | 2, digit(0) | 0x80, digit(7) | 0x80, digit(14)];
    [&key, content].concat()
}

fn pod(name: &str, version: &str) -> Vec<u8> {
    let metadata = [(1, name), (3, "default"), (5, name), (6, version)];
    let metadata = metadata.map(|(number, text)| field(number, text.as_bytes()));
    field(1, &metadata.concat())
}

/// The metadata say who it is, and the spec is no message.
fn malformed(name: &str, version: &str) -> Vec<u8> {
    [pod(name, version), field(2, b"\xff\xff")].concat()
}

fn enveloped(kind: &str, message: &[u8]) -> Vec<u8> {
    let kind = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &kind), field(2, message)].concat()
}

fn page(version: &str, next: &str, pods: &[Vec<u8>]) -> Answer {
    let metadata = [field(2, version.as_bytes()), field(3, next.as_bytes())].concat();
    let items: Vec<u8> = pods.iter().flat_map(|pod| field(2, pod)).collect();
    let list = [field(1, &metadata), items].concat();
    Answer::Protobuf(vec![enveloped("PodList", &list)], false)
}

fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let event = [field(1, kind.as_bytes()), field(2, &field(1, object))].concat();
    let length = u32::try_from(event.len()).unwrap();
    [length.to_be_bytes().to_vec(), event].concat()
}

fn event(kind: &str, pod: &[u8]) -> Vec<u8> {
    frame(kind, &enveloped("Pod", pod))
}

fn error(code: u8, message: &str) -> Vec<u8> {
    let status = [
        field(2, b"Failure"),
        field(3, message.as_bytes()),
        vec![6 << 3, 0x80 | (code & 0x7f), 3],
    ];
    frame("ERROR", &enveloped("Status", &status.concat()))
}

/// 3 × 128 and what is missing.
const GONE: u8 = 26;
const INTERNAL: u8 = 116;

fn ended(frames: Vec<Vec<u8>>) -> Answer {
    Answer::Protobuf(frames, false)
}

fn open(frames: Vec<Vec<u8>>) -> Answer {
    Answer::Protobuf(frames, true)
}

struct Watched {
    events: BoxStream<'static, Result<Event<Guard<Pod>>, ListWatchError>>,
    requests: Requests,
    progress: tokio::sync::watch::Receiver<Option<ResourceVersion>>,
}

impl Watched {
    fn new(answers: Vec<Answer>) -> Self {
        let (client, requests) = server(answers);
        let progress = WatchProgress::new([PODS]);
        let seen = progress.subscribe(PODS).unwrap();
        Self {
            events: list_watch(client, TIMEOUT, progress, Clock::steady()).boxed(),
            requests,
            progress: seen,
        }
    }

    /// The next events, in words.
    async fn next(&mut self, count: usize) -> Vec<String> {
        let words = (&mut self.events).take(count).map(|event| match event {
            Ok(Event::Init) => "list".to_owned(),
            Ok(Event::InitApply(pod)) => format!("has {}", word(&pod)),
            Ok(Event::InitDone) => "listed".to_owned(),
            Ok(Event::Apply(pod)) => format!("applied {}", word(&pod)),
            Ok(Event::Delete(pod)) => format!("deleted {}", word(&pod)),
            Err(error) => error.to_string(),
        });
        words.collect().await
    }

    /// Whether nothing more comes for a while.
    async fn is_quiet(&mut self) -> bool {
        let next = timeout(Duration::from_secs(1), self.events.next());
        next.await.is_err()
    }

    fn reached(&self) -> String {
        let reached = *self.progress.borrow();
        reached.map_or_else(String::new, |version| version.to_string())
    }

    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock())
    }
}

fn word(pod: &Guard<Pod>) -> String {
    let name = pod.meta().name.clone().unwrap_or_default();
    if pod.0.is_ok() {
        name
    } else {
        format!("{name}, malformed")
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_told_object_by_object_and_the_watch_goes_on_from_there() {
    let mut watched = Watched::new(vec![
        page("10", "more", &[pod("a", "1"), malformed("b", "2")]),
        page("10", "", &[pod("c", "3")]),
        open(vec![
            event("ADDED", &pod("d", "11")),
            event("MODIFIED", &malformed("d", "12")),
            event("DELETED", &pod("a", "13")),
        ]),
    ]);
    let list = ["list", "has a", "has b, malformed", "has c", "listed"];
    assert_eq!(watched.next(5).await, list);
    assert_eq!(
        watched.reached(),
        "",
        "what was told last may not be handled"
    );
    let changes = ["applied d", "applied d, malformed", "deleted a"];
    assert_eq!(watched.next(3).await, changes);
    assert!(watched.is_quiet().await);
    assert_eq!(watched.reached(), "10", "whoever handles events advances");
    let queries = watched.requests();
    assert_eq!(queries[0], "limit=500");
    assert_eq!(queries[1], "limit=10000&continue=more");
    for part in [
        "watch=true",
        "timeoutSeconds=200",
        "allowWatchBookmarks=true",
        "resourceVersion=10",
    ] {
        assert!(
            queries[2].split('&').any(|found| found == part),
            "{queries:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_has_as_many_objects_as_fit_into_4_mib_but_never_fewer_than_the_first() {
    let large = |bytes| [pod("a", "1"), field(15, &vec![0; bytes])].concat();
    let mut watched = Watched::new(vec![
        page("10", "b", &[large(2_000), large(2_000), large(2_000)]),
        page("10", "c", &[large(16_000), large(16_000), large(16_000)]),
        page("10", "d", &[]),
        page("10", "", &[]),
    ]);
    watched.next(8).await;
    let wanted = [
        "limit=500",
        "limit=2062&continue=b",
        "limit=2062&continue=c",
        "limit=500&continue=d",
    ];
    assert_eq!(watched.requests()[..4], wanted);
}

#[tokio::test(start_paused = true)]
async fn a_page_is_asked_for_while_the_one_before_it_is_read() {
    let unfinished = |answer| match answer {
        Answer::Protobuf(mut pieces, _) => {
            pieces[0].pop();
            Answer::Protobuf(pieces, true)
        }
        other => other,
    };
    let mut watched = Watched::new(vec![
        page("10", "b", &[pod("a", "1")]),
        unfinished(page("10", "c", &[pod("b", "2"), pod("c", "3")])),
        page("10", "", &[]),
    ]);
    assert_eq!(watched.next(3).await, ["list", "has a", "has b"]);
    assert!(watched.is_quiet().await, "the page is not whole");
    assert_eq!(watched.requests()[2], "limit=10000&continue=c");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_cut_off_is_followed_by_a_new_list() {
    let Answer::Protobuf(mut pieces, _) = page("10", "", &[pod("a", "1"), pod("b", "2")]) else {
        unreachable!("a page is protobuf")
    };
    pieces[0].pop();
    let whole = page("10", "", &[pod("a", "1")]);
    let mut watched = Watched::new(vec![ended(pieces), whole]);
    let told = [
        "list",
        "has a",
        "the answer for /api/v1/pods cannot be read: answer is cut off",
        "list",
        "has a",
        "listed",
    ];
    assert_eq!(watched.next(6).await, told);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_come_is_given_up() {
    let mut watched = Watched::new(vec![open(vec![])]);
    let told = watched.next(1).await;
    assert_eq!(
        told[0],
        "the API server does not answer for /api/v1/pods within 60s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_followed_by_one_from_the_last_version_and_bookmarks_count() {
    let whole = [
        event("ADDED", &pod("a", "11")),
        event("BOOKMARK", &pod("", "19")),
    ]
    .concat();
    let pieces = whole.chunks(7).map(<[u8]>::to_vec).collect();
    let mut watched = Watched::new(vec![
        page("10", "", &[]),
        ended(pieces),
        ended(vec![event("ADDED", &pod("b", "23"))]),
        open(vec![]),
    ]);
    let told = ["list", "listed", "applied a", "applied b"];
    assert_eq!(watched.next(4).await, told);
    assert!(watched.is_quiet().await);
    assert_eq!(watched.reached(), "23");
    let queries = watched.requests();
    let from = |query: &String| {
        query
            .split_once("resourceVersion=")
            .map(|(_, rest)| rest.to_owned())
    };
    let from: Vec<_> = queries.iter().filter_map(from).collect();
    assert_eq!(from, ["10", "19", "23"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_is_followed_by_a_new_list_and_other_errors_by_a_new_watch() {
    let mut watched = Watched::new(vec![
        page("10", "", &[]),
        open(vec![
            event("ADDED", &pod("a", "11")),
            error(INTERNAL, "etcd is away"),
        ]),
        open(vec![error(GONE, "too old resource version: 11 (40)")]),
        page("50", "", &[]),
    ]);
    let told = [
        "list",
        "listed",
        "applied a",
        "the API server refuses to tell /api/v1/pods: etcd is away",
        "the API server refuses to tell /api/v1/pods: too old resource version: 11 (40)",
        "list",
        "listed",
    ];
    assert_eq!(watched.next(7).await, told);
    let queries = watched.requests();
    assert!(queries[2].contains("resourceVersion=11"), "{queries:?}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_fails_is_followed_by_a_new_list() {
    let expired = r#"{"kind":"Status","status":"Failure","message":"The provided continue parameter is too old","reason":"Expired","code":410}"#;
    let mut watched = Watched::new(vec![
        page("10", "more", &[pod("a", "1")]),
        Answer::Failure(StatusCode::GONE, expired),
        page("20", "", &[pod("a", "1")]),
    ]);
    let told = [
        "list",
        "has a",
        "the API server refuses to tell /api/v1/pods: The provided continue parameter is too old",
        "list",
        "has a",
        "listed",
    ];
    assert_eq!(watched.next(6).await, told);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_what_was_asked_for_is_an_error_that_says_so() {
    let mut watched = Watched::new(vec![
        Answer::Json("{}"),
        Answer::Failure(StatusCode::BAD_GATEWAY, "<html>"),
        Answer::Protobuf(vec![b"nothing".to_vec()], false),
    ]);
    let told = watched.next(3).await;
    let json =
        "the API server answers for /api/v1/pods in \"application/json\" instead of protobuf";
    assert_eq!(told[0], json);
    assert_eq!(
        told[1],
        "the API server refuses to tell /api/v1/pods: 502 Bad Gateway"
    );
    assert!(
        told[2].starts_with("the answer for /api/v1/pods cannot be read: "),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_without_an_event_is_an_error() {
    let mut watched = Watched::new(vec![page("10", "", &[]), ended(vec![])]);
    let told = watched.next(3).await;
    assert_eq!(
        told[2],
        "the watch of /api/v1/pods ended at once without an event"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_server_forgets_to_end_is_given_up() {
    let mut watched = Watched::new(vec![page("10", "", &[]), open(vec![])]);
    let clock = Clock::steady();
    let opened = clock.now();
    let told = watched.next(3).await;
    assert_eq!(
        told[2],
        "the API server does not answer for /api/v1/pods within 205s"
    );
    assert_eq!(clock.now() - opened, TIMEOUT + WATCH_GRACE);
}
