//! Pods come, change, get a node and go. Which pod is which is told by the UID.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::engine::cache::nominator::Promise;
use crate::engine::framework::{ActionType, ClusterEventKind, EventResource};
use crate::engine::queue::{RecordedChange, any_less, target_pod_change};
use crate::engine::{Activity, Engine};
use crate::model::objects::Pod;
use crate::model::pod_class::InvalidPod;
use crate::model::pod_info::{PodInfo, PodKey, PodUid};

impl Engine {
    pub(super) fn apply_pod(&mut self, pod: &Pod) {
        let (uid, key) = (PodUid::of(pod), PodKey::of(&pod.metadata));
        self.activity = Some(Activity::TakingInPod(key.clone(), uid.clone()));
        if let Some(other) = self.known.get(&key).filter(|other| **other != uid).cloned() {
            // The name was given to a new pod, and the deletion of the old one was not seen.
            self.delete_pod(&other);
        }
        if pod.is_terminal() {
            self.pod_deleted(pod);
        } else if pod.bound_node().is_some() {
            self.apply_bound(pod, &uid, &key);
        } else {
            self.apply_unbound(pod, &uid, &key);
        }
    }

    /// There are no other pods than these.
    pub(super) fn pods_listed(&mut self, uids: Vec<PodUid>) {
        let mut listed = HashSet::with_capacity_and_hasher(uids.len(), self.known.hasher().clone());
        listed.extend(uids);
        let is_listed = |uid: &PodUid| listed.contains(uid);
        self.quarantine.retain_pods(is_listed);
        let gone = self.known.iter().filter(|(_, uid)| !is_listed(uid));
        let mut gone: Vec<_> = gone.map(|(key, uid)| (key.clone(), uid.clone())).collect();
        gone.sort_unstable();
        for (key, uid) in gone {
            self.activity = Some(Activity::TakingInPod(key, uid.clone()));
            self.delete_pod(&uid);
        }
    }

    /// The watch says that the pod is gone.
    pub(super) fn pod_deleted(&mut self, pod: &Pod) {
        let (uid, key) = (PodUid::of(pod), PodKey::of(&pod.metadata));
        self.quarantine.release_pod(&key);
        self.activity = Some(Activity::TakingInPod(key, uid.clone()));
        self.delete_pod(&uid);
    }

    /// The pod is gone, wherever it was.
    fn delete_pod(&mut self, uid: &PodUid) {
        let held = self.cache.nominator.promise_to(uid);
        self.forget_pending(uid);
        self.promise_ended(uid, held);
        self.abandon_binding(uid);
        let Some(info) = self.cache.remove_pod(uid) else {
            return;
        };
        self.known.remove(&info.key);
        self.pod_left_node(&info);
        self.cache.vocabulary.release_pod(&info);
    }

    /// The pod is no longer on the node that it names here; who waited for that waits no longer.
    fn pod_left_node(&mut self, info: &PodInfo) {
        // First of all, so that nobody is held back any more.
        let preemptors = self.cache.preemptions.victim_gone(&info.uid);
        self.assigned_pod_gone(info.node_name.clone(), info);
        self.activate_waiting(&preemptors);
    }

    /// Takes a pod out of the queue, and lets go of the room that it was nominated for.
    pub(super) fn forget_pending(&mut self, uid: &PodUid) {
        let nominated = self.cache.clear_nomination(uid);
        let queued = self.leave_queue(uid);
        if let Some(key) = queued.or(nominated) {
            self.known.remove(&key);
        }
    }

    /// Takes a pod out of the queue; tells its name if it was there.
    pub(super) fn leave_queue(&mut self, uid: &PodUid) -> Option<PodKey> {
        self.suspensions.end(uid);
        self.cache.preemptions.forget(uid);
        let queued = self.queue.delete(uid)?;
        self.cache.vocabulary.release_pod(&queued.info);
        Some(queued.info.key)
    }

