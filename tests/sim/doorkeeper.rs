//! A plugin at `Permit` that does what a label of the pod says: it holds the pod, lets those go that it
//! holds, or sends them back.

use std::sync::Arc;
use std::time::Duration;

use bayplan::engine::cache::snapshot::{NodeView, PodView};
use bayplan::engine::framework::extension_points::{
    PermitDecision, PermitPlugin, PermitVerdict, Refusal,
};
use bayplan::engine::framework::profile::Profile;
use bayplan::engine::framework::{CycleState, Plugin, PluginError, PluginName, Rejection};
use bayplan::model::pod_info::PodUid;

/// The label that says what to do.
pub(crate) const LABEL: &str = "door";

/// What it may say.
pub(crate) const VALUES: [&str; 7] = ["long", "long", "short", "open", "clear", "shut", "fail"];

const NAME: PluginName = "Doorkeeper";

/// Holds pods as their label [`LABEL`] says.
#[derive(Debug)]
struct Doorkeeper;

impl Plugin for Doorkeeper {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
}

impl PermitPlugin for Doorkeeper {
    fn permit(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &NodeView<'_>,
        waiting: &[PodUid],
    ) -> PermitVerdict {
        let value = pod.symbols.get(LABEL).and_then(|key| pod.labels.get(key));
        let value = value.map_or("", |value| pod.symbols.text(value));
        let rejection = |why: &str| Rejection::unschedulable(NAME, why.to_owned());
        let mut verdict = PermitVerdict::from(PermitDecision::Allow);
        match value {
            "long" => verdict.decision = PermitDecision::Wait(Duration::from_secs(40)),
            "short" => verdict.decision = PermitDecision::Wait(Duration::from_secs(1)),
            "open" => verdict.allow = waiting.to_vec(),
            "clear" => {
                let sent_back = waiting
                    .iter()
                    .map(|uid| (uid.clone(), rejection("cleared")));
                verdict.reject = sent_back.collect();
            }
            "shut" => {
                verdict.decision = PermitDecision::Refuse(Refusal::Rejected(rejection("shut")));
            }
            "fail" => {
                let error = PluginError {
                    plugin: NAME,
                    message: "the door is stuck".to_owned(),
                };
                verdict.decision = PermitDecision::Refuse(Refusal::Failed(error));
            }
            _ => {}
        }
        verdict
    }
}

/// Adds the plugin to a profile.
pub(crate) fn plant(profile: &mut Profile) {
    let index = profile.plugins.len();
    profile.plugins.push(Arc::new(Doorkeeper));
    profile.points.permit.push(index);
}
