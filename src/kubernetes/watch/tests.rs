//! Watches against a fake API server, with objects that cannot be decoded among others.

use bytes::Bytes;
use futures::channel::mpsc as bodies;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::metrics::Metrics;
use crate::model::objects::{Node, PodDisruptionBudget};

#[tokio::test]
async fn lists_errors_and_undecodable_objects_are_counted_and_served_by_resource() {
    let guard = |object| serde_json::from_value::<Guard<Node>>(object).unwrap();
    let good = || guard(json!({"metadata": {"name": "good"}}));
    let bad = || guard(json!({"metadata": {"name": "bad"}, "spec": {"taints": 7}}));
    let told = vec![
        Ok(Event::Init),
        Ok(Event::InitApply(good())),
        Ok(Event::InitApply(bad())),
        Ok(Event::InitDone),
        Err(watcher::Error::NoResourceVersion),
        Ok(Event::Apply(bad())),
        Ok(Event::Apply(good())),
    ];
    let metrics = Metrics::default();
    let numbers = metrics.watches.of("nodes");
    let (send, mut receive) = mpsc::channel(8);
    let decoded = decode(futures::stream::iter(told), numbers.clone());
    let teller = Whole {
        list: Vec::new(),
        told: |event| event,
    };
    forward(decoded, &send, teller, &numbers).await;
    let first = receive.recv().await;
    assert!(matches!(first, Some(ObjectEvent::Resynced(all)) if all.len() == 1));
    let gone = receive.recv().await;
    assert!(matches!(gone, Some(ObjectEvent::Deleted(_))));
    let second = receive.recv().await;
    assert!(matches!(second, Some(ObjectEvent::Applied(_))));
    let text = metrics.encode();
    for line in [
        r#"bayplan_watch_lists_total{resource="nodes"} 1"#,
        r#"bayplan_watch_errors_total{resource="nodes"} 1"#,
        r#"bayplan_watch_undecodable_objects_total{resource="nodes"} 2"#,
    ] {
        assert!(
            text.lines().any(|l| l == line),
            "{line} is missing in\n{text}"
        );
    }
}

/// Malformed in the three ways that matter: the spec, a part of it, and the metadata.
fn malformed() -> Vec<Value> {
    vec![
        json!({"metadata": {"name": "bad", "namespace": "default", "uid": "u", "resourceVersion": "11"},
            "spec": {"selector": "none"}}),
        json!({"metadata": {"name": "bad", "namespace": "default", "uid": "u", "resourceVersion": "11"},
            "status": {"disruptionsAllowed": ["cpu"]}, "spec": {"selector": {}}}),
        json!({"metadata": {"name": "bad", "namespace": "default", "uid": "u", "resourceVersion": "11",
            "labels": {"app": 7}}}),
    ]
}

fn budget(name: &str, version: u32) -> Value {
    json!({"metadata": {"name": name, "namespace": "default", "uid": "u",
        "resourceVersion": version.to_string()}})
}

/// Answers lists with `items`, and the first watch with what is sent.
fn server(items: Value) -> (Client, bodies::UnboundedSender<String>) {
    let (send, lines) = bodies::unbounded::<String>();
    let lines = Arc::new(parking_lot::Mutex::new(Some(lines)));
    let service = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let frames = if query.contains("watch=true") {
            match lines.lock().take() {
                Some(lines) => lines.boxed(),
                None => futures::stream::pending().boxed(),
            }
        } else {
            let list = json!({"kind": "List", "apiVersion": "v1",
                "metadata": {"resourceVersion": "10"}, "items": items});
            futures::stream::iter([list.to_string()]).boxed()
        };
        let frames = frames.map(|text| Ok::<_, kube::Error>(Frame::data(Bytes::from(text))));
        async move { Ok::<_, kube::Error>(Response::new(StreamBody::new(frames))) }
    });
    (Client::new(service, "default"), send)
}

/// What is told of the budgets of `client`.
fn budgets(client: Client) -> mpsc::Receiver<ObjectEvent<PodDisruptionBudget>> {
    let (send, receive) = mpsc::channel(8);
    let run = watch_listed(
        client,
        Duration::from_secs(200),
        send,
        |event| event,
        Metrics::default().watches,
        CancellationToken::new(),
    );
    tokio::spawn(run);
    receive
}

async fn told(
    events: &mut mpsc::Receiver<ObjectEvent<PodDisruptionBudget>>,
) -> (&'static str, Vec<String>) {
    let event = tokio::time::timeout(Duration::from_mins(1), events.recv()).await;
    let name = |budget: &Arc<PodDisruptionBudget>| budget.metadata.name.clone().unwrap_or_default();
    match event.expect("the watch must tell something").unwrap() {
        ObjectEvent::Applied(budget) => ("applied", vec![name(&budget)]),
        ObjectEvent::Deleted(budget) => ("deleted", vec![name(&budget)]),
        ObjectEvent::Resynced(budgets) => ("all", budgets.iter().map(name).collect()),
    }
}

fn line(kind: &str, object: &Value) -> String {
    json!({"type": kind, "object": object}).to_string() + "\n"
}

#[tokio::test(start_paused = true)]
async fn a_malformed_object_in_a_list_is_left_out_alone_until_it_is_corrected() {
    for bad in malformed() {
        let (client, watch) = server(json!([budget("a", 1), bad, budget("z", 2)]));
        let mut events = budgets(client);
        let all = ("all", vec!["a".to_owned(), "z".to_owned()]);
        assert_eq!(told(&mut events).await, all, "{bad}");
        watch
            .unbounded_send(line("MODIFIED", &budget("bad", 12)))
            .unwrap();
        assert_eq!(told(&mut events).await, ("applied", vec!["bad".to_owned()]));
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_malformed_is_gone_until_it_is_corrected_and_the_rest_goes_on() {
    for bad in malformed() {
        let (client, watch) = server(json!([budget("bad", 1)]));
        let mut events = budgets(client);
        assert_eq!(told(&mut events).await, ("all", vec!["bad".to_owned()]));
        watch.unbounded_send(line("MODIFIED", &bad)).unwrap();
        watch
            .unbounded_send(line("ADDED", &budget("z", 12)))
            .unwrap();
        assert_eq!(told(&mut events).await, ("deleted", vec!["bad".to_owned()]));
        assert_eq!(told(&mut events).await, ("applied", vec!["z".to_owned()]));
        watch
            .unbounded_send(line("MODIFIED", &budget("bad", 13)))
            .unwrap();
        assert_eq!(told(&mut events).await, ("applied", vec!["bad".to_owned()]));
    }
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_object_is_seen_also_when_its_last_state_is_malformed() {
    for bad in malformed() {
        let (client, watch) = server(json!([budget("bad", 1), budget("z", 2)]));
        let mut events = budgets(client);
        told(&mut events).await;
        watch.unbounded_send(line("DELETED", &bad)).unwrap();
        assert_eq!(told(&mut events).await, ("deleted", vec!["bad".to_owned()]));
    }
}
