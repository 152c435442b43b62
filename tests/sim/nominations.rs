//! Which pods hold room on which node without being there: what their objects say, and what was
//! decided since.

use std::collections::BTreeMap;
use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::audit::Nominated;
use bayplan::engine::decision::{Decision, Outcome};
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::Pod;
use bayplan::model::pod_info::PodUid;
use bayplan::model::requests::pod_requests;

/// Nominated pods, each with its node.
pub(crate) struct Nominations<'a>(pub(crate) &'a mut BTreeMap<PodUid, Nominated>);

impl Nominations<'_> {
    fn set(&mut self, uid: PodUid, node: Option<&str>, decided: Option<String>) {
        if node.is_none() && decided.is_none() {
            self.0.remove(&uid);
            return;
        }
        let node = node.map(str::to_owned);
        self.0.insert(uid, Nominated { node, decided });
    }

    /// What was decided about the pod and its object has not named.
    fn decided_about(&self, uid: &PodUid) -> Option<&String> {
        let known = self.0.get(uid)?;
        known.decided.as_ref().or(known.node.as_ref())
    }

    /// `engine` is about to be told of `event`. `is_placed`: the pod is on its way to a node.
    /// `is_answered_for`: the scheduler decides about the pod.
    pub(crate) fn take_in(
        &mut self,
        event: &ClusterEvent,
        engine: &Engine,
        is_placed: impl Fn(&PodUid) -> bool,
        is_answered_for: impl Fn(&Pod) -> bool,
    ) {
        let mut applied = |pod: &Arc<Pod>| {
            let uid = PodUid::of(pod);
            let named = pod.status.nominated_node_name.as_deref();
            let named = named.filter(|node| !node.is_empty());
            if is_placed(&uid) || named.is_none() && !self.0.contains_key(&uid) {
                return;
            }
            let can_wait = !pod.is_terminal() && pod.bound_node().is_none();
            if !can_wait || pod_requests(pod).is_err() {
                return self.set(uid, None, None);
            }
            let queued = engine.queue().get(&uid).filter(|_| is_answered_for(pod));
            let Some(queued) = queued else {
                return self.set(uid, named, None);
            };
            let earlier = queued.info.nominated_node.as_deref();
            if named == earlier {
                // The object does not show yet what was decided.
                return;
            }
            let decided = self.decided_about(&uid).cloned();
            let decided = decided.filter(|node| ![named, earlier].contains(&Some(node)));
            self.set(uid, named, decided);
        };
        match event {
            ClusterEvent::PodApplied(pod) => applied(pod),
            ClusterEvent::PodDeleted(pod) => self.set(PodUid::of(pod), None, None),
            _ => {}
        }
    }

    /// What an attempt decided.
    pub(crate) fn decided(&mut self, decision: &Decision, is_terminating: bool) {
        let node = decision.nominated_node.as_deref();
        match decision.outcome {
            Outcome::Unschedulable { .. } | Outcome::Error { .. } => {
                self.set(decision.uid.clone(), node, None);
            }
            // Until it is gone it keeps its room.
            Outcome::Skipped if is_terminating => {}
            Outcome::Scheduled { .. } | Outcome::Skipped => {
                self.set(decision.uid.clone(), None, None);
            }
            Outcome::Suspended => {}
        }
    }
}
