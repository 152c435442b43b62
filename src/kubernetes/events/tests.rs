#![expect(clippy::disallowed_methods, reason = "the clock is paused")]

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use kube::client::Body;
use tokio::time::Instant;

use super::*;
use crate::engine::effect::{Effect, EffectAction, EffectId, EventKind};
use crate::kubernetes::dispatcher;
use crate::kubernetes::events::series::{BURST, REFILL, SERIES_WINDOW};
use crate::kubernetes::extender::Extenders;
use crate::metrics::Metrics;
use crate::model::timestamp::Timestamp;

fn event(pod: &str, note: &str) -> PodEvent {
    PodEvent {
        pod: PodKey {
            namespace: "ns".into(),
            name: pod.into(),
        },
        uid: PodUid(pod.into()),
        record: EventRecord {
            related: None,
            kind: EventKind::Warning,
            reason: "FailedScheduling",
            action: "Scheduling",
            note: note.into(),
            reporting_controller: "bayplan".into(),
        },
    }
}

fn placed(pod: &str) -> PodEvent {
    let mut event = event(pod, "Successfully assigned");
    event.record.kind = EventKind::Normal;
    event.record.reason = "Scheduled";
    event
}

/// An API server that answers after `delay`, and counts.
fn server(delay: Duration) -> (Client, Arc<AtomicUsize>) {
    let answered = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&answered);
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let counter = Arc::clone(&counter);
        async move {
            sleep(delay).await;
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Response::new(Body::empty()))
        }
    });
    (Client::new(service, "default"), answered)
}

/// Both ends, and what bindings load; nobody carries these out.
fn ends(client: Client) -> (EventSink, Broadcaster, DispatcherHandle, EventMetrics) {
    let (leadership, clock) = (Leadership::always(), Clock::system());
    let metrics = Metrics::default();
    let (bindings, _, _) = dispatcher::new(
        client.clone(),
        Extenders::new(client.clone()),
        leadership.clone(),
        clock.clone(),
        metrics.dispatcher.clone(),
    );
    let counted = EventMetrics::default();
    let (sink, broadcaster) = new(
        client,
        bindings.clone(),
        leadership,
        clock,
        "id".into(),
        counted.clone(),
    );
    (sink, broadcaster, bindings, counted)
}

fn binding(number: u64) -> Effect {
    Effect {
        id: EffectId(number),
        pod: placed("p").pod,
        uid: PodUid(number.to_string().into()),
        profile: "bayplan".into(),
        action: EffectAction::Bind { node: "n".into() },
    }
}

#[tokio::test(start_paused = true)]
async fn equal_events_are_one_series() {
    let mut said = Said::default();
    let (now, time) = (Instant::now(), Timestamp::from_seconds(1));
    let first = said.judge(&event("p", "a"), now, time);
    let Verdict::Create { name } = first else {
        panic!("{first:?}")
    };
    assert_eq!(
        said.judge(&event("p", "a"), now, time),
        Verdict::Count { name, count: 2 }
    );
    assert_eq!(said.judge(&event("p", "a"), now, time), Verdict::Aggregate);
    assert!(matches!(
        said.judge(&event("p", "b"), now, time),
        Verdict::Create { .. }
    ));
    let later = now + SERIES_WINDOW;
    assert!(matches!(
        said.judge(&event("p", "a"), later, time),
        Verdict::Create { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_says_too_much_is_limited_and_others_are_not() {
    let mut said = Said::default();
    let (now, time) = (Instant::now(), Timestamp::from_seconds(1));
    let created = |said: &mut Said, now, range: std::ops::Range<u32>| {
        range
            .filter(|i| {
                let verdict = said.judge(&event("p", &i.to_string()), now, time);
                matches!(verdict, Verdict::Create { .. })
            })
            .count()
    };
    assert_eq!(created(&mut said, now, 0..100), BURST as usize);
    assert!(matches!(
        said.judge(&event("q", "a"), now, time),
        Verdict::Create { .. }
    ));
    assert_eq!(created(&mut said, now + REFILL * 2, 100..200), 2);
}

#[tokio::test(start_paused = true)]
async fn pods_of_which_nothing_more_is_said_are_forgotten() {
    let mut said = Said::default();
    let (now, time) = (Instant::now(), Timestamp::from_seconds(1));
    for i in 0..1000 {
        said.judge(&event(&i.to_string(), "a"), now, time);
    }
    for _ in 0..600 {
        said.judge(&placed("q"), now, time);
    }
    assert_eq!(said.len(), 1000, "the series may go on");
    for _ in 0..600 {
        said.judge(&placed("q"), now + SERIES_WINDOW, time);
    }
    assert_eq!(said.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn warnings_that_do_not_fit_are_dropped_and_counted() {
    let (sink, _broadcaster, _, metrics) = ends(server(Duration::ZERO).0);
    for i in 0..queue::WARNINGS + 7 {
        sink.record(event("p", &i.to_string()));
    }
    assert_eq!(metrics.dropped.get(), 7);
    assert!(sink.has_room(), "warnings must not hold up decisions");
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_placed_pods_is_told_of_whole() {
    let (client, answered) = server(Duration::from_millis(10));
    let (sink, broadcaster, _, metrics) = ends(client);
    for i in 0..20_000 {
        sink.record(placed(&i.to_string()));
    }
    assert!(!sink.has_room(), "there is no room for further decisions");
    let cancel = CancellationToken::new();
    let task = tokio::spawn(broadcaster.run(cancel.clone(), Duration::ZERO));
    while !sink.has_room() {
        sink.wait_for_room().await;
    }
    sleep(Duration::from_secs(10)).await;
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(answered.load(Ordering::Relaxed), 20_000);
    assert_eq!((metrics.written.get(), metrics.dropped.get()), (20_000, 0));
}

#[tokio::test(start_paused = true)]
async fn decisions_go_on_where_the_server_takes_no_events() {
    let service = tower::service_fn(|_: http::Request<Body>| async {
        sleep(Duration::from_secs(1)).await;
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        Ok::<_, std::io::Error>(answer)
    });
    let (sink, broadcaster, _, metrics) = ends(Client::new(service, "default"));
    for i in 0..40_000 {
        sink.record(placed(&i.to_string()));
    }
    assert!(!sink.has_room());
    tokio::spawn(broadcaster.run(CancellationToken::new(), Duration::ZERO));
    sleep(Duration::from_secs(2)).await;
    assert!(sink.has_room(), "decisions do not wait for events in vain");
    assert!(metrics.dropped.get() > 0);
}

#[tokio::test(start_paused = true)]
async fn events_wait_for_bindings_but_not_for_long() {
    let (client, answered) = server(Duration::from_millis(10));
    let (sink, broadcaster, bindings, _) = ends(client);
    for number in 0..QUIET as u64 {
        bindings.submit(binding(number));
    }
    sink.record(placed("p"));
    tokio::spawn(broadcaster.run(CancellationToken::new(), Duration::ZERO));
    sleep(BEHIND.saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(answered.load(Ordering::Relaxed), 0);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(answered.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_is_too_busy_for_is_sent_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&tries);
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let first = counter.fetch_add(1, Ordering::Relaxed) == 0;
        let mut answer = Response::new(Body::empty());
        if first {
            *answer.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        }
        std::future::ready(Ok::<_, std::io::Error>(answer))
    });
    let (sink, broadcaster, _, metrics) = ends(Client::new(service, "default"));
    sink.record(placed("p"));
    tokio::spawn(broadcaster.run(CancellationToken::new(), Duration::ZERO));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    assert_eq!((metrics.written.get(), metrics.dropped.get()), (1, 0));
}
