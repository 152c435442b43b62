//! Pods on their way, to look at from outside.

use crate::engine::binding_cycle::{Bindings, Stage};
use crate::engine::cache::snapshot::Snapshot;
use crate::engine::effect::EffectId;
use crate::engine::framework::reservations::Reserved;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

/// A pod on its way.
#[derive(Debug)]
pub(in crate::engine) struct BindingView<'a> {
    pub(in crate::engine) uid: &'a PodUid,
    pub(in crate::engine) node: &'a str,
    pub(in crate::engine) stage: StageView,
    /// The effects whose completion brings it on.
    pub(in crate::engine) awaited: Vec<EffectId>,
    /// The earliest time at which waiting for others ends.
    pub(in crate::engine) deadline: Option<Timestamp>,
    /// Whether that time is watched.
    pub(in crate::engine) is_watched: bool,
    /// The pod as it left the queue; `None` while the queue has it.
    pub(in crate::engine) queued: Option<&'a PodInfo>,
}

/// How far the pod has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum StageView {
    Waiting,
    Nominating,
    PreBinding,
    Binding,
}

impl Bindings {
    /// What plugins hold for pods on their way and have not written yet.
    pub(in crate::engine) fn held<'a>(
        &'a self,
        cluster: &'a Snapshot<'a>,
    ) -> impl Iterator<Item = Reserved> {
        self.by_uid.values().flat_map(move |binding| {
            let plugins = binding.profile.plugins.iter();
            let plugins = plugins.filter_map(|plugin| plugin.as_reserve());
            plugins.flat_map(|plugin| plugin.reserved_by(&binding.state, cluster))
        })
    }

    /// All pods on their way.
    pub(in crate::engine) fn views(&self) -> impl Iterator<Item = BindingView<'_>> {
        self.by_uid.iter().map(|(uid, binding)| {
            let (stage, awaited) = match &binding.stage {
                Stage::Waiting { .. } => (StageView::Waiting, Vec::new()),
                Stage::Nominating(id) => (StageView::Nominating, vec![*id]),
                Stage::PreBinding { running, .. } => {
                    (StageView::PreBinding, running.keys().copied().collect())
                }
                Stage::Binding(id, _) => (StageView::Binding, vec![*id]),
            };
            BindingView {
                uid,
                node: &binding.node,
                stage,
                awaited,
                deadline: binding.stage.deadline(),
                is_watched: self.waiting.contains(uid),
                queued: binding.queued.as_ref().map(|queued| &queued.info),
            }
        })
    }
}
