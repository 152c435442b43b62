//! Binding: POST `pods/binding` with the UID as precondition, and what to make of every answer.

use kube::api::PostParams;
use kube::{Api, Error};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::engine::effect::{Effect, EffectOutcome, FailureKind};
use crate::kubernetes::dispatcher::retry::{Meaning, TRIES, pause, send};
use crate::kubernetes::dispatcher::{Caller, failed, not_leading};
use crate::model::objects::Pod;
use crate::model::pod_info::PodUid;

/// How a bound pod says who placed it under which leadership: `<lease UID>/<leaseTransitions>`.
const TERM_ANNOTATION: &str = "bayplan.dev/term";

/// What the API server says of a pod whose binding was in doubt.
enum Settled {
    Bound,
    BoundElsewhere(String),
    Gone,
    Unbound,
    NotLeading,
}

impl Caller {
    /// Binds, trying again while that is safe. In doubt the pod itself is asked.
    pub(super) async fn bind(&self, effect: &Effect, node: &str) -> EffectOutcome {
        let mut message = String::new();
        for attempt in 1..=TRIES {
            let Some(limit) = self.leadership.write_timeout() else {
                return not_leading();
            };
            let Err((meaning, text)) = send(limit, self.post_binding(effect, node)).await else {
                return EffectOutcome::Done {
                    resource_version: None,
                };
            };
            message = text;
            match meaning {
                Meaning::NotFound => return failed(FailureKind::Gone, message),
                Meaning::Refused => return failed(FailureKind::Refused, message),
                Meaning::Busy(after) => sleep(pause(attempt, after)).await,
                Meaning::Conflict | Meaning::Unknown => match self.settle(effect, node).await {
                    Settled::Bound => {
                        return EffectOutcome::Done {
                            resource_version: None,
                        };
                    }
                    Settled::BoundElsewhere(other) => {
                        let message = format!("pod \"{}\" is bound to node {other:?}", effect.pod);
                        return failed(FailureKind::AlreadyBound, message);
                    }
                    Settled::Gone => return failed(FailureKind::Gone, message),
                    Settled::NotLeading => return not_leading(),
                    Settled::Unbound if meaning == Meaning::Conflict => {
                        return failed(FailureKind::Unavailable, message);
                    }
                    Settled::Unbound => sleep(pause(attempt, None)).await,
                },
            }
        }
        failed(FailureKind::Unavailable, message)
    }

    async fn post_binding(&self, effect: &Effect, node: &str) -> Result<(), Error> {
        let (namespace, name) = (&*effect.pod.namespace, &*effect.pod.name);
        let mut binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": &*effect.uid.0},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        if let Some(term) = self.leadership.term() {
            binding["metadata"]["annotations"] = json!({TERM_ANNOTATION: term.to_string()});
        }
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let parameters = PostParams::default();
        pods.create_subresource::<_, Value>("binding", name, &parameters, &binding)
            .await
            .map(drop)
    }

    /// Asks until the answer is clear: a binding in doubt holds its room on the node, and guessing
    /// could fill the room twice.
    async fn settle(&self, effect: &Effect, node: &str) -> Settled {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &effect.pod.namespace);
        for attempt in 1.. {
            let Some(limit) = self.leadership.write_timeout() else {
                return Settled::NotLeading;
            };
            match timeout(limit, pods.get_opt(&effect.pod.name)).await {
                Ok(Ok(None)) => return Settled::Gone,
                Ok(Ok(Some(pod))) => return settled(&pod, &effect.uid, node),
                Ok(Err(_)) | Err(_) => sleep(pause(attempt.min(TRIES), None)).await,
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
