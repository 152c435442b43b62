//! What is sent and what is made of the answers, with real sockets on 127.0.0.1.

mod server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use crate::apis::extender::Extender;
use crate::engine::effect::{Effect, EffectAction, EffectId};
use crate::engine::framework::extender::{Answer, Filtered, Question, Subject};
use crate::kubernetes::extender::Extenders;
use crate::kubernetes::extender::tests::server::{Reply, Server};
use crate::model::pod_info::{PodKey, PodUid};

/// An API server that knows one pod and the nodes `a` and `b`.
fn api() -> Client {
    let answer = |request: Request<Body>| async move {
        let node = |name: &str| {
            json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1",
                "annotations": {"kept": "yes"}, "managedFields": [{"manager": "kubelet"}]},
                "status": {"capacity": {"cpu": "1"}}})
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ns",
            "name": "p", "uid": "uid-p", "managedFields": [{"manager": "kubectl"}]},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let body = match request.uri().path() {
            "/api/v1/namespaces/ns/pods/p" => pod,
            "/api/v1/nodes" => json!({"kind": "NodeList", "apiVersion": "v1",
                "metadata": {"resourceVersion": "1"}, "items": [node("a"), node("b")]}),
            path => panic!("nobody should ask for {path}"),
        };
        Ok::<_, tower::BoxError>(Response::new(Body::from(body.to_string().into_bytes())))
    };
    Client::new(service_fn(answer), "default")
}

fn extender(server: &Server, fields: &Value) -> Arc<Extender> {
    let mut extender = json!({"urlPrefix": server.url(), "filterVerb": "filter",
        "prioritizeVerb": "prioritize", "weight": 1, "bindVerb": "bind"});
    let all = extender.as_object_mut().unwrap();
    all.extend(fields.as_object().unwrap().clone());
    Arc::new(serde_json::from_value(extender).unwrap())
}

fn names() -> Value {
    json!({"nodeCacheCapable": true})
}

fn effect() -> Effect {
    Effect {
        id: EffectId(1),
        pod: PodKey {
            namespace: "ns".into(),
            name: "p".into(),
        },
        uid: PodUid("uid-p".into()),
        profile: "bayplan".into(),
        action: EffectAction::Bind { node: "a".into() },
    }
}

fn question(extender: &Arc<Extender>, subject: Subject) -> Question {
    Question {
        extender: Arc::clone(extender),
        position: 0,
        attempt: 1,
        subject,
    }
}

fn filter() -> Subject {
    Subject::Filter {
        nodes: vec!["a".into(), "b".into()],
        promised: false,
    }
}

/// Asks an extender that answers `reply` whether the nodes `a` and `b` will do.
async fn filtered(reply: Reply, fields: &Value) -> (Answer, Vec<server::Seen>) {
    let server = Server::start(reply).await;
    let extender = extender(&server, fields);
    let question = question(&extender, filter());
    let answer = Extenders::new(api()).ask(&effect(), &question).await;
    (answer, server.seen())
}

async fn failure(reply: Reply) -> String {
    match filtered(reply, &names()).await.0 {
        Answer::Failed(message) => message,
        answer => panic!("there must be no answer, not {answer:?}"),
    }
}

#[tokio::test]
async fn an_extender_that_knows_the_nodes_is_sent_the_whole_pod_and_names() {
    let reply = json!({"nodenames": ["b"], "FAILEDNODES": {"a": "no"}, "Nodes": null, "New": 1,
        "FailedAndUnresolvableNodes": null});
    let (answer, seen) = filtered(Reply::json(&reply), &names()).await;
    let wanted = Filtered {
        nodes: vec!["b".into()],
        by_name: true,
        failed: BTreeMap::from([("a".into(), "no".to_owned())]),
        unresolvable: BTreeMap::new(),
    };
    assert_eq!(answer, Answer::Filtered(wanted));
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].line, "POST /x/filter HTTP/1.1");
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(
        seen[0].json(),
        json!({"Pod": {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "ns", "name": "p", "uid": "uid-p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]}},
            "Nodes": null, "NodeNames": ["a", "b"]})
    );
}

#[tokio::test]
async fn one_that_does_not_know_them_is_sent_whole_nodes_with_a_length() {
    let reply = json!({"Nodes": {"items": [{"metadata": {"name": "b"}}]}, "NodeNames": ["a"]});
    let (answer, seen) = filtered(Reply::json(&reply), &json!({})).await;
    let Answer::Filtered(filtered) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (filtered.nodes, filtered.by_name),
        (vec!["b".into()], false)
    );
    let length: usize = seen[0].header("content-length").unwrap().parse().unwrap();
    assert_eq!(length, seen[0].body.len());
    let sent = seen[0].json();
    assert_eq!(sent["NodeNames"], Value::Null);
    let node = &sent["Nodes"]["items"][1];
    assert_eq!(node["metadata"]["name"], "b");
    assert_eq!(node["metadata"]["annotations"]["kept"], "yes");
    assert_eq!(node["status"]["capacity"]["cpu"], "1");
    assert_eq!(node["metadata"]["managedFields"], Value::Null);
}

