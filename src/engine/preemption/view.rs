//! Preemptions under way, to look at from outside.

use std::collections::BTreeSet;

use crate::engine::effect::EffectId;
use crate::engine::preemption::{Preemptions, Stage};
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;

/// A preemption.
#[derive(Debug)]
pub(in crate::engine) struct PreemptionView<'a> {
    pub(in crate::engine) preemptor: &'a PodUid,
    pub(in crate::engine) node: &'a str,
    /// Who is yet to go.
    pub(in crate::engine) victims: &'a BTreeSet<PodUid>,
    /// Whose evictions are awaited before the next step is taken.
    pub(in crate::engine) awaited: Vec<&'a PodUid>,
    pub(in crate::engine) stage: StageView,
    pub(in crate::engine) gone_by: Timestamp,
}

/// How far a preemption has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum StageView {
    Evicting,
    Draining,
    Overdue,
}

/// An eviction under way.
#[derive(Debug)]
pub(in crate::engine) struct EvictionView<'a> {
    pub(in crate::engine) victim: &'a PodUid,
    pub(in crate::engine) id: EffectId,
    pub(in crate::engine) waited_for_by: &'a BTreeSet<PodUid>,
}

/// A node that a pod has made room on.
#[derive(Debug)]
pub(in crate::engine) struct RememberedView<'a> {
    pub(in crate::engine) preemptor: &'a PodUid,
    pub(in crate::engine) node: &'a str,
    pub(in crate::engine) forgotten_at: Timestamp,
}

impl Preemptions {
    /// All that are not over.
    pub(in crate::engine) fn views(&self) -> impl Iterator<Item = PreemptionView<'_>> {
        self.by_preemptor.iter().map(|(preemptor, preemption)| {
            let (stage, awaited) = match &preemption.stage {
                Stage::Evicting { left, .. } => (StageView::Evicting, left.iter().collect()),
                Stage::EvictingLast { last, .. } => (StageView::Evicting, vec![last]),
                Stage::Draining => (StageView::Draining, Vec::new()),
                Stage::Overdue => (StageView::Overdue, Vec::new()),
            };
            PreemptionView {
                preemptor,
                node: &preemption.node,
                victims: &preemption.victims,
                awaited,
                stage,
                gone_by: preemption.gone_by,
            }
        })
    }

    /// Every victim with each of the preemptors that wait for it.
    pub(in crate::engine) fn victims(&self) -> impl Iterator<Item = (&PodUid, &PodUid)> {
        let victims = self.by_victim.iter();
        victims.flat_map(|(victim, preemptors)| preemptors.iter().map(move |pod| (victim, pod)))
    }

    /// Preemptor and victim of the evictions that wait for their turn.
    pub(in crate::engine) fn waiting(&self) -> impl Iterator<Item = (&PodUid, &PodUid)> {
        self.waiting
            .iter()
            .map(|(preemptor, victim)| (preemptor, victim))
    }

    /// Evictions that were sent and have not been reported yet.
    pub(in crate::engine) fn evictions(&self) -> impl Iterator<Item = EvictionView<'_>> {
        let under_way = self.under_way.iter();
        under_way.map(|(victim, eviction)| EvictionView {
            victim,
            id: eviction.id,
            waited_for_by: &eviction.waited_for_by,
        })
    }

    /// What is remembered of earlier preemptions.
    pub(in crate::engine) fn remembered(&self) -> impl Iterator<Item = RememberedView<'_>> {
        self.history.views()
    }
}
