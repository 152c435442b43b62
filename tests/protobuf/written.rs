//! What is written in protobuf, against the JSON that the API server made of it.

use bayplan::kubernetes::protobuf::{
    Binding, Event, Metadata, MicroTime, ObjectReference, Written, status, with_body,
};
use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::harness::objects;

/// A binding and an event have all that was written; a binding of another pod of that name is
/// refused, and says why.
pub(crate) async fn objects_agree(client: &Client) -> anyhow::Result<()> {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "written", "namespace": "default"},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "nginx"}]}});
    let pod = objects::create_one(client, pod).await?;
    let uid = pod.metadata.uid.unwrap_or_default();
    let path = "/api/v1/namespaces/default/pods/written";

    let binding = format!("{path}/binding");
    let (code, refusal) = post(client, &binding, &binding_of("another")).await?;
    let refusal = status(&refusal).unwrap_or_default();
    assert_eq!((code, refusal.code), (409, 409));
    assert!(
        refusal.message.contains("UID in precondition: another"),
        "{}",
        refusal.message
    );
    let (code, _) = post(client, &binding, &binding_of(&uid)).await?;
    assert_eq!(code, 201);
    let bound = read(client, path).await?;
    assert_eq!(bound["spec"]["nodeName"], "bare");
    assert_eq!(bound["metadata"]["annotations"], json!({"a/b": "c"}));

    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    let (code, _) = post(client, events, &event()).await?;
    assert_eq!(code, 201);
    let mut event = read(client, &format!("{events}/said")).await?;
    event["metadata"] = json!({"name": event["metadata"]["name"]});
    let reference = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": name,
            "uid": format!("uid-{name}")})
    };
    assert_eq!(
        event,
        json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "said"},
            "eventTime": "1970-01-01T00:00:01.500001Z", "type": "Normal", "reason": "Preempted",
            "action": "Preempting", "note": "Preempted ✓", "reportingController": "bayplan",
            "reportingInstance": "bayplan-host", "regarding": reference("victim"),
            "related": reference("preemptor"), "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null, "deprecatedSource": {}})
    );
    Ok(())
}

fn binding_of(uid: &str) -> Binding {
    Binding {
        metadata: Some(Metadata {
            name: "written".to_owned(),
            namespace: "default".to_owned(),
            uid: uid.to_owned(),
            annotations: [("a/b".to_owned(), "c".to_owned())].into(),
        }),
        target: Some(ObjectReference {
            kind: "Node".to_owned(),
            name: "bare".to_owned(),
            api_version: "v1".to_owned(),
            ..ObjectReference::default()
        }),
    }
}

fn event() -> Event {
    let reference = |name: &str| ObjectReference {
        kind: "Pod".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        api_version: "v1".to_owned(),
    };
    Event {
        metadata: Some(Metadata {
            name: "said".to_owned(),
            namespace: "default".to_owned(),
            ..Metadata::default()
        }),
        event_time: Some(MicroTime {
            seconds: 1,
            nanos: 500_001_000,
        }),
        reporting_controller: "bayplan".to_owned(),
        reporting_instance: "bayplan-host".to_owned(),
        action: "Preempting".to_owned(),
        reason: "Preempted".to_owned(),
        regarding: Some(reference("victim")),
        related: Some(reference("preemptor")),
        note: "Preempted ✓".to_owned(),
        r#type: "Normal".to_owned(),
    }
}

async fn post<T: Written>(
    client: &Client,
    path: &str,
    object: &T,
) -> anyhow::Result<(u16, Vec<u8>)> {
    let request = with_body(Request::post(path).body(())?, object);
    let answer = client.send(request.map(Body::from)).await?;
    let code = answer.status().as_u16();
    Ok((code, answer.into_body().collect().await?.to_bytes().into()))
}

async fn read(client: &Client, path: &str) -> anyhow::Result<Value> {
    Ok(client.request(Request::get(path).body(Vec::new())?).await?)
}
