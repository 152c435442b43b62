//! Binding: POST `pods/binding` with the UID as precondition, and what to make of every answer.

use std::sync::Arc;

use kube::api::{GetParams, PostParams};
use kube::core::request::Error as RequestError;
use tokio_util::sync::CancellationToken;

use crate::apis::extender::Extender;
use crate::engine::effect::{Effect, EffectOutcome, FailureKind};
use crate::kubernetes::dispatcher::retry::{Failure, Meaning, TRIES, next_try, pause, rest, send};
use crate::kubernetes::dispatcher::{Caller, DONE, failed, not_leading, pods};
use crate::kubernetes::protobuf::{self, Binding, Metadata, ObjectReference};
use crate::model::objects::Pod;
use crate::model::pod_info::PodUid;

/// How a bound pod says who placed it under which leadership: `<lease UID>/<leaseTransitions>`.
const TERM: &str = "bayplan.dev/term";

/// What the API server says of a pod whose binding was in doubt.
enum Settled {
    Bound,
    BoundElsewhere(String),
    Gone,
    Unbound,
    /// The server does not let us look, or the process stops.
    Unsettled(String),
    NotLeading,
}

impl Caller {
    /// Binds, trying again while that is safe. In doubt the pod itself is asked.
    pub(super) async fn bind(
        &self,
        effect: &Effect,
        node: &str,
        stop: &CancellationToken,
    ) -> EffectOutcome {
        for attempt in 1.. {
            let Some(limit) = self.leadership.write_timeout() else {
                return not_leading();
            };
            let sent = send(&self.client, limit, self.binding(effect, node)).await;
            let Err(Failure {
                meaning,
                retry_after,
                message,
            }) = sent
            else {
                return DONE;
            };
            match meaning {
                Meaning::NotFound => return failed(FailureKind::Gone, message),
                Meaning::Refused => return failed(FailureKind::Refused, message),
                Meaning::Busy => {}
                Meaning::Conflict | Meaning::Unknown => {
                    match self.settle(effect, node, stop).await {
                        Settled::Bound => return DONE,
                        Settled::BoundElsewhere(other) => {
                            let message =
                                format!("pod \"{}\" is bound to node {other:?}", effect.pod);
                            return failed(FailureKind::AlreadyBound, message);
                        }
                        Settled::Gone => return failed(FailureKind::Gone, message),
                        Settled::NotLeading => return not_leading(),
                        Settled::Unsettled(why) => {
                            let message = format!("{message}; the pod cannot be read: {why}");
                            return failed(FailureKind::Unavailable, message);
                        }
                        Settled::Unbound if meaning == Meaning::Conflict => {
                            return failed(FailureKind::Unavailable, message);
                        }
                        Settled::Unbound => {}
                    }
                }
            }
            if !next_try(attempt, retry_after, stop).await {
                return failed(FailureKind::Unavailable, message);
            }
        }
        not_leading()
    }

    /// Has `extender` bind the pod. If it did not say that it has, the pod is asked: it may be bound
    /// all the same, and its room must not be given away then.
    pub(super) async fn bind_by_extender(
        &self,
        effect: &Effect,
        extender: &Arc<Extender>,
        node: &str,
        stop: &CancellationToken,
    ) -> EffectOutcome {
        let Some(limit) = self.leadership.write_timeout() else {
            return not_leading();
        };
        let Err(message) = self.extenders.bind(effect, extender, node, limit).await else {
            return DONE;
        };
        match self.settle(effect, node, stop).await {
            Settled::Bound => DONE,
            Settled::BoundElsewhere(_) => failed(FailureKind::AlreadyBound, message),
            Settled::Gone => failed(FailureKind::Gone, message),
            Settled::Unbound => failed(FailureKind::Refused, message),
            Settled::NotLeading => not_leading(),
            Settled::Unsettled(why) => {
                let message = format!("{message}; the pod cannot be read: {why}");
                failed(FailureKind::Unavailable, message)
            }
        }
    }

    fn binding(&self, effect: &Effect, node: &str) -> Result<http::Request<Vec<u8>>, RequestError> {
        let (namespace, name) = (&*effect.pod.namespace, &*effect.pod.name);
        let term = self.leadership.term();
        let binding = Binding {
            metadata: Some(Metadata {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                uid: effect.uid.0.to_string(),
                annotations: term
                    .map(|term| (TERM.to_owned(), term.to_string()))
                    .into_iter()
                    .collect(),
            }),
            target: Some(ObjectReference {
                kind: "Node".to_owned(),
                name: node.to_owned(),
                api_version: "v1".to_owned(),
                ..ObjectReference::default()
            }),
        };
        let request =
            pods(effect).create_subresource("binding", name, &PostParams::default(), Vec::new())?;
        Ok(protobuf::with_body(request.map(drop), &binding))
    }

    /// Asks until the answer is clear: a binding in doubt holds its room on the node, and guessing
    /// could fill the room twice.
    async fn settle(&self, effect: &Effect, node: &str, stop: &CancellationToken) -> Settled {
        let mut refused = 0;
        for attempt in 1.. {
            let Some(limit) = self.leadership.write_timeout() else {
                return Settled::NotLeading;
            };
            let request = pods(effect).get(&effect.pod.name, &GetParams::default());
            let failure = match send(&self.client, limit, request).await {
                Ok(body) => match serde_json::from_slice(&body) {
                    Ok(pod) => return settled(&pod, &effect.uid, node),
                    Err(error) => return Settled::Unsettled(error.to_string()),
                },
                Err(failure) => failure,
            };
            match failure.meaning {
                Meaning::NotFound => return Settled::Gone,
                Meaning::Refused => refused += 1,
                Meaning::Conflict | Meaning::Busy | Meaning::Unknown => {}
            }
            let pause = pause(attempt.min(TRIES), failure.retry_after);
            if refused == TRIES || !rest(pause, stop).await {
                return Settled::Unsettled(failure.message);
            }
        }
        Settled::NotLeading
    }
}

fn settled(pod: &Pod, uid: &PodUid, node: &str) -> Settled {
    match pod.bound_node() {
        _ if PodUid::of(pod) != *uid => Settled::Gone,
        Some(bound) if bound == node => Settled::Bound,
        Some(bound) => Settled::BoundElsewhere(bound.to_owned()),
        None if pod.metadata.deletion_timestamp.is_some() => Settled::Gone,
        None => Settled::Unbound,
    }
}
