//! Stands between kube-leader-election and the API server, and makes what the crate does safe.
//!
//! By itself the crate reads the Lease and then writes it without saying which version it read, and it compares the
//! record's times with the local wall clock. Under the guard
//!
//! 1. a read answers with the Lease as this replica judges it (`Observation`), not as the wall clock makes it look;
//! 2. a write carries the resource version of the read before it, so the API server refuses it with a conflict if
//!    anybody has written since. One read pays for one write;
//! 3. a Lease that was seen and has gone is shown as held until its last holder's time is over;
//! 4. a Lease that is created carries labels.
//!
//! Writes stay merge patches: fields that other users of the Lease have set survive.

use std::sync::Arc;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

use crate::kubernetes::{
    clock::Clock,
    leadership::record::{Availability, Observation},
};

/// A Lease or a Status is far smaller; a body beyond this is not one.
const BODY_MAX: usize = 1 << 20;
const LEASE_LABELS: [(&str, &str); 2] = [
    ("app.kubernetes.io/name", "bayplan"),
    ("app.kubernetes.io/component", "leader-election"),
];

/// The shared memory of a guard. Clones are one guard.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    observation: Observation,
    /// Of the last read, taken by the next write.
    resource_version: Option<String>,
}

impl Guard {
    pub(crate) fn new(clock: Clock, observation: Observation) -> Self {
        Self {
            clock,
            state: Arc::new(Mutex::new(State {
                observation,
                resource_version: None,
            })),
        }
    }

    /// A client that sends through `inner`, for kube-leader-election and for nothing else. `inner` must not retry.
    pub(crate) fn client(&self, inner: &kube::Client) -> kube::Client {
        let namespace = inner.default_namespace().to_owned();
        let (guard, inner) = (self.clone(), inner.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (guard, inner) = (guard.clone(), inner.clone());
            async move { guard.handle(&inner, request).await }
        });
        kube::Client::new(service, namespace)
    }

    /// Reads what was observed so far.
    pub(crate) fn observed<T>(&self, read: impl FnOnce(&Observation) -> T) -> T {
        read(&self.state.lock().observation)
    }

    async fn handle(
        &self,
        inner: &kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        match *request.method() {
            Method::GET => self.read(inner, request).await,
            Method::PATCH => self.patch(inner, request).await,
            Method::POST => self.create(inner, request).await,
            _ => inner.send(request).await,
        }
    }

    async fn read(
        &self,
        inner: &kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        // Forgotten before the request, so that a read that fails or is abandoned pays for nothing.
        self.state.lock().resource_version = None;
        let response = inner.send(request).await?;
        match response.status() {
            StatusCode::OK => {
                let lease = json_of(response.into_body()).await?;
                // The moment of the answer, not of the question: the record may have been written in between.
                let now = self.clock.now();
                let mut state = self.state.lock();
                state.observation.saw(&lease, now);
                state.resource_version = lease["metadata"]["resourceVersion"]
                    .as_str()
                    .map(str::to_owned);
                answer(StatusCode::OK, &state.observation.presented(&lease, now))
            }
            StatusCode::NOT_FOUND => {
                let now = self.clock.now();
                let mut state = self.state.lock();
                state.observation.saw_none();
                match state.observation.availability(now) {
                    Availability::Held { .. } => answer(
                        StatusCode::OK,
                        &state.observation.presented(&Value::Null, now),
                    ),
                    Availability::Ours | Availability::Free => Ok(response),
                }
            }
            _ => Ok(response),
        }
    }

    async fn patch(
        &self,
        inner: &kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        let resource_version = self.state.lock().resource_version.take();
        let Some(resource_version) = resource_version else {
            return conflict("the lease was not read before it was written");
        };
        let request = edited(request, |patch| {
            patch["metadata"]["resourceVersion"] = json!(resource_version);
        })
        .await?;
        self.note_written(inner.send(request).await?).await
    }

    async fn create(
        &self,
        inner: &kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        let request = edited(request, |lease| {
            for (key, value) in LEASE_LABELS {
                lease["metadata"]["labels"][key] = json!(value);
            }
        })
        .await?;
        self.note_written(inner.send(request).await?).await
    }

    /// Remembers what a successful write left behind.
    async fn note_written(&self, response: Response<Body>) -> Result<Response<Body>, kube::Error> {
        if !response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let lease = json_of(response.into_body()).await?;
        self.state
            .lock()
            .observation
            .wrote(&lease, self.clock.now());
        answer(status, &lease)
    }
}

async fn json_of(body: Body) -> Result<Value, kube::Error> {
    let bytes = http_body_util::Limited::new(body, BODY_MAX);
    let bytes = http_body_util::BodyExt::collect(bytes)
        .await
        .map_err(kube::Error::Service)?
        .to_bytes();
    serde_json::from_slice(&bytes).map_err(kube::Error::SerdeError)
}

async fn edited(
    request: Request<Body>,
    edit: impl FnOnce(&mut Value),
) -> Result<Request<Body>, kube::Error> {
    let (mut parts, body) = request.into_parts();
    let mut value = json_of(body).await?;
    edit(&mut value);
    let bytes = serde_json::to_vec(&value).map_err(kube::Error::SerdeError)?;
    // The length has changed; the transport sets it from the body.
    parts.headers.remove(header::CONTENT_LENGTH);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

fn answer(status: StatusCode, value: &Value) -> Result<Response<Body>, kube::Error> {
    let bytes = serde_json::to_vec(value).map_err(kube::Error::SerdeError)?;
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

fn conflict(message: &str) -> Result<Response<Body>, kube::Error> {
    answer(
        StatusCode::CONFLICT,
        &json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure",
            "reason": "Conflict", "code": 409, "message": message,
        }),
    )
}
