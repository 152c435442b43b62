//! Bindings that come to nothing (`handleBindingCycleError`).

use std::sync::Arc;

use crate::engine::binding_cycle::{Binding, Stage};
use crate::engine::diagnosis::Diagnosis;
use crate::engine::effect::{EffectFailure, FailureKind};
use crate::engine::framework::extender::EXTENDER;
use crate::engine::framework::extension_points::Refusal;
use crate::engine::framework::{PluginError, PluginName};
use crate::engine::observer::StatusCode;
use crate::engine::queue::Rejectors;
use crate::engine::report::{FailureReason, Renomination};
use crate::engine::{Engine, FailedBinding};
use crate::model::pod_info::PodUid;

impl Engine {
    /// The server did not bind the pod.
    pub(super) fn bind_failed(
        &mut self,
        uid: &PodUid,
        plugin: PluginName,
        failure: &EffectFailure,
    ) {
        match failure.kind {
            // The watch tells what became of the pod; nothing is to be said about it here.
            FailureKind::AlreadyBound | FailureKind::Gone => self.drop_binding(uid),
            FailureKind::Refused | FailureKind::Unavailable | FailureKind::NotLeading
                if plugin == EXTENDER =>
            {
                self.extender_did_not_bind(uid, failure);
            }
            FailureKind::Refused | FailureKind::Unavailable | FailureKind::NotLeading => {
                let message = format!("running Bind plugin {plugin:?}: {}", failure.message);
                self.fail_binding(uid, Refusal::Failed(PluginError { plugin, message }));
            }
        }
    }

    /// A pod of a higher priority needs the room of this one, which goes back to the queue if its
    /// binding has not begun. Tells whether it could be called back.
    pub(in crate::engine) fn call_back(&mut self, uid: &PodUid, plugin: PluginName) -> bool {
        let Some(binding) = self.bindings.by_uid.get(uid) else {
            return false;
        };
        let message = match &binding.stage {
            Stage::Waiting { .. } => "waiting on permit for pod: preempted".to_owned(),
            Stage::Nominating(_) => format!("preempted by {plugin}"),
            Stage::PreBinding {
                running, waiting, ..
            } => {
                let at = running.values().chain(waiting.keys()).min();
                let name =
                    |at: &usize| binding.profile.plugin(binding.profile.points.pre_bind[*at]);
                let name = at.map_or("", |at| name(at).name());
                format!("running PreBind plugin {name:?}: preempted by {plugin}")
            }
            Stage::Binding(..) => return false,
        };
        self.observe_permit_wait(uid, StatusCode::Error);
        self.observe_pre_bind(uid, StatusCode::Error);
        self.fail_binding(uid, Refusal::Failed(PluginError { plugin, message }));
        true
    }

    /// The plugins bind instead of an extender that may be ignored; otherwise its word counts
    /// (`extendersBinding`).
    fn extender_did_not_bind(&mut self, uid: &PodUid, failure: &EffectFailure) {
        let binding = self.bindings.by_uid.get(uid);
        let binder =
            binding.and_then(|binding| binding.profile.extenders.iter().find(|e| e.binds()));
        if binder.is_some_and(|binder| binder.config.ignorable)
            && failure.kind != FailureKind::NotLeading
        {
            return self.bind_by_plugins(uid);
        }
        let (plugin, message) = (EXTENDER, failure.message.clone());
        self.fail_binding(uid, Refusal::Failed(PluginError { plugin, message }));
    }

