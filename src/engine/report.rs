//! What is said about a pod: conditions and events, in upstream's words.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::effect::{
    ConditionPatch, EffectAction, EventKind, EventRecord, Eviction, StatusPatch,
};
use crate::model::objects::Pod;
use crate::model::pod_class::InvalidPod;
use crate::model::pod_info::{PodInfo, ReportedCondition};

/// The longest note of an event in bytes (`validation.NoteLengthLimit`).
const NOTE_MAX: usize = 1024;
/// What a note that was cut ends with.
const CUT: &str = " ...";

/// Why a pod is not scheduled: the reason of the condition `PodScheduled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureReason {
    /// No node will do.
    Unschedulable,
    /// Something went wrong.
    SchedulerError,
}

impl FailureReason {
    fn text(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::SchedulerError => "SchedulerError",
        }
    }

    /// The label `result` of the metrics of an attempt.
    pub(super) fn result(self) -> &'static str {
        match self {
            Self::Unschedulable => "unschedulable",
            Self::SchedulerError => "error",
        }
    }
}

/// What an attempt means for the nomination of its pod.
#[derive(Debug, Default)]
pub(super) struct Renomination {
    /// The node that the pod was nominated for before, whether its object names it yet or not.
    pub(super) promised: Option<Arc<str>>,
    /// The one that it is nominated for now.
    pub(super) node: Option<Arc<str>>,
}

impl Engine {
    /// Says that an attempt failed: condition and nomination in one PATCH, if they changed, and an
    /// event.
    pub(super) fn report_failure(
        &mut self,
        pod: &PodInfo,
        reason: FailureReason,
        message: &str,
        nominated: &Renomination,
    ) {
        let event = failed_scheduling(pod, message);
        self.effects.tell(pod, EffectAction::RecordEvent(event));
        let patch = StatusPatch {
            condition: changed_condition(pod, reason, message),
            nominated_node: changed_nomination(pod, nominated),
        };
        if patch != StatusPatch::default() {
            self.effects.tell(pod, EffectAction::PatchStatus(patch));
        }
    }

    /// Says that a pod is bound.
    pub(super) fn report_bound(&mut self, pod: &PodInfo, node: &str) {
        let event = EventRecord {
            kind: EventKind::Normal,
            reason: "Scheduled",
            action: "Binding",
            note: cut(&format!("Successfully assigned {} to {node}", pod.key)),
            reporting_controller: Arc::clone(&pod.scheduler_name),
            related: None,
        };
        self.effects.tell(pod, EffectAction::RecordEvent(event));
    }

    /// Says that a pod that is being deleted is not scheduled any more.
    pub(super) fn report_terminating(&mut self, pod: &PodInfo) {
        let event = failed_scheduling(pod, &format!("skip schedule deleting pod: {}", pod.key));
        self.effects.tell(pod, EffectAction::RecordEvent(event));
    }

    /// Says, once, that a pod cannot be read.
    pub(super) fn report_invalid(&mut self, pod: &Pod, error: &InvalidPod) {
        let readable = Pod {
            metadata: pod.metadata.clone(),
            status: pod.status.clone(),
            ..Pod::default()
        };
        let Ok(mut info) = self.cache.vocabulary.compile_pod(&readable) else {
            return;
        };
        info.scheduler_name = pod.profile_name().into();
        let message = error.to_string();
        let known = info
            .reported
            .as_ref()
            .is_some_and(|known| *known.message == *message);
        if !known {
            let none = Renomination::default();
            self.report_failure(&info, FailureReason::SchedulerError, &message, &none);
        }
        self.cache.vocabulary.release_pod(&info);
    }
}

fn failed_scheduling(pod: &PodInfo, note: &str) -> EventRecord {
    EventRecord {
        kind: EventKind::Warning,
        reason: "FailedScheduling",
        action: "Scheduling",
        note: cut(note),
        reporting_controller: Arc::clone(&pod.scheduler_name),
        related: None,
    }
}

/// What is said of a pod that went from `node` for `preemptor`; one that was on its way there
/// loses nothing but its place, which `called_back` tells.
pub(super) fn preempted(preemptor: &PodInfo, node: &str, called_back: bool) -> EventRecord {
    let place = if called_back {
        " (in kube-scheduler memory)."
    } else {
        ""
    };
    EventRecord {
        kind: EventKind::Normal,
        reason: "Preempted",
        action: "Preempting",
        note: cut(&format!(
            "Preempted by pod {} on node {node}{place}",
            preemptor.uid
        )),
        reporting_controller: Arc::clone(&preemptor.scheduler_name),
        related: Some((preemptor.key.clone(), preemptor.uid.clone())),
    }
}

/// What an evicted pod's status says.
pub(super) fn eviction(victim: &PodInfo, preemptor: &PodInfo) -> Eviction {
    Eviction {
        message: format!(
            "{}: preempting to accommodate a higher priority pod",
            preemptor.scheduler_name
        ),
        observed_generation: victim.generation,
    }
}

/// The condition, unless the API says so already.
fn changed_condition(
    pod: &PodInfo,
    reason: FailureReason,
    message: &str,
) -> Option<ConditionPatch> {
    let wanted = ReportedCondition {
        reason: reason.text().into(),
        message: message.into(),
        observed_generation: pod.generation,
    };
    (pod.reported.as_deref() != Some(&wanted)).then(|| ConditionPatch {
        reason: reason.text(),
        message: message.to_owned(),
        observed_generation: pod.generation,
        is_new: pod.reported.is_none(),
    })
}

/// The nomination, unless the API says so already and nothing else was sent; none clears it.
fn changed_nomination(pod: &PodInfo, nominated: &Renomination) -> Option<Arc<str>> {
    let Renomination { promised, node } = nominated;
    let is_other = pod.nominated_node != *node || (promised.is_some() && promised != node);
    is_other.then(|| node.clone().unwrap_or_else(|| Arc::from("")))
}

/// A note that fits (`truncateMessage`), cut between characters.
fn cut(note: &str) -> String {
    if note.len() <= NOTE_MAX {
        return note.to_owned();
    }
    let end = (0..=NOTE_MAX - CUT.len())
        .rev()
        .find(|end| note.is_char_boundary(*end));
    format!("{}{CUT}", &note[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_notes_are_cut_between_characters() {
        assert_eq!(cut(&"x".repeat(NOTE_MAX)), "x".repeat(NOTE_MAX));
        let long = cut(&"x".repeat(NOTE_MAX + 1));
        assert_eq!((long.len(), long.ends_with("x ...")), (NOTE_MAX, true));
        let wide = cut(&"é".repeat(NOTE_MAX));
        assert!(wide.len() <= NOTE_MAX && wide.ends_with("é ..."));
    }
}
