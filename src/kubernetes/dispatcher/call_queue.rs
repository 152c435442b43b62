//! Which call is next: one at a time per pod, later ones merged (`call_queue.go`).

use std::collections::VecDeque;

use indexmap::IndexMap;

use crate::engine::effect::{Effect, EffectAction, EffectId};
use crate::model::pod_info::PodUid;

/// Calls by pod.
#[derive(Debug, Default)]
pub(super) struct CallQueue {
    by_pod: IndexMap<PodUid, PodCalls>,
    ready: VecDeque<PodUid>,
}

#[derive(Debug, Default)]
struct PodCalls {
    in_flight: Option<InFlight>,
    queued: Option<Effect>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InFlight {
    Binding,
    Other,
}

/// What became of a submitted effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Submitted {
    /// It waits for its turn.
    Queued,
    /// It took the place of an earlier one that was not sent yet.
    Replaced(EffectId),
    /// It says nothing any more, since a binding of the pod waits or is in flight.
    Dropped,
}

impl CallQueue {
    pub(super) fn submit(&mut self, mut effect: Effect) -> Submitted {
        let calls = self.by_pod.entry(effect.uid.clone()).or_default();
        let is_patch = matches!(effect.action, EffectAction::PatchStatus(_));
        // If the binding fails, a later effect says so.
        if is_patch && calls.in_flight == Some(InFlight::Binding) {
            return Submitted::Dropped;
        }
        let Some(earlier) = calls.queued.take() else {
            let uid = effect.uid.clone();
            let starts = calls.in_flight.is_none();
            calls.queued = Some(effect);
            if starts {
                self.ready.push_back(uid);
            }
            return Submitted::Queued;
        };
        match (&earlier.action, &mut effect.action) {
            (EffectAction::PatchStatus(before), EffectAction::PatchStatus(after)) => {
                if after.condition.is_none() {
                    after.condition.clone_from(&before.condition);
                }
                if after.nominated_node.is_none() {
                    after.nominated_node.clone_from(&before.nominated_node);
                }
            }
            // Nothing is to be said of a pod that is about to go, and it is bound no more. A binding
            // is more than a status, and clears the nomination by itself.
            (EffectAction::Evict(_), _)
            | (
                EffectAction::Bind { .. } | EffectAction::BindByExtender { .. },
                EffectAction::PatchStatus(_),
            ) => {
                calls.queued = Some(earlier);
                return Submitted::Dropped;
            }
            _ => {}
        }
        calls.queued = Some(effect);
        Submitted::Replaced(earlier.id)
    }

    /// Starts the next call; its pod is busy until [`Self::finish`].
    pub(super) fn start_next(&mut self) -> Option<Effect> {
        let uid = self.ready.pop_front()?;
        let calls = self.by_pod.get_mut(&uid)?;
        let effect = calls.queued.take()?;
        calls.in_flight = Some(match effect.action {
            EffectAction::Bind { .. } | EffectAction::BindByExtender { .. } => InFlight::Binding,
            _ => InFlight::Other,
        });
        Some(effect)
    }

    /// A call of the pod ended.
    pub(super) fn finish(&mut self, uid: &PodUid) {
        let Some(calls) = self.by_pod.get_mut(uid) else {
            return;
        };
        calls.in_flight = None;
        if calls.queued.is_some() {
            self.ready.push_back(uid.clone());
        } else {
            self.by_pod.swap_remove(uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::effect::{ConditionPatch, StatusPatch};
    use crate::model::pod_info::PodKey;

    fn effect(id: u64, pod: &str, action: EffectAction) -> Effect {
        let key = PodKey {
            namespace: "ns".into(),
            name: pod.into(),
        };
        Effect {
            id: EffectId(id),
            pod: key,
            uid: PodUid(pod.into()),
            profile: "bayplan".into(),
            action,
        }
    }

    fn bind() -> EffectAction {
        EffectAction::Bind { node: "n".into() }
    }

    fn condition(message: &str) -> EffectAction {
        let message = message.to_owned();
        let condition = ConditionPatch {
            reason: "Unschedulable",
            message,
            observed_generation: 1,
            is_new: true,
        };
        EffectAction::PatchStatus(StatusPatch {
            condition: Some(condition),
            nominated_node: None,
        })
    }

    fn nomination(node: &str) -> EffectAction {
        EffectAction::PatchStatus(StatusPatch {
            condition: None,
            nominated_node: Some(node.into()),
        })
    }

    #[test]
    fn one_call_of_a_pod_is_in_flight_while_others_go_on() {
        let mut queue = CallQueue::default();
        queue.submit(effect(1, "a", condition("x")));
        queue.submit(effect(2, "b", bind()));
        assert_eq!(queue.start_next().unwrap().id, EffectId(1));
        assert_eq!(queue.submit(effect(3, "a", bind())), Submitted::Queued);
        assert_eq!(queue.start_next().unwrap().id, EffectId(2));
        assert!(queue.start_next().is_none());
        queue.finish(&PodUid("a".into()));
        assert_eq!(queue.start_next().unwrap().id, EffectId(3));
        queue.finish(&PodUid("a".into()));
        queue.finish(&PodUid("b".into()));
        assert!(queue.by_pod.is_empty() && queue.ready.is_empty());
    }

    #[test]
    fn later_patches_are_merged_into_one() {
        let mut queue = CallQueue::default();
        queue.submit(effect(1, "a", condition("x")));
        assert_eq!(
            queue.submit(effect(2, "a", nomination("n"))),
            Submitted::Replaced(EffectId(1))
        );
        let EffectAction::PatchStatus(patch) = queue.start_next().unwrap().action else {
            panic!("a patch must be sent");
        };
        assert_eq!(patch.condition.unwrap().message, "x");
        assert_eq!(patch.nominated_node.as_deref(), Some("n"));
        assert!(queue.start_next().is_none());
    }

    #[test]
    fn a_binding_drops_what_was_to_be_said_about_the_pod() {
        let mut queue = CallQueue::default();
        queue.submit(effect(1, "a", condition("x")));
        assert_eq!(
            queue.submit(effect(2, "a", bind())),
            Submitted::Replaced(EffectId(1))
        );
        assert_eq!(
            queue.submit(effect(3, "a", condition("y"))),
            Submitted::Dropped
        );
        assert_eq!(queue.start_next().unwrap().id, EffectId(2));
    }
}
