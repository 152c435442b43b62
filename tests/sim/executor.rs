//! Carries effects out as the dispatcher does: one call at a time per pod, later patches merged; with
//! delays, and with everything that can go wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use bayplan::engine::effect::volumes::{VolumeWrites, WrittenObject};
use bayplan::engine::effect::{
    Effect, EffectAction, EffectFailure, EffectId, EffectOutcome, Eviction, FailureKind,
    StatusPatch,
};
use bayplan::engine::framework::extender::Question;
use bayplan::model::pod_info::PodUid;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Kind, Refused, text};
use crate::extenders;
use crate::generator::dice::Dice;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is carried out.
    Done,
    /// The server refuses it for good.
    Refused,
    /// The server cannot do it now.
    Unavailable,
    /// It is carried out and the answer is lost, which is settled by a look at the object.
    LostAnswer,
    /// It was never sent.
    Superseded,
}

/// The calls of a pod.
#[derive(Debug, Default)]
struct PodCalls {
    in_flight: Option<Effect>,
    queued: Option<Effect>,
}

/// What is under way.
#[derive(Debug)]
pub(crate) struct Executor {
    seed: u64,
    by_pod: BTreeMap<PodUid, PodCalls>,
    /// Of 100 calls, how many go wrong.
    pub(crate) faults: usize,
    findings: Vec<String>,
}

/// A call that was started.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) uid: PodUid,
    /// When it reaches the server.
    pub(crate) after: Duration,
}

/// A call that has reached the server.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) id: EffectId,
    pub(crate) outcome: EffectOutcome,
    /// When the answer is there.
    pub(crate) after: Duration,
}

fn failed(kind: FailureKind, message: &str) -> EffectOutcome {
    let message = message.to_owned();
    EffectOutcome::Failed(EffectFailure { kind, message })
}

const DONE: EffectOutcome = EffectOutcome::Done {
    resource_version: None,
};

impl Executor {
    pub(crate) fn new(seed: u64, faults: usize) -> Self {
        Self {
            seed,
            by_pod: BTreeMap::new(),
            faults,
            findings: Vec::new(),
        }
    }

    /// What is left to chance about one effect.
    fn dice(&self, id: EffectId, salt: u64) -> Dice {
        Dice::new(self.seed ^ id.0.wrapping_mul(0x9e37_79b9) ^ salt)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.by_pod.is_empty()
    }