    /// The watch says that the pod has a node.
    fn apply_bound(&mut self, pod: &Pod, uid: &PodUid, key: &PodKey) {
        let mut info = match self.cache.vocabulary.compile_pod(pod) {
            Ok(info) => info,
            Err(error) => return self.quarantine_pod(key, uid, &error),
        };
        self.quarantine.release_pod(key);
        self.abandon_outrun_binding(uid, info.node_name.as_deref());
        let node = info.node_name.clone();
        let held = self.cache.nominator.promise_to(uid);
        let elsewhere = held.filter(|held| Some(&held.node) != node.as_ref());
        self.forget_pending(uid);
        let class = Arc::clone(self.cache.vocabulary.pod_class(info.class));
        self.note_known(&mut info);
        let was_assumed = self.cache.is_assumed(uid);
        let (labels, is_terminating) = (info.labels, info.is_terminating);
        if info.is_terminating {
            self.cache.preemptions.victim_going(uid, info.gone_by);
        }
        let earlier = self.cache.add_pod(info);
        let there = earlier.as_ref().filter(|pod| pod.node_name == node);
        let action = there.map_or(ActionType::ADD, |there| {
            let before = self.cache.vocabulary.pod_class(there.class);
            let mut action = ActionType::NONE;
            if any_less(&class.requests, &before.requests) {
                action = action.or(ActionType::UPDATE_POD_SCALE_DOWN);
            }
            if was_assumed {
                // Between decision and binding it may have become smaller.
                return action.or(ActionType::ADD);
            }
            if there.labels != labels {
                action = action.or(ActionType::UPDATE_POD_LABEL);
            }
            if action.is_none() && is_terminating && !there.is_terminating {
                action = ActionType::UPDATE;
            }
            action
        });
        if let Some(earlier) = earlier {
            if earlier.node_name != node {
                self.pod_left_node(&earlier);
            }
            self.cache.vocabulary.release_pod(&earlier);
        }
        if !action.is_none() {
            self.assigned_pod_changed(action, node, uid);
        }
        self.promise_ended(uid, elsewhere);
    }

    /// The watch says that the pod has no node.
    fn apply_unbound(&mut self, pod: &Pod, uid: &PodUid, key: &PodKey) {
        if self.bindings.contains(uid) {
            return self.update_binding(pod, uid);
        }
        if self.cache.pod(uid).is_some() {
            // Older than the binding: a pod never loses its node.
            return;
        }
        if self.profiles.get(pod.profile_name()).is_none() {
            self.quarantine.release_pod(key);
            return self.apply_foreign(pod, uid);
        }
        let held = self.cache.nominator.promise_to(uid);
        let mut info = match self.cache.vocabulary.compile_pod(pod) {
            Ok(info) => info,
            Err(error) => {
                self.forget_pending(uid);
                self.promise_ended(uid, held);
                self.report_invalid(pod, &error);
                return self.quarantine_pod(key, uid, &error);
            }
        };
        self.quarantine.release_pod(key);
        self.note_known(&mut info);
        let promised = self.queue.get(uid);
        let promised = promised.map(|pod| pod.info.nominated_node.clone());
        self.cache.update_nomination(&info, promised.as_ref());
        let nominated = info.nominated_node.clone();
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        let vocabulary = &plugins.cache.vocabulary;
        let mut is_changed = false;
        let earlier = match queue.get(uid) {
            None => queue.add(now, info, &plugins),
            Some(queued) => {
                let old = (&queued.info, &**vocabulary.pod_class(queued.info.class));
                let new = (&info, &**vocabulary.pod_class(info.class));
                let change = target_pod_change(old, new);
                is_changed = change.is_some();
                queue.update(now, info, change, &plugins)
            }
        };
        if let Some(earlier) = earlier {
            self.cache.vocabulary.release_pod(&earlier);
        }
        if is_changed {
            self.preemptor_changed(uid);
        }
        let is_known = promised.is_some();
        if let Some(Some(node)) = promised.filter(|promised| *promised != nominated) {
            self.promise_withdrawn(uid, &node);
        }
        let holds = self.cache.nominator.node_of(uid);
        if is_known && holds.is_some() && holds != held.as_ref().map(|held| &held.node) {
            // Somebody else nominated it: it takes the room, or gives it up.
            self.wake_after_backoff(std::slice::from_ref(uid));
        }
        self.promise_ended(uid, held);
    }

