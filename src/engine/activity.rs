//! What the engine is at work on, so that a panic can be laid to one object.

use std::sync::Arc;

use crate::engine::Engine;
use crate::model::pod_info::{PodKey, PodUid};

/// What the engine is at work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Takes in a version of a node.
    TakingInNode(Arc<str>),
    /// Takes in a version of a pod.
    TakingInPod(PodKey, PodUid),
    /// Decides about a pod, wakes it, or brings it to its node.
    Deciding(PodKey, PodUid),
}

impl Engine {
    /// What the engine is at work on, or was when it panicked. A pod whose plugins were asked on
    /// the occasion of something else comes first.
    pub fn activity(&self) -> Option<Activity> {
        let asked = self.profiles.asked().and_then(|uid| self.deciding(&uid));
        asked.or_else(|| self.activity.clone())
    }

    /// The engine goes on about a pod that it knows.
    pub(super) fn begin_deciding(&mut self, uid: &PodUid) {
        self.activity = self.deciding(uid);
    }

    fn deciding(&self, uid: &PodUid) -> Option<Activity> {
        let queued = self.queue.get(uid).map(|pod| &pod.info);
        let info = queued.or_else(|| self.cache.pod(uid))?;
        Some(Activity::Deciding(info.key.clone(), uid.clone()))
    }
}
