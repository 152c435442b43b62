#![expect(clippy::disallowed_methods, reason = "the clock is paused")]

use super::*;
use crate::kubernetes::clock::Clock;

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

fn broadcaster() -> Broadcaster {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no server"))
    });
    let client = Client::new(service, "default");
    let clock = Clock::system();
    let metrics = EventMetrics::default();
    new(client, Leadership::always(), clock, "id".into(), metrics).1
}

#[tokio::test(start_paused = true)]
async fn equal_events_are_one_series() {
    let mut broadcaster = broadcaster();
    let (now, time) = (Instant::now(), Timestamp::from_seconds(1));
    let first = broadcaster.judge(&event("p", "a"), now, time);
    let Verdict::Create { name } = first else {
        panic!("{first:?}")
    };
    assert_eq!(
        broadcaster.judge(&event("p", "a"), now, time),
        Verdict::Count { name, count: 2 }
    );
    assert_eq!(
        broadcaster.judge(&event("p", "a"), now, time),
        Verdict::Aggregate
    );
    assert!(matches!(
        broadcaster.judge(&event("p", "b"), now, time),
        Verdict::Create { .. }
    ));
    let later = now + SERIES_WINDOW;
    assert!(matches!(
        broadcaster.judge(&event("p", "a"), later, time),
        Verdict::Create { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_says_too_much_is_limited_and_others_are_not() {
    let mut broadcaster = broadcaster();
    let (now, time) = (Instant::now(), Timestamp::from_seconds(1));
    let created = |broadcaster: &mut Broadcaster, now, range: std::ops::Range<u32>| {
        range
            .filter(|i| {
                let verdict = broadcaster.judge(&event("p", &i.to_string()), now, time);
                matches!(verdict, Verdict::Create { .. })
            })
            .count()
    };
    assert_eq!(created(&mut broadcaster, now, 0..100), BURST as usize);
    assert!(matches!(
        broadcaster.judge(&event("q", "a"), now, time),
        Verdict::Create { .. }
    ));
    assert_eq!(created(&mut broadcaster, now + REFILL * 2, 100..200), 2);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_dropped_and_counted() {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no server"))
    });
    let metrics = EventMetrics::default();
    let client = Client::new(service, "default");
    let (sink, _broadcaster) = new(
        client,
        Leadership::always(),
        Clock::system(),
        "id".into(),
        metrics.clone(),
    );
    for i in 0..QUEUE + 7 {
        sink.record(event("p", &i.to_string()));
    }
    assert_eq!(metrics.dropped.get(), 7);
}

#[test]
fn times_have_microseconds() {
    assert_eq!(
        micro_time(Timestamp::from_micros(1_500_000)),
        "1970-01-01T00:00:01.500000Z"
    );
}