#[tokio::test]
async fn errors_are_in_upstreams_words() {
    let garbage = |text: &str| failure(Reply::text(text));
    assert_eq!(garbage("").await, "EOF");
    assert_eq!(garbage("{\"NodeNames\"").await, "unexpected EOF");
    assert!(garbage("nonsense").await.contains("cannot be read"));
    let said = failure(Reply::json(&json!({"Error": "not today"}))).await;
    assert_eq!(said, "not today");
    let coded = failure(Reply::Code(503)).await;
    assert!(
        coded.starts_with("failed filter with extender at URL http://127.0.0.1:")
            && coded.ends_with("/x/filter, code 503"),
        "{coded}"
    );
}

#[tokio::test]
async fn nobody_listens() {
    let server = Server::start(Reply::Code(200)).await;
    let extender = extender(&server, &names());
    let address = server.address();
    server.stop().await;
    let question = question(&extender, filter());
    let answer = Extenders::new(api()).ask(&effect(), &question).await;
    let wanted = format!(
        "Post \"http://{address}/x/filter\": dial tcp {address}: connect: connection refused"
    );
    assert_eq!(answer, Answer::Failed(wanted));
}

#[tokio::test]
async fn a_late_answer_is_none() {
    // The second has the time to begin.
    for (reply, limit, wanted) in [
        (
            Reply::Silence,
            "20ms",
            "(Client.Timeout exceeded while awaiting headers)",
        ),
        (
            Reply::HeadOnly,
            "2s",
            "(Client.Timeout or context cancellation while reading body)",
        ),
    ] {
        let limit = json!({"nodeCacheCapable": true, "httpTimeout": limit});
        let (answer, _) = filtered(reply, &limit).await;
        let Answer::Failed(message) = answer else {
            panic!("{answer:?}");
        };
        assert!(
            message.contains("context deadline exceeded") && message.ends_with(wanted),
            "{message}"
        );
    }
}

#[tokio::test]
async fn redirects_lead_nowhere() {
    let elsewhere = Server::start(Reply::json(&json!({"NodeNames": ["a"]}))).await;
    let message = failure(Reply::Redirect(elsewhere.url())).await;
    assert!(message.ends_with("code 307"), "{message}");
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let message = failure(Reply::Endless).await;
    assert!(message.contains("the answer is longer than"), "{message}");
}

#[tokio::test]
async fn scores_are_read_as_go_reads_them() {
    let reply = json!([{"Host": "a", "Score": 7}, {"host": "b", "score": 2, "x": []},
        {"Host": "b", "Score": 1}]);
    let server = Server::start(Reply::json(&reply)).await;
    let extender = extender(&server, &names());
    let nodes = vec!["a".into(), "b".into()];
    let question = question(&extender, Subject::Prioritize { nodes });
    let extenders = Extenders::new(api());
    let answer = extenders.ask(&effect(), &question).await;
    let scores = BTreeMap::from([("a".into(), 7), ("b".into(), 3)]);
    assert_eq!(answer, Answer::Prioritized(scores));
    extenders.ask(&effect(), &question).await;
    assert_eq!(server.seen()[1].line, "POST /x/prioritize HTTP/1.1");
}

#[tokio::test]
async fn a_binding_names_pod_and_node() {
    let server = Server::start(Reply::json(&json!({}))).await;
    let extender = extender(&server, &json!({}));
    let extenders = Extenders::new(api());
    let limit = Duration::from_secs(5);
    let bound = extenders.bind(&effect(), &extender, "n", limit).await;
    assert_eq!(bound, Ok(()));
    assert_eq!(
        server.seen()[0].json(),
        json!({"PodName": "p", "PodNamespace": "ns", "PodUID": "uid-p", "Node": "n"})
    );
}

#[tokio::test]
async fn a_pod_whose_name_was_given_away_is_not_asked_about() {
    let server = Server::start(Reply::Code(200)).await;
    let extender = extender(&server, &names());
    let mut effect = effect();
    effect.uid = PodUid("another".into());
    let question = question(&extender, filter());
    let answer = Extenders::new(api()).ask(&effect, &question).await;
    let wanted = "pod \"ns/p\" cannot be read: it is gone, or another one has its name".to_owned();
    assert_eq!(answer, Answer::Failed(wanted));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn certificates_are_checked_as_the_profile_says() {
    let server = Server::start_tls(Reply::json(&json!({"NodeNames": ["a"]}))).await;
    let question = |tls: Value| {
        let mut fields = names();
        fields
            .as_object_mut()
            .unwrap()
            .extend(tls.as_object().unwrap().clone());
        question(&extender(&server, &fields), filter())
    };
    let extenders = Extenders::new(api());
    let answers = async |tls: Value| {
        let answer = extenders.ask(&effect(), &question(tls)).await;
        matches!(answer, Answer::Filtered(_))
    };
    let ca = server.certificate();
    assert!(answers(json!({"tlsConfig": {"caData": ca}})).await);
    assert!(answers(json!({"enableHTTPS": true})).await, "nobody signs");
    assert!(answers(json!({"tlsConfig": {"insecure": true}})).await);
    let named = json!({"tlsConfig": {"caData": ca, "serverName": "elsewhere"}});
    assert!(!answers(named).await, "it is not called so");
}
