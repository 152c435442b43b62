//! An API server that knows one Lease, honours resource versions, and has a line to each client that can be disturbed.

use std::{sync::Arc, time::Duration};

use http::{Method, Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

/// The server. Clones are one server.
#[derive(Clone, Default)]
pub(super) struct FakeLeases {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    lease: Option<Value>,
    revision: u64,
    created: u64,
}

/// What happens to requests on their way. Clones are one line.
#[derive(Clone, Default)]
pub(super) struct Line {
    faults: Arc<Mutex<Faults>>,
}

#[derive(Clone, Default)]
pub(super) struct Faults {
    /// Nothing arrives and nothing is answered.
    pub(super) black_hole: bool,
    /// Answered with this status.
    pub(super) refuse: Option<u16>,
    /// Writes arrive this much later than they are sent.
    pub(super) write_delay: Duration,
    /// Writes arrive but their answers are lost.
    pub(super) lose_write_answers: bool,
    /// What this client writes as the renew time.
    pub(super) renew_time: Option<&'static str>,
}

impl Line {
    pub(super) fn set(&self, faults: Faults) {
        *self.faults.lock() = faults;
    }
}

impl FakeLeases {
    pub(super) fn client(&self, line: &Line) -> kube::Client {
        let (server, line) = (self.clone(), line.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (server, line) = (server.clone(), line.clone());
            async move {
                let faults = line.faults.lock().clone();
                Ok::<_, kube::Error>(server.handle(request, faults).await)
            }
        });
        kube::Client::new(service, "kube-system")
    }

    /// The Lease as it is stored.
    pub(super) fn lease(&self) -> Value {
        self.state.lock().lease.clone().unwrap_or(Value::Null)
    }

    pub(super) fn holder(&self) -> String {
        self.lease()["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or("")
            .to_owned()
    }

    /// Somebody with kubectl changes the Lease, whatever its version.
    pub(super) fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut state = self.state.lock();
        let mut lease = state
            .lease
            .take()
            .unwrap_or_else(|| json!({"metadata": {"name": "bayplan"}}));
        edit(&mut lease);
        state.store(lease);
    }

    /// Somebody deletes the Lease.
    pub(super) fn delete(&self) {
        self.state.lock().lease = None;
    }

    async fn handle(&self, request: Request<Body>, faults: Faults) -> Response<Body> {
        if faults.black_hole {
            return std::future::pending().await;
        }
        if let Some(code) = faults.refuse {
            return status(code, "Refused");
        }
        let method = request.method().clone();
        if method == Method::GET {
            return match self.lease() {
                Value::Null => status(404, "NotFound"),
                lease => ok(&lease),
            };
        }
        let bytes = request.into_body().collect_bytes().await.unwrap();
        let mut body: Value = serde_json::from_slice(&bytes).unwrap();
        if let (Some(time), Some(_)) = (faults.renew_time, body["spec"].get("renewTime")) {
            body["spec"]["renewTime"] = json!(time);
        }
        // What was sent arrives, also if the client does not wait for the answer.
        let server = self.clone();
        let arrival = tokio::spawn(async move {
            tokio::time::sleep(faults.write_delay).await;
            server.write(&method, body)
        });
        let answer = arrival.await.unwrap();
        if faults.lose_write_answers {
            return std::future::pending().await;
        }
        answer
    }

    fn write(&self, method: &Method, body: Value) -> Response<Body> {
        let mut state = self.state.lock();
        match (method, state.lease.clone()) {
            (&Method::POST, Some(_)) => status(409, "AlreadyExists"),
            (&Method::POST, None) => ok(&state.store(body)),
            (&Method::PATCH, Some(mut lease)) => {
                let expected = &body["metadata"]["resourceVersion"];
                if !expected.is_null() && *expected != lease["metadata"]["resourceVersion"] {
                    return status(409, "Conflict");
                }
                merge(&mut lease, body);
                ok(&state.store(lease))
            }
            _ => status(404, "NotFound"),
        }
    }
}

impl State {
    fn store(&mut self, mut lease: Value) -> Value {
        self.revision += 1;
        if self.lease.is_none() && lease["metadata"]["uid"].is_null() {
            self.created += 1;
            lease["metadata"]["uid"] = json!(format!("uid-{}", self.created));
        }
        lease["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.lease = Some(lease.clone());
        lease
    }
}

/// RFC 7386, for objects.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(&key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

fn ok(value: &Value) -> Response<Body> {
    Response::new(Body::from(serde_json::to_vec(value).unwrap()))
}

fn status(code: u16, reason: &str) -> Response<Body> {
    let body = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason});
    let mut response = ok(&body);
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}
