//! What extenders say of the candidates of a preemption (`callExtenders`, `ProcessPreemption`).

use std::collections::BTreeMap;

use crate::engine::framework::extender::{
    Answer, Candidates, Extender, PreemptionExtenders, Processed, Question, Subject,
};
use crate::engine::scheduling_cycle::Cycle;
use crate::model::pod_info::{PodKey, PodUid};

impl PreemptionExtenders for Cycle<'_> {
    fn are_asked(&self) -> bool {
        let mut extenders = self.profile.extenders.iter();
        extenders.any(|extender| self.has_a_say(extender))
    }

    fn process(&self, candidates: Candidates) -> Processed {
        let mut left = candidates;
        for (position, extender) in self.profile.extenders.iter().enumerate() {
            if left.is_empty() {
                break;
            }
            if !self.has_a_say(extender) {
                continue;
            }
            let subject = Subject::Preempt {
                candidates: left.clone(),
                names: self.names_of(&left),
            };
            let question = self.question(position, extender, subject);
            let Some((asked, answer)) = self.answer_to(&question) else {
                return Processed::Ask(Box::new(question));
            };
            match self.narrowed(extender, asked, answer, &left) {
                Ok(narrowed) => left = narrowed,
                Err(_) if extender.config.ignorable => {}
                Err(message) => return Processed::Failed(message),
            }
        }
        Processed::Left(left)
    }
}

impl Cycle<'_> {
    fn has_a_say(&self, extender: &Extender) -> bool {
        extender.preempts() && extender.is_interested(&self.pod)
    }

    fn names_of(&self, candidates: &Candidates) -> BTreeMap<PodUid, PodKey> {
        let victims = candidates.values().flat_map(|victims| &victims.pods);
        let named = victims.filter_map(|uid| {
            let pod = self.cluster.pod(uid)?;
            Some((uid.clone(), pod.info.key.clone()))
        });
        named.collect()
    }

    /// The candidates that `answer` leaves. One of which the victims are others by `now` is left
    /// for the next attempt.
    fn narrowed(
        &self,
        extender: &Extender,
        asked: &Question,
        answer: &Answer,
        now: &Candidates,
    ) -> Result<Candidates, String> {
        let (Answer::Preempted(answered), Subject::Preempt { candidates, .. }) =
            (answer, &asked.subject)
        else {
            return Err(match answer {
                Answer::Failed(message) => message.clone(),
                _ => "the extender answered another question".to_owned(),
            });
        };
        let mut left = Candidates::new();
        for (name, victims) in answered {
            let offered = candidates.get(name);
            if offered.is_some() && offered != now.get(name) {
                continue;
            }
            let Some(node) = self.cluster.node(name) else {
                return Err(format!("nodeinfo not found for node name {name:?}"));
            };
            let stranger = victims
                .pods
                .iter()
                .find(|uid| !node.pods().any(|pod| pod.info.uid == **uid));
            if let Some(uid) = stranger {
                return Err(format!(
                    "extender: {} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, but the \
                     pod is not found on that node",
                    extender.config.url_prefix
                ));
            }
            if !victims.pods.is_empty() {
                left.insert(name.clone(), victims.clone());
            } else if !extender.config.ignorable {
                return Err(format!("expected at least one victim pod on node {name:?}"));
            }
        }
        Ok(left)
    }
}