    pub(crate) fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.findings)
    }

    /// Takes an effect over. Gives what ended without being sent, and the call that starts.
    pub(crate) fn submit(&mut self, mut effect: Effect) -> (Option<Ended>, Option<Started>) {
        if let EffectAction::Ask(question) = &effect.action {
            return (Some(self.ask(&effect, question)), None);
        }
        let calls = self.by_pod.entry(effect.uid.clone()).or_default();
        let is_patch = matches!(effect.action, EffectAction::PatchStatus(_));
        if is_binding(&effect) && calls.in_flight.as_ref().is_some_and(is_binding) {
            let finding = format!("pod {} is bound while a binding is under way", effect.pod);
            self.findings.push(finding);
        }
        let is_eviction = |effect: &Effect| matches!(effect.action, EffectAction::Evict(_));
        if calls.queued.as_ref().is_some_and(is_eviction) {
            return (Some(superseded(effect.id)), None);
        }
        if is_patch && calls.in_flight.as_ref().is_some_and(is_binding) {
            return (Some(superseded(effect.id)), None);
        }
        let mut replaced = None;
        if let Some(earlier) = calls.queued.take() {
            match (&earlier.action, &mut effect.action) {
                (EffectAction::PatchStatus(before), EffectAction::PatchStatus(after)) => {
                    merge(before, after);
                }
                (
                    EffectAction::Bind { .. } | EffectAction::BindByExtender { .. },
                    EffectAction::PatchStatus(_),
                ) => {
                    calls.queued = Some(earlier);
                    return (Some(superseded(effect.id)), None);
                }
                _ => {}
            }
            replaced = Some(superseded(earlier.id));
        }
        let uid = effect.uid.clone();
        calls.queued = Some(effect);
        (replaced, self.start(&uid))
    }

    /// Asks an extender. Questions wait for nobody and nobody waits for them.
    fn ask(&self, effect: &Effect, question: &Question) -> Ended {
        let mut dice = self.dice(effect.id, 4);
        let mut after = delay(&mut dice);
        let answer = if dice.chance(self.faults) {
            let (answer, longer) = extenders::nonsense(question, &mut dice);
            after += longer;
            answer
        } else {
            extenders::answer(question, &effect.pod)
        };
        Ended {
            id: effect.id,
            outcome: EffectOutcome::Answered(answer),
            after,
        }
    }

    /// Starts the next call of the pod, if none is in flight.
    fn start(&mut self, uid: &PodUid) -> Option<Started> {
        let calls = self.by_pod.get_mut(uid)?;
        if calls.in_flight.is_some() {
            return None;
        }
        let Some(effect) = calls.queued.take() else {
            self.by_pod.remove(uid);
            return None;
        };
        let id = effect.id;
        calls.in_flight = Some(effect);
        let after = delay(&mut self.dice(id, 1));
        Some(Started {
            uid: uid.clone(),
            after,
        })
    }

    /// The call of the pod reaches the server.
    pub(crate) fn carry_out(&mut self, uid: &PodUid, api: &mut ApiServer) -> Option<Ended> {
        let effect = self.by_pod.get(uid)?.in_flight.clone()?;
        let mut dice = self.dice(effect.id, 2);
        let fate = self.fate(&effect, &mut dice);
        let outcome = match fate {
            Fate::Refused => failed(FailureKind::Refused, "the server refused it"),
            Fate::Unavailable => failed(FailureKind::Unavailable, "the server is overloaded"),
            Fate::Superseded => EffectOutcome::Superseded,
            Fate::Done | Fate::LostAnswer => self.act(&effect, api),
        };
        let mut after = delay(&mut dice);
        if fate == Fate::LostAnswer {
            after += Duration::from_secs(4);
        }
        Some(Ended {
            id: effect.id,
            outcome,
            after,
        })
    }

    /// The answer is there; the next call of the pod starts.
    pub(crate) fn finish(&mut self, uid: &PodUid) -> Option<Started> {
        self.by_pod.get_mut(uid)?.in_flight = None;
        self.start(uid)
    }

    /// The process loses its leadership: what is not sent stays undone; what is in flight may be
    /// done or not. Gives the effects that it still reports.
    pub(crate) fn stop(&mut self, api: &mut ApiServer) -> Vec<EffectId> {
        let mut ended = Vec::new();
        for (_, calls) in std::mem::take(&mut self.by_pod) {
            if let Some(effect) = calls.in_flight {
                ended.push(effect.id);
                if self.dice(effect.id, 3).chance(50) {
                    self.act(&effect, api);
                }
            }
            ended.extend(calls.queued.map(|effect| effect.id));
        }
        ended
    }

    fn fate(&self, effect: &Effect, dice: &mut Dice) -> Fate {
        if !dice.chance(self.faults) {
            return Fate::Done;
        }
        match effect.action {
            EffectAction::Bind { .. } => *dice.pick(&[
                &Fate::Refused,
                &Fate::Unavailable,
                &Fate::LostAnswer,
                &Fate::Superseded,
            ]),
            EffectAction::PatchStatus(_) => {
                *dice.pick(&[&Fate::Refused, &Fate::Unavailable, &Fate::Superseded])
            }
            _ => *dice.pick(&[&Fate::Refused, &Fate::Unavailable, &Fate::LostAnswer]),
        }
    }

    fn act(&mut self, effect: &Effect, api: &mut ApiServer) -> EffectOutcome {
        match &effect.action {
            EffectAction::Bind { node } | EffectAction::BindByExtender { node, .. } => {
                self.bind(effect, node, api)
            }
            EffectAction::PatchStatus(patch) => patch_status(effect, patch, api),
            EffectAction::Evict(eviction) => evict(effect, eviction, api),
            EffectAction::BindVolumes(writes) => bind_volumes(writes, api),
            EffectAction::Ask(_) | EffectAction::PreBind(_) | EffectAction::RecordEvent(_) => DONE,
        }
    }

    fn bind(&mut self, effect: &Effect, node: &str, api: &mut ApiServer) -> EffectOutcome {
        if let Some(earlier) = api.bound_by_us(&effect.uid.0) {
            let pod = &effect.pod;
            let finding = format!("pod {pod} was bound to node {earlier}, and is to {node} again");
            self.findings.push(finding);
        }
        match api.bind(&effect.pod, &effect.uid.0, node) {
            Ok(()) => {
                api.note_ours(&effect.uid.0, node);
                DONE
            }
            Err(Refused::Gone) => failed(FailureKind::Gone, "pods not found"),
            Err(Refused::Bound(other)) if other == node => DONE,
            Err(Refused::Bound(_)) => failed(FailureKind::AlreadyBound, "it is bound elsewhere"),
            Err(Refused::Conflict) => failed(FailureKind::Unavailable, "the pod has gates"),
        }
    }
}

