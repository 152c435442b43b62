//! What the engine wants done: intents that the dispatcher carries out.
//!
//! Every effect but an event has exactly one completion, which comes back as
//! [`ClusterEvent::EffectCompleted`](crate::engine::event::ClusterEvent::EffectCompleted).

pub mod volumes;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::apis::extender::Extender;
use crate::engine::effect::volumes::VolumeWrites;
use crate::engine::framework::extender::{Answer, Question};
use crate::model::pod_info::{PodKey, PodUid};

/// Tells effects apart, also late completions of superseded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// An intent about a pod.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Which completion it gets.
    pub id: EffectId,
    /// The pod it is about.
    pub pod: PodKey,
    /// Its UID: a precondition of every write.
    pub uid: PodUid,
    /// The profile it comes from, for metrics.
    pub profile: Arc<str>,
    /// What to do.
    pub action: EffectAction,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectAction {
    /// Bind the pod to the node (POST `pods/binding`).
    Bind {
        /// The node.
        node: Arc<str>,
    },
    /// Have an extender bind the pod to the node.
    BindByExtender {
        /// The node.
        node: Arc<str>,
        /// Who binds.
        extender: Arc<Extender>,
    },
    /// Write condition and nomination in one PATCH of `pods/status` (`Effect::SetCondition` and
    /// `Effect::Nominate` of one attempt).
    PatchStatus(StatusPatch),
    /// Evict the pod: say so in its status (PATCH of `pods/status`), then DELETE it. Done: it is on
    /// its way out. Failed as gone: it had left before.
    Evict(Eviction),
    /// Reserve volumes and have others made (PATCH of `persistentvolumes` and
    /// `persistentvolumeclaims`). Done: nothing is to be waited for; written: the controllers have
    /// yet to act.
    BindVolumes(Arc<VolumeWrites>),
    /// Something else a plugin wants done before the binding (devices); the plugin and the
    /// dispatcher agree on the type.
    PreBind(Arc<dyn PreBindWork>),
    /// Ask somebody outside.
    Ask(Question),
    /// Tell people (events.k8s.io/v1). No completion.
    RecordEvent(EventRecord),
}

/// Work before the binding that only its plugin and the dispatcher understand.
pub trait PreBindWork: fmt::Debug + Send + Sync {
    /// A word for metrics and logs.
    fn name(&self) -> &'static str;
    /// The concrete work.
    fn as_any(&self) -> &dyn Any;
}

impl PartialEq for dyn PreBindWork {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}

/// A change of a pod's status. What is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPatch {
    /// The condition `PodScheduled` = `False`.
    pub condition: Option<ConditionPatch>,
    /// `status.nominatedNodeName`; the empty text clears it.
    pub nominated_node: Option<Arc<str>>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionPatch {
    /// `Unschedulable` or `SchedulerError`.
    pub reason: &'static str,
    /// The whole sentence.
    pub message: String,
    /// The generation of the pod that was judged.
    pub observed_generation: i64,
    /// The condition was not `False` before: the time of the change is now.
    pub is_new: bool,
}

/// What is said in the status of a pod that is evicted (the condition `DisruptionTarget` for the
/// reason `PreemptionByScheduler`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The whole sentence.
    pub message: String,
    /// The generation of the pod that was judged.
    pub observed_generation: i64,
}

/// An event for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// `Normal` or `Warning`.
    pub kind: EventKind,
    /// `Scheduled`, `FailedScheduling`, `Preempted`.
    pub reason: &'static str,
    /// `Binding`, `Scheduling`, `Preempting`.
    pub action: &'static str,
    /// The sentence, at most 1024 bytes.
    pub note: String,
    /// The profile that speaks: `reportingController`.
    pub reporting_controller: Arc<str>,
    /// Another pod that has to do with it.
    pub related: Option<(PodKey, PodUid)>,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// As it should be.
    Normal,
    /// Somebody may want to look.
    Warning,
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectOutcome {
    /// It was carried out, or had been already.
    Done {
        /// The resourceVersion after the write, if the server told.
        resource_version: Option<u64>,
    },
    /// Several objects were written, in the order of the effect. The resourceVersion of each after
    /// the write, if the server told.
    Written(Vec<Option<u64>>),
    /// The answer to a question.
    Answered(Answer),
    /// A later effect on the same object replaced it before it was sent.
    Superseded,
    /// It was not carried out.
    Failed(EffectFailure),
}

/// Why an effect was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
}

/// What kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The pod is bound to another node.
    AlreadyBound,
    /// The pod is gone, being deleted, or another one has its name.
    Gone,
    /// The server refused it for another reason and will go on to do so.
    Refused,
    /// The server could not do it now: overload, outage, time-out that was settled as not done.
    Unavailable,
    /// This replica does not lead any more: nothing was sent, or what was sent stays in doubt.
    NotLeading,
}

impl EffectAction {
    /// A word for metrics and logs, as upstream's async API calls are named.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "pod_binding",
            Self::BindByExtender { .. } => "extender_binding",
            Self::PatchStatus(_) => "pod_status_patch",
            Self::Evict(_) => "pod_eviction",
            Self::BindVolumes(_) => "volume_binding",
            Self::PreBind(work) => work.name(),
            Self::Ask(_) => "extender",
            Self::RecordEvent(_) => "event",
        }
    }
}
