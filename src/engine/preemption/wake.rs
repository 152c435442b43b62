//! What ends a preemption early or wakes its preemptor: changes of nodes and pods, and time.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::cache::snapshot::Snapshot;
use crate::engine::framework::ActionType;
use crate::engine::framework::earlier_preemptions::EarlierPreemptions;
use crate::engine::preemption::{Preemptions, STATUS_LAG, Stage};
use crate::engine::queue::Place;
use crate::model::pod_info::{PodInfo, PodUid};

/// What may decide whether a pod can be on a node.
const DECISIVE: ActionType = ActionType::UPDATE_NODE_ALLOCATABLE
    .or(ActionType::UPDATE_NODE_LABEL)
    .or(ActionType::UPDATE_NODE_TAINT)
    .or(ActionType::UPDATE_NODE_DECLARED_FEATURE)
    .or(ActionType::DELETE);

// === impl Preemptions ===

impl Preemptions {
    /// The pod leaves the queue: nothing of it is remembered.
    pub(crate) fn forget(&mut self, preemptor: &PodUid) {
        self.end(preemptor);
        self.history.forget(preemptor);
    }
}

// === impl Engine ===

impl Engine {
    /// What there is to know about earlier preemptions of the pod in an attempt.
    pub(in crate::engine) fn earlier_preemptions(
        &self,
        info: &PodInfo,
        cluster: Snapshot<'_>,
    ) -> EarlierPreemptions {
        let preemptions = &self.cache.preemptions;
        let stage = preemptions.by_preemptor.get(&info.uid).map(|p| &p.stage);
        EarlierPreemptions {
            drains: preemptions.drains(&info.uid).map(Arc::clone),
            is_overdue: stage == Some(&Stage::Overdue),
            evicted_lately: !self.config.only_notes_evictions
                && preemptions
                    .last
                    .is_some_and(|last| self.now < last + STATUS_LAG),
            vain: preemptions.history.vain_nodes(info, cluster),
        }
    }

    /// Victims that are awaited for too long are awaited no longer, and what is remembered for
    /// long enough is forgotten.
    pub(in crate::engine) fn expire_preemptions(&mut self) {
        let mut pods = self.cache.preemptions.expire(self.now);
        pods.extend(self.cache.preemptions.history.expire(self.now));
        self.wake_after_backoff(&pods);
    }

    /// The pods that are nominated for the node look for another one, or come to fit. Evictions
    /// that were not sent are not sent any more: the node is not what was judged.
    pub(in crate::engine) fn nominated_node_changed(&mut self, node: &str, action: ActionType) {
        if !action.intersects(DECISIVE) {
            return;
        }
        let mut pods = self.cache.preemptions.history.forget_node(node);
        let is_gone = action.intersects(ActionType::DELETE);
        for pod in self.cache.nominator.on(node) {
            if is_gone || self.cache.preemptions.is_evicting(&pod.uid) {
                self.cache.preemptions.end(&pod.uid);
            }
            pods.push(pod.uid.clone());
        }
        self.wake_after_backoff(&pods);
    }

    /// The pod is another one than was judged.
    pub(in crate::engine) fn preemptor_changed(&mut self, uid: &PodUid) {
        self.cache.preemptions.history.forget(uid);
        if self.cache.preemptions.is_evicting(uid) {
            self.cache.preemptions.end(uid);
            self.activate_waiting(std::slice::from_ref(uid));
        }
    }

    /// Somebody took the nomination for `node` from the pod.
    pub(in crate::engine) fn promise_withdrawn(&mut self, uid: &PodUid, node: &str) {
        let preemption = self.cache.preemptions.node_and_plugin(uid);
        if preemption.is_some_and(|(on, _)| *on == *node) {
            self.cache.preemptions.end(uid);
            self.wake_after_backoff(std::slice::from_ref(uid));
        }
    }

    /// Tries those of the pods at once that wait for an event.
    pub(in crate::engine) fn activate_waiting(&mut self, pods: &[PodUid]) {
        let waits = |uid: &&PodUid| {
            let place = self.queue.place(uid);
            matches!(place, Some(Place::Unschedulable | Place::Gated))
        };
        let pods: Vec<PodUid> = pods.iter().filter(waits).cloned().collect();
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        queue.activate(now, &pods, &plugins);
    }

    /// Tries those of the pods that wait for an event when their backoff is over.
    pub(in crate::engine) fn wake_after_backoff(&mut self, pods: &[PodUid]) {
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        for uid in pods {
            queue.wake(now, uid, &plugins);
        }
    }
}
