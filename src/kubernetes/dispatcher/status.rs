//! The condition `PodScheduled` and the nomination: one PATCH of `pods/status`.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::effect::{Effect, EffectOutcome, FailureKind, StatusPatch};
use crate::kubernetes::dispatcher::retry::{Failure, Meaning, next_try, send};
use crate::kubernetes::dispatcher::{Caller, DONE, failed, not_leading, pods};
use crate::model::timestamp::Timestamp;

impl Caller {
    /// Patches, trying again while that may help: the patch says the same however often it is sent.
    pub(super) async fn patch_status(
        &self,
        effect: &Effect,
        patch: &StatusPatch,
        stop: &CancellationToken,
    ) -> EffectOutcome {
        let body = Patch::Strategic(status_patch(effect, patch, self.clock.timestamp()));
        for attempt in 1.. {
            let Some(limit) = self.leadership.write_timeout() else {
                return not_leading();
            };
            let (name, parameters) = (&effect.pod.name, PatchParams::default());
            let request = pods(effect).patch_subresource("status", name, &parameters, &body);
            let Err(Failure {
                meaning,
                retry_after,
                message,
            }) = send(&self.client, limit, request).await
            else {
                return DONE;
            };
            match meaning {
                Meaning::NotFound | Meaning::Conflict => return failed(FailureKind::Gone, message),
                Meaning::Refused => return failed(FailureKind::Refused, message),
                Meaning::Busy | Meaning::Unknown => {}
            }
            if !next_try(attempt, retry_after, stop).await {
                return failed(FailureKind::Unavailable, message);
            }
        }
        not_leading()
    }
}

/// The UID in the metadata makes the server refuse the patch for another pod of the same name.
fn status_patch(effect: &Effect, patch: &StatusPatch, now: Timestamp) -> Value {
    let mut status = json!({});
    if let Some(condition) = &patch.condition {
        let mut fields = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": condition.reason,
            "message": condition.message,
            "observedGeneration": condition.observed_generation,
        });
        if condition.is_new {
            fields["lastTransitionTime"] = second(now).into();
        }
        status["conditions"] = json!([fields]);
    }
    match patch.nominated_node.as_deref() {
        None => {}
        Some("") => status["nominatedNodeName"] = Value::Null,
        Some(node) => status["nominatedNodeName"] = node.into(),
    }
    json!({"metadata": {"uid": &*effect.uid.0}, "status": status})
}

/// A time of the API, which has whole seconds.
pub(super) fn second(time: Timestamp) -> String {
    let time = jiff::Timestamp::from_second(time.as_micros() / 1_000_000);
    time.unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::effect::{ConditionPatch, EffectAction, EffectId};
    use crate::model::pod_info::{PodKey, PodUid};

    #[test]
    fn only_what_changed_is_patched() {
        let key = PodKey {
            namespace: "ns".into(),
            name: "p".into(),
        };
        let mut patch = StatusPatch {
            condition: None,
            nominated_node: Some("".into()),
        };
        let action = EffectAction::PatchStatus(patch.clone());
        let effect = Effect {
            id: EffectId(1),
            pod: key,
            uid: PodUid("u".into()),
            profile: "bayplan".into(),
            action,
        };
        let now = Timestamp::from_seconds(0);
        assert_eq!(
            status_patch(&effect, &patch, now),
            json!({"metadata": {"uid": "u"}, "status": {"nominatedNodeName": null}})
        );
        patch.nominated_node = None;
        patch.condition = Some(ConditionPatch {
            reason: "Unschedulable",
            message: "m".into(),
            observed_generation: 3,
            is_new: true,
        });
        assert_eq!(
            status_patch(&effect, &patch, now)["status"],
            json!({"conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "m", "observedGeneration": 3,
                "lastTransitionTime": "1970-01-01T00:00:00Z"}]})
        );
    }
}
