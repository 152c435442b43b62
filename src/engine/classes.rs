//! Equivalence classes of pods: what was found out about the nodes for one pod, kept for those that
//! are alike (the heir of kube-scheduler's equivalence cache).
//!
//! A pod of a class that is known costs what changed since its last one: nodes that changed are
//! judged again, and the best is read off a ranking.

pub(crate) mod class_index;
pub(crate) mod class_verdicts;
pub(crate) mod ranking;
pub(crate) mod refusals;

use std::sync::Arc;

use crate::engine::cache::Cache;
use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::classes::class_index::ClassIndex;
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{CycleState, Plugin};
use crate::model::map::IdMap;
use crate::model::pod_info::PodInfo;
use crate::model::vocabulary::{PodClassId, Vocabulary};

/// Classes that are kept at once, at most.
const CLASSES_MAX: usize = 256;
/// Nodes of all classes that are kept at once, at most: some 64 bytes each.
const NODES_MAX: usize = 1_000_000;
/// So many classes are kept however many nodes there are.
const CLASSES_MIN: usize = 4;

/// What pods have in common that are judged alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClassKey {
    profile: Arc<str>,
    class: (PodClassId, u64),
    /// What labels come to, plugin by plugin, each followed by who says so and in how many numbers.
    labels: Box<[u64]>,
}

/// The classes that are kept.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    kept: IdMap<ClassKey, KeptClass>,
    uses: u64,
    /// How many pods were decided by what was kept.
    pub(crate) decided: u64,
}

/// A class that is kept.
#[derive(Debug)]
struct KeptClass {
    /// Holds the references to class and labels.
    pod: PodInfo,
    index: ClassIndex,
    last_used: u64,
}

// === impl ClassKey ===

impl ClassKey {
    /// The class of a pod; `None` if a plugin of its profile cannot say on what it depends.
    pub(crate) fn of(
        state: &mut CycleState,
        pod: &PodView<'_>,
        profile: &Profile,
        cluster: Snapshot<'_>,
    ) -> Option<Self> {
        let mut labels = Vec::new();
        for (index, plugin) in judging(profile) {
            let before = labels.len();
            plugin?.outcome_of_labels(state, pod, &cluster, &mut labels);
            let added = labels.len() - before;
            if added > 0 {
                labels.extend([index as u64, added as u64]);
            }
        }
        let class = pod.info.class;
        Some(Self {
            profile: Arc::clone(&profile.scheduler_name),
            class: (class, cluster.vocabulary().pod_class_serial(class)),
            labels: labels.into_boxed_slice(),
        })
    }
}

/// The plugins that say something about nodes, by their index in the profile.
pub(crate) fn judging(
    profile: &Profile,
) -> impl Iterator<Item = (usize, Option<&dyn ClassPlugin>)> {
    let plugins = profile.plugins.iter().map(|plugin| &**plugin).enumerate();
    plugins
        .filter(|(_, plugin)| judges(*plugin))
        .map(|(index, plugin)| (index, plugin.as_class_plugin()))
}

fn judges(plugin: &dyn Plugin) -> bool {
    plugin.as_pre_filter().is_some()
        || plugin.as_filter().is_some()
        || plugin.as_pre_score().is_some()
        || plugin.as_score().is_some()
}

// === impl Classes ===

impl Classes {
    /// A pod of each class that is kept, which holds the references to class and labels.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodInfo> {
        self.kept.values().map(|kept| &kept.pod)
    }

    /// Takes out what is kept of a class.
    pub(crate) fn take(&mut self, key: &ClassKey) -> Option<ClassIndex> {
        let kept = self.kept.get_mut(key)?;
        Some(std::mem::take(&mut kept.index))
    }

    /// Keeps what is known of the class of `pod`.
    pub(crate) fn keep(
        &mut self,
        key: ClassKey,
        pod: &PodInfo,
        index: ClassIndex,
        cache: &mut Cache,
    ) {
        self.uses += 1;
        if let Some(kept) = self.kept.get_mut(&key) {
            kept.last_used = self.uses;
            kept.index = index;
            return;
        }
        let affordable = NODES_MAX / cache.nodes.len().max(1);
        let limit = affordable.clamp(CLASSES_MIN, CLASSES_MAX);
        while self.kept.len() >= limit {
            self.forget_least_used(&mut cache.vocabulary);
        }
        let pod = cache.vocabulary.share_pod(pod);
        let kept = KeptClass {
            pod,
            index,
            last_used: self.uses,
        };
        self.kept.insert(key, kept);
    }

    /// Forgets a class.
    pub(crate) fn forget(&mut self, key: &ClassKey, vocabulary: &mut Vocabulary) {
        if let Some(kept) = self.kept.swap_remove(key) {
            vocabulary.release_pod(&kept.pod);
        }
    }

    /// Forgets everything: other profiles run now.
    pub(crate) fn clear(&mut self, vocabulary: &mut Vocabulary) {
        for (_, kept) in self.kept.drain(..) {
            vocabulary.release_pod(&kept.pod);
        }
    }

    fn forget_least_used(&mut self, vocabulary: &mut Vocabulary) {
        let kept = self.kept.values().enumerate();
        let least = kept.min_by_key(|(_, kept)| kept.last_used);
        if let Some((position, _)) = least
            && let Some((_, kept)) = self.kept.swap_remove_index(position)
        {
            vocabulary.release_pod(&kept.pod);
        }
    }
}
