//! The effects that wait to be drained, and who waits for their completion.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::effect::{Effect, EffectAction, EffectId};
use crate::engine::framework::extender::Question;
use crate::model::map::IdMap;
use crate::model::pod_info::{PodInfo, PodUid};

/// Outgoing effects.
#[derive(Debug, Default)]
pub(super) struct Effects {
    queue: VecDeque<Effect>,
    next: u64,
    owners: IdMap<EffectId, PodUid>,
    questions: IdMap<EffectId, Question>,
}

impl Effects {
    /// Nothing is under way, but numbers go on.
    pub(super) fn successor(&self) -> Self {
        Self {
            next: self.next,
            ..Self::default()
        }
    }

    /// Emits an effect about `pod` whose completion concerns it.
    pub(super) fn emit(&mut self, pod: &PodInfo, action: EffectAction) -> EffectId {
        let asked = match &action {
            EffectAction::Ask(question) => Some(question.clone()),
            _ => None,
        };
        let id = self.push(pod, action);
        self.owners.insert(id, pod.uid.clone());
        if let Some(question) = asked {
            self.questions.insert(id, question);
        }
        id
    }

    /// Emits an effect about `pod` whose completion concerns nobody.
    pub(super) fn tell(&mut self, pod: &PodInfo, action: EffectAction) {
        self.push(pod, action);
    }

    fn push(&mut self, pod: &PodInfo, action: EffectAction) -> EffectId {
        self.next += 1;
        let id = EffectId(self.next);
        self.queue.push_back(Effect {
            id,
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            profile: Arc::clone(&pod.scheduler_name),
            action,
        });
        id
    }

    /// The pod that waits for the completion of `id`, once.
    pub(super) fn owner(&mut self, id: EffectId) -> Option<PodUid> {
        self.owners.swap_remove(&id)
    }

    /// Effects whose completion is waited for, and by which pod.
    pub(super) fn owners(&self) -> impl Iterator<Item = (EffectId, &PodUid)> {
        self.owners.iter().map(|(id, uid)| (*id, uid))
    }

    /// Whether `id` is a question about the pod that is not answered yet.
    pub(super) fn is_open_question(&self, id: EffectId, uid: &PodUid) -> bool {
        self.questions.contains_key(&id) && self.owners.get(&id) == Some(uid)
    }

    /// What was asked by `id`, once.
    pub(super) fn asked(&mut self, id: EffectId) -> Option<Question> {
        self.questions.swap_remove(&id)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.queue.drain(..)
    }
}
