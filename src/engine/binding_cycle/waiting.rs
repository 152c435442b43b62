//! `PreBind` plugins that wait for what others do, such as controllers that bind volumes.
//!
//! Nobody is blocked: a plugin is asked when it begins to wait, whenever a node or an object that
//! plugins look up changed, and when its time is up.

use std::time::Duration;

use crate::engine::Engine;
use crate::engine::binding_cycle::Stage;
use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::PluginError;
use crate::engine::framework::extension_points::{PreBindStep, Refusal, WaitTime};
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

impl Engine {
    /// The `PreBind` plugin at `at` waits, at most for `limit`. Tells whether the chain goes on.
    pub(super) fn start_waiting(&mut self, uid: &PodUid, at: usize, limit: Duration) -> bool {
        let until = self.now + limit;
        let Some(binding) = self.bindings.by_uid.get_mut(uid) else {
            return false;
        };
        let Stage::PreBinding { waiting, .. } = &mut binding.stage else {
            return false;
        };
        waiting.insert(at, until);
        self.bindings.begin_waiting(uid);
        self.poll_pre_bind(uid, at, WaitTime::Left)
    }

    /// The cluster changed: asks every plugin that waits.
    pub(in crate::engine) fn poll_waiting(&mut self) {
        for (uid, at, _) in self.waiting_plugins() {
            if self.poll_pre_bind(&uid, at, WaitTime::Left) {
                self.pre_bind(&uid);
            }
        }
    }

    /// Asks the plugins whose time is up a last time.
    pub(in crate::engine) fn expire_waiting(&mut self) {
        for (uid, at, until) in self.waiting_plugins() {
            if until <= self.now && self.poll_pre_bind(&uid, at, WaitTime::Up) {
                self.pre_bind(&uid);
            }
        }
    }

    fn waiting_plugins(&self) -> Vec<(PodUid, usize, Timestamp)> {
        let bindings = self.bindings.waiting();
        bindings
            .filter_map(|(uid, binding)| match &binding.stage {
                Stage::PreBinding { waiting, .. } => Some((uid, waiting)),
                _ => None,
            })
            .flat_map(|(uid, waiting)| {
                let plugins = waiting.iter();
                plugins.map(|(at, until)| (uid.clone(), *at, *until))
            })
            .collect()
    }

    /// Tells whether the chain goes on.
    fn poll_pre_bind(&mut self, uid: &PodUid, at: usize, time: WaitTime) -> bool {
        self.begin_deciding(uid);
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return false;
        };
        let plugin = binding.profile.plugin(binding.profile.points.pre_bind[at]);
        let name = plugin.name();
        let step = match (plugin.as_pre_bind(), self.cache.pod(uid)) {
            (Some(plugin), Some(info)) => {
                let pod = PodView::new(info, &self.cache.vocabulary);
                let cluster = self.cache.snapshot();
                plugin.poll(&mut binding.state, &pod, &binding.node, &cluster, time)
            }
            _ => PreBindStep::Done,
        };
        let step = match (step, time) {
            (PreBindStep::Wait(_), WaitTime::Left) => {
                self.bindings.by_uid.insert(uid.clone(), binding);
                return true;
            }
            (PreBindStep::Wait(_), WaitTime::Up) => {
                let message = format!("running PreBind plugin {name:?}: context deadline exceeded");
                PreBindStep::Refuse(Refusal::Failed(PluginError {
                    plugin: name,
                    message,
                }))
            }
            (step, _) => step,
        };
        if let Stage::PreBinding { waiting, .. } = &mut binding.stage {
            waiting.remove(&at);
        }
        self.bindings.by_uid.insert(uid.clone(), binding);
        self.take_step(uid, at, step)
    }
}