    /// A pod that another scheduler decides about: only the room that it was promised counts.
    fn apply_foreign(&mut self, pod: &Pod, uid: &PodUid) {
        let held = self.cache.nominator.promise_to(uid);
        let named = pod.status.nominated_node_name.as_deref();
        let named = named.filter(|node| !node.is_empty()).map(Arc::from);
        let compiled = named.map(|node| (node, self.cache.vocabulary.compile_pod(pod)));
        if let Some((node, Ok(mut info))) = compiled {
            self.leave_queue(uid);
            self.note_known(&mut info);
            self.cache.nominate(&info, Some(node));
            self.cache.vocabulary.release_pod(&info);
        } else {
            self.forget_pending(uid);
        }
        self.promise_ended(uid, held);
    }

    /// The pod `held` room on a node that it was nominated for; unless it still does, that is free
    /// for others. Those of a higher priority could take it all along.
    pub(super) fn promise_ended(&mut self, uid: &PodUid, held: Option<Promise>) {
        let holds = self.cache.nominator.node_of(uid);
        if let Some(Promise { node, priority }) = held.filter(|held| holds != Some(&held.node)) {
            let change = RecordedChange {
                priority_at_most: Some(priority),
                ..assigned_pod_change(ActionType::DELETE, Some(node), uid)
            };
            self.tell_queue(&change, None);
        }
    }

    /// Notes which pod has the name. The texts are kept once, here and in `info`.
    fn note_known(&mut self, info: &mut PodInfo) {
        match self.known.get_key_value(&info.key) {
            Some((key, uid)) if *uid == info.uid => {
                info.key = key.clone();
                info.uid = uid.clone();
            }
            _ => {
                self.known.insert(info.key.clone(), info.uid.clone());
            }
        }
    }

    fn quarantine_pod(&mut self, key: &PodKey, uid: &PodUid, error: &InvalidPod) {
        let reason = error.to_string();
        if self.quarantine.put_pod(key, uid, &reason) {
            let observed = (format!("pod {key}"), reason);
            self.observations.quarantined.push(observed);
        }
    }

    /// Tells the queue that a pod on a node came, changed or went.
    pub(super) fn assigned_pod_changed(
        &mut self,
        action: ActionType,
        node: Option<Arc<str>>,
        uid: &PodUid,
    ) {
        self.tell_queue(&assigned_pod_change(action, node, uid), None);
    }

    /// Tells the queue that the pod is no longer on `node`.
    pub(super) fn assigned_pod_gone(&mut self, node: Option<Arc<str>>, info: &PodInfo) {
        let change = assigned_pod_change(ActionType::DELETE, node, &info.uid);
        self.tell_queue(&change, Some(info));
    }

    /// Tells the queue of a change; plugins still see a pod that is `gone`.
    pub(super) fn tell_queue(&mut self, change: &RecordedChange, gone: Option<&PodInfo>) {
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        queue.move_all(now, change, &plugins.with_gone(gone));
    }

    /// Frees the room of a pod whose binding came to nothing.
    pub(super) fn forget_assumed(&mut self, info: &PodInfo) {
        if let Some(assumed) = self.cache.remove_pod(&info.uid) {
            self.cache.vocabulary.release_pod(&assumed);
        }
        let preemptors = self.cache.preemptions.victim_gone(&info.uid);
        self.activate_waiting(&preemptors);
    }
}

fn assigned_pod_change(action: ActionType, node: Option<Arc<str>>, uid: &PodUid) -> RecordedChange {
    RecordedChange {
        node,
        pod: Some(uid.clone()),
        ..RecordedChange::of(ClusterEventKind::new(EventResource::AssignedPod, action))
    }
}
