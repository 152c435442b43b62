//! An API server that knows pods, binds, patches and deletes them by the real one's rules, and can be told to fail.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::service_fn;

use crate::kubernetes::clock::Clock;
use crate::kubernetes::protobuf;

/// The server. Clones are one server.
#[derive(Clone)]
pub(super) struct FakeApi {
    clock: Clock,
    started: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    pods: BTreeMap<String, Value>,
    /// Other objects by path.
    objects: BTreeMap<String, Value>,
    writes: Script,
    reads: Script,
    seen: Vec<Seen>,
    in_flight: BTreeMap<String, usize>,
    most_in_flight: usize,
    most_in_flight_of_one_pod: usize,
}

/// What happens to the next requests, and to all after those.
#[derive(Default)]
struct Script {
    next: VecDeque<Fault>,
    then: Option<Fault>,
}

/// A request that came in.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Since the server was made.
    pub(super) at: Duration,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) content_type: String,
    pub(super) body: Value,
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Answered with a Status of this code; not carried out.
    Refuse(u16),
    /// Refused as overload is: the time to wait, in seconds, is in a header and the body is no JSON.
    Limit(u16, &'static str),
    /// Refused with 429 and the time to wait in the Status alone.
    LimitByStatus(u32),
    /// Neither carried out nor answered.
    Swallow,
    /// Carried out; the answer never comes.
    LoseAnswer,
    /// Carried out; the connection breaks before the answer.
    Break,
    /// Carried out; the answer is cut short.
    Garble,
    /// Carried out and answered this much later.
    Delay(Duration),
}

impl FakeApi {
    pub(super) fn new() -> Self {
        let clock = Clock::steady();
        let started = clock.now();
        Self {
            clock,
            started,
            state: Arc::default(),
        }
    }

    pub(super) fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.serve(request).await }
        });
        kube::Client::new(service, "ns")
    }

    pub(super) fn add_pod(&self, name: &str) {
        let pod = json!({
            "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}")},
            "spec": {"containers": []},
            "status": {},
        });
        self.state.lock().pods.insert(name.to_owned(), pod);
    }

    /// An object of another kind, known by its path.
    pub(super) fn add_object(&self, path: &str, uid: &str, version: u64) {
        let object = json!({"metadata": {"uid": uid, "resourceVersion": version.to_string()}});
        self.state.lock().objects.insert(path.to_owned(), object);
    }

    pub(super) fn delete_pod(&self, name: &str) {
        self.state.lock().pods.remove(name);
    }

    pub(super) fn edit_pod(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        edit(self.state.lock().pods.get_mut(name).unwrap());
    }

    pub(super) fn pod(&self, name: &str) -> Value {
        self.state.lock().pods[name].clone()
    }

    /// The faults of the next writes, one each.
    pub(super) fn disturb_writes(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.lock().writes.next.extend(faults);
    }

    /// The fault of every write.
    pub(super) fn disturb_all_writes(&self, fault: Fault) {
        self.state.lock().writes.then = Some(fault);
    }

    /// The faults of the next reads, one each.
    pub(super) fn disturb_reads(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.lock().reads.next.extend(faults);
    }

    /// The fault of every read.
    pub(super) fn disturb_all_reads(&self, fault: Fault) {
        self.state.lock().reads.then = Some(fault);
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.state.lock().seen.clone()
    }

    /// The methods of what came in, in its order.
    pub(super) fn methods(&self) -> Vec<String> {
        let seen = self.seen();
        seen.iter().map(|seen| seen.method.to_string()).collect()
    }

    /// When what came in came in, in milliseconds.
    pub(super) fn times(&self) -> Vec<u128> {
        let seen = self.seen();
        seen.iter().map(|seen| seen.at.as_millis()).collect()
    }

    /// The most requests that were open at once: of all pods together and of one.
    pub(super) fn most_in_flight(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.most_in_flight, state.most_in_flight_of_one_pod)
    }

    async fn serve(&self, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let body = protobuf::as_json(&body);
        let path = head.uri.path().to_owned();
        let mut parts = path.split('/');
        let pod = match parts.clone().nth(5) {
            Some("pods") => parts.nth(6).unwrap().to_owned(),
            _ => path.clone(),
        };
        let content_type = head.headers.get(http::header::CONTENT_TYPE);
        let content_type = content_type.map_or("", |value| value.to_str().unwrap());
        let fault = self.state.lock().receive(
            &pod,
            Seen {
                at: self.clock.now() - self.started,
                method: head.method.clone(),
                path: path.clone(),
                query: head.uri.query().unwrap_or("").to_owned(),
                content_type: content_type.to_owned(),
                body: body.clone(),
            },
        );
        let _open = Open {
            state: &self.state,
            pod: &pod,
        };
        let carry_out = || self.state.lock().carry_out(&head.method, &pod, &body);
        match fault {
            None => Ok(carry_out()),
            Some(Fault::Refuse(code)) => Ok(status(code, "refused by the test")),
            Some(Fault::Limit(code, seconds)) => {
                let mut answer = Response::new(Body::from(b"Too many requests.\n".to_vec()));
                *answer.status_mut() = StatusCode::from_u16(code).unwrap();
                let headers = answer.headers_mut();
                headers.insert(http::header::RETRY_AFTER, seconds.parse().unwrap());
                Ok(answer)
            }
            Some(Fault::LimitByStatus(seconds)) => {
                let body = json!({"kind": "Status", "status": "Failure", "code": 429,
                    "reason": "TooManyRequests", "details": {"retryAfterSeconds": seconds}});
                Ok(answer(429, &body))
            }
            Some(Fault::Swallow) => std::future::pending().await,
            Some(Fault::LoseAnswer) => {
                carry_out();
                std::future::pending().await
            }
            Some(Fault::Break) => {
                carry_out();
                let error = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
                Err(kube::Error::Service(error.into()))
            }
            Some(Fault::Garble) => {
                let code = carry_out().status();
                let mut answer = Response::new(Body::from(b"{\"kind\":".to_vec()));
                *answer.status_mut() = code;
                Ok(answer)
            }
            Some(Fault::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                Ok(carry_out())
            }
        }
    }
}

