//! `Permit`: pods that must wait, and who lets them go.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::Engine;
use crate::engine::binding_cycle::Stage;
use crate::engine::framework::extension_points::{PermitDecision, Refusal};
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{CycleState, PluginName, Rejection};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

/// No pod waits longer than this (`maxTimeout` of `waiting_pods_map.go`).
const WAIT_MAX: Duration = Duration::from_mins(15);

impl Engine {
    /// Asks the `Permit` plugins; gives those that hold the pod, each until when.
    pub(super) fn permit(
        &mut self,
        profile: &Profile,
        state: &mut CycleState,
        info: &PodInfo,
        node: &str,
    ) -> Result<BTreeMap<PluginName, Timestamp>, Refusal> {
        let mut held_by = BTreeMap::new();
        let waiting: Vec<PodUid> = self.waiting_pods();
        let (mut allowed, mut rejected) = (Vec::new(), Vec::new());
        let mut refused = None;
        self.observer.entered(ObservedPoint::Permit);
        if let Some((pod, node)) = self.views(info, node) {
            for index in &profile.points.permit {
                let plugin = profile.plugin(*index);
                let Some(permit) = plugin.as_permit() else {
                    continue;
                };
                let verdict = permit.permit(state, &pod, &node, &waiting);
                allowed.extend(verdict.allow.into_iter().map(|uid| (uid, plugin.name())));
                rejected.extend(verdict.reject);
                match verdict.decision {
                    PermitDecision::Allow => {}
                    PermitDecision::Wait(limit) => {
                        held_by.insert(plugin.name(), self.now + limit.min(WAIT_MAX));
                    }
                    PermitDecision::Refuse(refusal) => {
                        refused = Some(refusal);
                        break;
                    }
                }
            }
        }
        let status = match &refused {
            Some(refusal) => StatusCode::from(refusal),
            None if held_by.is_empty() => StatusCode::Success,
            None => StatusCode::Wait,
        };
        let point = ObservedPoint::Permit;
        self.observer.left(point, status, &profile.scheduler_name);
        for (uid, plugin) in allowed {
            self.let_go(&uid, plugin);
        }
        for (uid, rejection) in rejected {
            // Only pods that still wait: a binding under way is not called back.
            if self.is_waiting(&uid) {
                self.observe_permit_wait(&uid, StatusCode::from(&rejection));
                self.fail_binding(&uid, Refusal::Rejected(rejection));
            }
        }
        refused.map_or(Ok(held_by), Err)
    }

    fn is_waiting(&self, uid: &PodUid) -> bool {
        let binding = self.bindings.by_uid.get(uid);
        binding.is_some_and(|binding| matches!(binding.stage, Stage::Waiting { .. }))
    }

    fn waiting_pods(&self) -> Vec<PodUid> {
        let held = self.bindings.waiting();
        held.filter(|(_, binding)| matches!(binding.stage, Stage::Waiting { .. }))
            .map(|(uid, _)| uid.clone())
            .collect()
    }

    /// `plugin` no longer holds the pod.
    fn let_go(&mut self, uid: &PodUid, plugin: PluginName) {
        if let Some(binding) = self.bindings.by_uid.get_mut(uid)
            && let Stage::Waiting { held_by, .. } = &mut binding.stage
        {
            held_by.remove(plugin);
            if held_by.is_empty() {
                self.observe_permit_wait(uid, StatusCode::Success);
                self.start_chain(uid, false);
            }
        }
    }

    /// Sends pods back whose time at `Permit` is up.
    pub(in crate::engine) fn expire_permits(&mut self) {
        self.bindings.forget_idle();
        let mut expired = Vec::new();
        for (uid, binding) in self.bindings.waiting() {
            if let Stage::Waiting { held_by, since } = &binding.stage
                && let Some((plugin, _)) = held_by.iter().find(|(_, until)| **until <= self.now)
            {
                let waited = self.now.since(*since);
                let reason =
                    format!("rejected due to timeout after waiting {waited:?} at plugin {plugin}");
                expired.push((uid.clone(), Rejection::unschedulable(plugin, reason)));
            }
        }
        for (uid, rejection) in expired {
            self.begin_deciding(&uid);
            self.observe_permit_wait(&uid, StatusCode::from(&rejection));
            self.fail_binding(&uid, Refusal::Rejected(rejection));
        }
    }

    pub(super) fn observe_permit_wait(&mut self, uid: &PodUid, result: StatusCode) {
        if let Some(binding) = self.bindings.by_uid.get(uid)
            && let Stage::Waiting { since, .. } = binding.stage
        {
            self.observations
                .permit_waits
                .push((self.now.since(since), result));
        }
    }
}