fn is_binding(effect: &Effect) -> bool {
    matches!(
        effect.action,
        EffectAction::Bind { .. } | EffectAction::BindByExtender { .. }
    )
}

fn superseded(id: EffectId) -> Ended {
    Ended {
        id,
        outcome: EffectOutcome::Superseded,
        after: Duration::ZERO,
    }
}

/// Most calls take milliseconds, some seconds.
fn delay(dice: &mut Dice) -> Duration {
    let milliseconds = match dice.below(10) {
        0 => dice.between(500, 3_000),
        1 | 2 => 0,
        _ => dice.between(1, 50),
    };
    Duration::from_millis(milliseconds as u64)
}

fn merge(before: &StatusPatch, after: &mut StatusPatch) {
    if after.condition.is_none() {
        after.condition.clone_from(&before.condition);
    }
    if after.nominated_node.is_none() {
        after.nominated_node.clone_from(&before.nominated_node);
    }
}

fn patch_status(effect: &Effect, patch: &StatusPatch, api: &mut ApiServer) -> EffectOutcome {
    if api.pod(&effect.pod, &effect.uid.0).is_none() {
        return failed(FailureKind::Gone, "pods not found");
    }
    api.update(Kind::Pod, &effect.pod, |pod| {
        if let Some(condition) = &patch.condition {
            pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False",
                "reason": condition.reason, "message": condition.message,
                "observedGeneration": condition.observed_generation}]);
        }
        if let Some(node) = &patch.nominated_node {
            pod["status"]["nominatedNodeName"] = match &**node {
                "" => Value::Null,
                node => node.into(),
            };
        }
    });
    DONE
}

/// Says so in the status, then deletes the pod; one without a node goes at once.
fn evict(effect: &Effect, eviction: &Eviction, api: &mut ApiServer) -> EffectOutcome {
    let Some(pod) = api.pod(&effect.pod, &effect.uid.0) else {
        return failed(FailureKind::Gone, "pods not found");
    };
    let is_graceful = !text(pod, "/spec/nodeName").is_empty();
    api.update(Kind::Pod, &effect.pod, |pod| {
        pod["status"]["conditions"] = json!([{"type": "DisruptionTarget", "status": "True",
            "reason": "PreemptionByScheduler", "message": eviction.message}]);
    });
    api.delete_pod(&effect.pod, is_graceful);
    DONE
}

/// First the volumes, then the claims; the first that fails ends it.
fn bind_volumes(writes: &VolumeWrites, api: &mut ApiServer) -> EffectOutcome {
    let mut versions = Vec::new();
    for write in &writes.volumes {
        let claim = &write.claim;
        let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "namespace": &*claim.key.namespace, "name": &*claim.key.name, "uid": &*claim.uid,
            "resourceVersion": &*claim.resource_version});
        let written = patch_object(Kind::PersistentVolume, &write.volume, api, |volume| {
            if write.is_bound_by_controller {
                volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] =
                    "yes".into();
            }
            volume["spec"]["claimRef"] = reference;
        });
        match written {
            Ok(version) => versions.push(version),
            Err(outcome) => return outcome,
        }
    }
    for write in &writes.claims {
        let written = patch_object(Kind::PersistentVolumeClaim, &write.claim, api, |claim| {
            claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] =
                (&*write.node).into();
        });
        match written {
            Ok(version) => versions.push(version),
            Err(outcome) => return outcome,
        }
    }
    EffectOutcome::Written(versions)
}

/// Gives the version after the patch.
fn patch_object(
    kind: Kind,
    object: &WrittenObject,
    api: &mut ApiServer,
    patch: impl FnOnce(&mut Value),
) -> Result<Option<u64>, EffectOutcome> {
    let Some(known) = api.get(kind, &object.key) else {
        return Err(failed(FailureKind::Refused, "not found"));
    };
    let is_same = text(known, "/metadata/uid") == &*object.uid
        && text(known, "/metadata/resourceVersion") == &*object.resource_version;
    if !is_same {
        return Err(failed(
            FailureKind::Unavailable,
            "the object has been modified",
        ));
    }
    api.update(kind, &object.key, patch);
    let known = api.get(kind, &object.key);
    let version = known.map(|known| text(known, "/metadata/resourceVersion").to_owned());
    Ok(version.and_then(|version| version.parse().ok()))
}