/// A request that is open; dropped when it is answered or given up.
struct Open<'a> {
    state: &'a Mutex<State>,
    pod: &'a str,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.state.lock().in_flight.get_mut(self.pod).unwrap() -= 1;
    }
}

impl State {
    fn receive(&mut self, pod: &str, seen: Seen) -> Option<Fault> {
        let reads = seen.method == Method::GET;
        self.seen.push(seen);
        let of_pod = self.in_flight.entry(pod.to_owned()).or_default();
        *of_pod += 1;
        self.most_in_flight_of_one_pod = self.most_in_flight_of_one_pod.max(*of_pod);
        let all = self.in_flight.values().sum();
        self.most_in_flight = self.most_in_flight.max(all);
        let script = if reads {
            &mut self.reads
        } else {
            &mut self.writes
        };
        script.next.pop_front().or_else(|| script.then.clone())
    }

    fn carry_out(&mut self, method: &Method, name: &str, body: &Value) -> Response<Body> {
        if let Some(object) = self.objects.get_mut(name) {
            return patch_object(object, body);
        }
        let Some(pod) = self.pods.get_mut(name) else {
            return status(404, &format!("pods \"{name}\" not found"));
        };
        match *method {
            Method::GET => answer(200, pod),
            Method::POST => bind(pod, body),
            Method::DELETE => delete(pod, body),
            _ if body["metadata"]["uid"] != pod["metadata"]["uid"] => {
                status(422, "metadata.uid: Invalid value: field is immutable")
            }
            _ => {
                for (key, value) in body["status"].as_object().unwrap() {
                    pod["status"][key] = value.clone();
                }
                answer(200, pod)
            }
        }
    }
}

/// A patch holds for one version; what it says is not looked at.
fn patch_object(object: &mut Value, body: &Value) -> Response<Body> {
    let version = &mut object["metadata"]["resourceVersion"];
    if body["metadata"]["resourceVersion"] != *version {
        let why = "the object has been modified; please apply your changes to the latest version";
        return status(409, why);
    }
    let next: u64 = version.as_str().unwrap().parse::<u64>().unwrap() + 1;
    *version = next.to_string().into();
    answer(200, object)
}

/// The kubelet has yet to end the pod.
fn delete(pod: &mut Value, options: &Value) -> Response<Body> {
    let uid = &options["preconditions"]["uid"];
    if !uid.is_null() && *uid != pod["metadata"]["uid"] {
        let why = "Operation cannot be fulfilled on pods \"p\": the UID in the precondition does \
                   not match the UID in record";
        return status(409, why);
    }
    pod["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:50Z".into();
    answer(200, pod)
}

/// By the rules of `setPodNodeAndMetadata`.
fn bind(pod: &mut Value, binding: &Value) -> Response<Body> {
    let conflict = |why: &str| {
        let message = format!("Operation cannot be fulfilled on pods/binding \"p\": {why}");
        status(409, &message)
    };
    if binding["metadata"]["uid"] != pod["metadata"]["uid"] {
        return conflict("Precondition failed: UID in precondition");
    }
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return conflict("pod p is being deleted, cannot be assigned to a host");
    }
    if let Some(node) = pod["spec"]["nodeName"].as_str() {
        return conflict(&format!("pod p is already assigned to node {node:?}"));
    }
    if !pod["spec"]["schedulingGates"].is_null() {
        return conflict("pod p has non-empty .spec.schedulingGates");
    }
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    pod["metadata"]["annotations"] = binding["metadata"]["annotations"].clone();
    answer(
        201,
        &json!({"kind": "Status", "status": "Success", "code": 201}),
    )
}

fn answer(code: u16, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn status(code: u16, message: &str) -> Response<Body> {
    let body = json!({"kind": "Status", "status": "Failure", "code": code, "message": message});
    answer(code, &body)
}