    /// Undoes everything and sends the pod back to the queue with the reason.
    pub(super) fn fail_binding(&mut self, uid: &PodUid, refusal: Refusal) {
        if self.cache.pod(uid).is_some() && !self.cache.is_assumed(uid) {
            // The watch has seen it on the node, whatever was answered.
            return self.drop_binding(uid);
        }
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return;
        };
        let Some(info) = self.free_room(uid, &mut binding) else {
            return;
        };
        let (rejectors, reason, message) = match refusal {
            Refusal::Rejected(rejection) => {
                let diagnosis = Diagnosis::of_chosen_node(&rejection);
                let rejectors = Rejectors::of(&diagnosis);
                (
                    rejectors,
                    FailureReason::Unschedulable,
                    diagnosis.to_string(),
                )
            }
            Refusal::Failed(error) => (
                Rejectors::error(),
                FailureReason::SchedulerError,
                error.to_string(),
            ),
        };
        self.observe_failed_binding(&binding, reason);
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        match binding.queued {
            Some(queued) => queue.put_back(now, queued, rejectors, &plugins),
            None => queue.requeue(now, uid, rejectors, &plugins),
        }
        if self.profiles.get(&info.scheduler_name).is_none() {
            // Its profile went while it was on its way: nobody here decides about it any more.
            self.forget_pending(uid);
        }
        // What was written into the status, or is about to be, is taken back.
        let nominated = Renomination {
            promised: binding.is_nominated.then(|| Arc::clone(&binding.node)),
            node: None,
        };
        // After the pod is back, so that the room it frees does not wake itself by hint.
        self.assigned_pod_gone(Some(binding.node), &info);
        self.report_failure(&info, reason, &message, &nominated);
        self.cache.vocabulary.release_pod(&info);
    }

    /// The attempt is over, and the pod not bound.
    fn observe_failed_binding(&mut self, binding: &Binding, reason: FailureReason) {
        self.observations.failed_bindings.push(FailedBinding {
            profile: Arc::clone(&binding.profile.scheduler_name),
            result: reason.result(),
            since_assumed: self.now.since(binding.assumed),
        });
    }

    /// The pod is gone or bound elsewhere: nothing of it stays.
    fn drop_binding(&mut self, uid: &PodUid) {
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return;
        };
        let Some(info) = self.free_room(uid, &mut binding) else {
            return;
        };
        self.observe_failed_binding(&binding, FailureReason::SchedulerError);
        // A pod that the watch has confirmed meanwhile stays known.
        if self.cache.pod(uid).is_none() {
            self.known.remove(&info.key);
        }
        if let Some(queued) = binding.queued {
            self.cache.preemptions.forget(uid);
            self.cache.vocabulary.release_pod(&queued.info);
        } else {
            self.forget_pending(uid);
        }
        self.assigned_pod_gone(Some(binding.node), &info);
        self.cache.vocabulary.release_pod(&info);
    }

    /// The watch says that the pod is on `node`: unless our own binding brought it there, it ends
    /// here, and with it what was reserved. The room on the node is freed by the caller.
    pub(in crate::engine) fn abandon_outrun_binding(&mut self, uid: &PodUid, node: Option<&str>) {
        let is_ours = |binding: &Binding| {
            matches!(binding.stage, Stage::Binding(..)) && node == Some(&*binding.node)
        };
        let outrun = self.bindings.by_uid.get(uid);
        if outrun.is_some_and(|binding| !is_ours(binding)) {
            self.abandon_binding(uid);
        }
    }

    /// The watch says that the pod is gone: its chain ends here. The room on the node is freed by
    /// the caller.
    pub(in crate::engine) fn abandon_binding(&mut self, uid: &PodUid) {
        self.observe_permit_wait(uid, StatusCode::Unschedulable);
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return;
        };
        let profile = Arc::clone(&binding.profile);
        let info = match &binding.queued {
            Some(queued) => queued.info.clone(),
            None => match self.cache.pod(uid) {
                Some(info) => info.clone(),
                None => return,
            },
        };
        self.unreserve(&profile, &mut binding.state, &info, &binding.node);
        if let Some(queued) = binding.queued {
            self.cache.vocabulary.release_pod(&queued.info);
        }
    }

    /// Unreserves and forgets; gives a copy of the newest version of the pod, with references of
    /// its own.
    fn free_room(
        &mut self,
        uid: &PodUid,
        binding: &mut Binding,
    ) -> Option<crate::model::pod_info::PodInfo> {
        let newest = binding
            .queued
            .as_ref()
            .or_else(|| self.queue.get(uid))
            .map(|q| q.info.clone());
        let newest = match newest {
            Some(newest) => newest,
            None => self.cache.pod(uid)?.clone(),
        };
        let info = self.cache.vocabulary.share_pod(&newest);
        let profile = Arc::clone(&binding.profile);
        self.unreserve(&profile, &mut binding.state, &info, &binding.node);
        // A pod that the watch has confirmed stays where the watch says it is.
        if self.cache.is_assumed(uid) {
            self.forget_assumed(&info);
        }
        Some(info)
    }
}
