//! What is kept of the class of a pod, around an attempt.

use crate::engine::Engine;
use crate::engine::attempt::{Attempt, Found};
use crate::engine::cache::snapshot::PodView;
use crate::engine::classes::ClassKey;
use crate::engine::classes::class_index::{self, ClassIndex};
use crate::engine::classes::standing::{Standing, StandingKey};
use crate::engine::framework::CycleState;
use crate::engine::framework::profile::Profile;
use crate::engine::scheduling_cycle::Begun;
use crate::model::pod_info::PodInfo;

/// What is known of the class of a pod, at the start of an attempt.
pub(super) struct BegunClass {
    key: ClassKey,
    index: ClassIndex,
    standing: Standing,
    state: CycleState,
}

impl Engine {
    /// Runs the cycle and keeps what it found out about the class of the pod.
    pub(super) fn find_by_class(
        &mut self,
        class: Option<BegunClass>,
        info: &PodInfo,
        profile: &Profile,
        attempt: u32,
        inspect: impl FnMut(&Attempt<'_>),
    ) -> Found {
        let Some(BegunClass {
            key,
            mut index,
            mut standing,
            state,
        }) = class
        else {
            self.count_terms(info, profile);
            return self.find(info, profile, attempt, None, inspect);
        };
        let begun = Begun {
            index: &mut index,
            standing: &mut standing,
            state,
        };
        let found = self.find(info, profile, attempt, Some(begun), inspect);
        if let Found::Node { summary, .. } | Found::NoFit { summary, .. } = &found {
            self.classes.decided += u64::from(summary.looked_at == 0);
        }
        let known = (index, standing);
        self.classes.keep(key, info, known, &mut self.cache);
        found
    }

    /// What is known of the class of the pod, brought up to date. `None`: every node is looked at.
    pub(super) fn begin_class(&mut self, info: &PodInfo, profile: &Profile) -> Option<BegunClass> {
        let cluster = self.cache.snapshot();
        let is_alone = info.nominated_node.is_none()
            && profile.extenders.is_empty()
            && profile.percentage_of_nodes_to_score >= 100
            && self.cache.nodes.hostnames_are_unique();
        if !is_alone {
            return None;
        }
        let pod = PodView::new(info, &self.cache.vocabulary);
        let inputs = class_index::inputs(&pod, profile, cluster)?;
        let mut state = CycleState::default();
        let key = ClassKey::of(&mut state, &pod, profile, cluster)?;
        if let Some(mut index) = self.classes.take(&key) {
            if index.begin(&mut state, &inputs, &pod, cluster)
                && let Some(standing) = self.classes.take_standing(index.standing)
            {
                return Some(BegunClass {
                    key,
                    index,
                    standing,
                    state,
                });
            }
            self.classes.forget(&key, &mut self.cache.vocabulary);
        }
        self.count_terms(info, profile);
        let cluster = self.cache.snapshot();
        let pod = PodView::new(info, &self.cache.vocabulary);
        let mut index = ClassIndex::new(inputs.clone(), &pod, profile, cluster);
        let mut state = CycleState::default();
        if !index.begin(&mut state, &inputs, &pod, cluster) {
            return None;
        }
        let of_nodes = StandingKey::of(&index, &pod, profile, cluster)?;
        index.standing = self.classes.standing(of_nodes, info, &mut self.cache);
        let standing = self.classes.take_standing(index.standing)?;
        Some(BegunClass {
            key,
            index,
            standing,
            state,
        })
    }
}
