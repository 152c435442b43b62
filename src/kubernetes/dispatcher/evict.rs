//! Eviction: the condition `DisruptionTarget` by PATCH of `pods/status`, then DELETE with the UID
//! as precondition.

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::effect::{Effect, EffectOutcome, Eviction, FailureKind};
use crate::kubernetes::dispatcher::retry::{Failure, Meaning, next_try, send};
use crate::kubernetes::dispatcher::status::second;
use crate::kubernetes::dispatcher::{Caller, DONE, failed, not_leading, pods};
use crate::model::objects::Pod;
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

/// The two calls of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Patch,
    Delete,
}

/// What the API server says of a pod whose eviction met a conflict.
enum Victim {
    /// It is the pod that was meant.
    Here,
    /// It is gone, or another one has its name.
    Gone,
    Unknown,
}

impl Caller {
    /// Evicts, trying again while that may help: both calls say the same however often they are
    /// sent. A pod that had left before is no failure of anybody.
    pub(super) async fn evict(
        &self,
        effect: &Effect,
        eviction: &Eviction,
        stop: &CancellationToken,
    ) -> EffectOutcome {
        let body = Patch::Strategic(target_patch(effect, eviction, self.clock.timestamp()));
        for call in [Call::Patch, Call::Delete] {
            let outcome = self.evict_by(call, effect, &body, stop).await;
            if outcome != DONE {
                return outcome;
            }
        }
        DONE
    }

    async fn evict_by(
        &self,
        call: Call,
        effect: &Effect,
        body: &Patch<Value>,
        stop: &CancellationToken,
    ) -> EffectOutcome {
        for attempt in 1.. {
            let Some(limit) = self.leadership.write_timeout() else {
                return not_leading();
            };
            let name = &effect.pod.name;
            let request = match call {
                Call::Patch => {
                    let parameters = PatchParams::default();
                    pods(effect).patch_subresource("status", name, &parameters, body)
                }
                Call::Delete => pods(effect).delete(name, &only(&effect.uid)),
            };
            let Err(Failure {
                meaning,
                retry_after,
                message,
            }) = send(&self.client, limit, request).await
            else {
                return DONE;
            };
            match meaning {
                Meaning::NotFound => return failed(FailureKind::Gone, message),
                Meaning::Refused => return failed(FailureKind::Refused, message),
                Meaning::Conflict => match self.look_at(effect).await {
                    Victim::Gone => return failed(FailureKind::Gone, message),
                    Victim::Here | Victim::Unknown => {}
                },
                Meaning::Busy | Meaning::Unknown => {}
            }
            if !next_try(attempt, retry_after, stop).await {
                return failed(FailureKind::Unavailable, message);
            }
        }
        not_leading()
    }

    async fn look_at(&self, effect: &Effect) -> Victim {
        let Some(limit) = self.leadership.write_timeout() else {
            return Victim::Unknown;
        };
        let request = pods(effect).get(&effect.pod.name, &GetParams::default());
        match send(&self.client, limit, request).await {
            Ok(body) => match serde_json::from_slice::<Pod>(&body) {
                Ok(pod) if PodUid::of(&pod) == effect.uid => Victim::Here,
                Ok(_) => Victim::Gone,
                Err(_) => Victim::Unknown,
            },
            Err(failure) if failure.meaning == Meaning::NotFound => Victim::Gone,
            Err(_) => Victim::Unknown,
        }
    }
}

/// No other pod of the same name.
fn only(uid: &PodUid) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_string()),
        resource_version: None,
    })
}

/// The UID in the metadata makes the server refuse the patch for another pod of the same name.
fn target_patch(effect: &Effect, eviction: &Eviction, now: Timestamp) -> Value {
    json!({
        "metadata": {"uid": &*effect.uid.0},
        "status": {"conditions": [{
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": eviction.message,
            "observedGeneration": eviction.observed_generation,
            "lastTransitionTime": second(now),
        }]},
    })
}
