//! Equivalence classes of pods: what was found out about the nodes for one pod, kept for those that
//! are alike (the heir of kube-scheduler's equivalence cache).
//!
//! A pod of a class that is known costs what changed since its last one: nodes that changed are
//! judged again, and the best is read off a ranking. Classes that ask the same of nodes by
//! themselves share a [`Standing`], and where they tell places apart by the same labels the ranking
//! in it.

pub(crate) mod changed_nodes;
pub(crate) mod class_index;
pub(crate) mod class_verdicts;
mod disuse;
pub(crate) mod ranking;
pub(crate) mod refusals;
pub(crate) mod standing;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::cache::Cache;
use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::classes::class_index::ClassIndex;
use crate::engine::classes::standing::{Standing, StandingKey};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{CycleState, Plugin};
use crate::model::map::IdMap;
use crate::model::pod_info::PodInfo;
use crate::model::symbols::{Symbol, Symbols};
use crate::model::vocabulary::{PodClassId, Vocabulary};

/// Classes that are kept at once, at most, and as many standings, and as many rankings in these.
const KEPT_MAX: usize = 256;
/// Bytes of all classes for a node of the cluster, and of all rankings in standings: 64 rankings.
/// The objects of the 30 pods of a node take kube-scheduler some 300 KiB.
const BYTES_OF_NODE: usize = 64 * ranking::BYTES_OF_NODE;
/// So many bytes however few nodes there are.
const BYTES_MIN: usize = 64 << 20;
/// No more than these however many nodes there are, but for the least of each.
const BYTES_MAX: usize = 384 << 20;
/// So many classes are kept however many nodes there are.
const CLASSES_MIN: usize = 4;
/// So many standings.
const STANDINGS_MIN: usize = 8;
/// So many rankings in standings.
const RANKINGS_MIN: usize = 16;

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
    /// By their numbers, which no two ever have in common.
    standings: BTreeMap<u64, KeptStanding>,
    numbers: IdMap<StandingKey, u64>,
    next_number: u64,
    uses: u64,
    /// What classes keep of the nodes.
    bytes: usize,
    /// How many pods were decided by what was kept.
    pub(crate) decided: u64,
}

/// A class that is kept.
#[derive(Debug)]
struct KeptClass {
    /// Holds the references to class and labels.
    pod: PodInfo,
    index: ClassIndex,
    /// What the index takes.
    bytes: usize,
    last_used: u64,
}

/// A standing that is kept.
#[derive(Debug)]
struct KeptStanding {
    /// Holds the references to what is in the key.
    pod: PodInfo,
    standing: Standing,
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
    /// A pod for each class and standing that is kept, which holds the references to class and
    /// labels.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodInfo> {
        let of_classes = self.kept.values().map(|kept| &kept.pod);
        of_classes.chain(self.standings.values().map(|kept| &kept.pod))
    }

    /// Every symbol that is held beside those of pods, as often as it is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        let standings = self.standings.values();
        standings.flat_map(|kept| kept.standing.held())
    }

    /// Takes out what is kept of a class.
    pub(crate) fn take(&mut self, key: &ClassKey) -> Option<ClassIndex> {
        let kept = self.kept.get_mut(key)?;
        Some(std::mem::take(&mut kept.index))
    }

    /// The standing of this number, if it is kept.
    pub(crate) fn take_standing(&mut self, number: u64) -> Option<Standing> {
        let kept = self.standings.get_mut(&number)?;
        Some(std::mem::take(&mut kept.standing))
    }

    /// The number of the standing of `key`, which is kept from now on. `pod` is of that kind.
    pub(crate) fn standing(&mut self, key: StandingKey, pod: &PodInfo, cache: &mut Cache) -> u64 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let limit = limit(cache, STANDINGS_MIN);
        while self.standings.len() >= limit {
            self.forget_least_used_standing(&mut cache.vocabulary);
        }
        let kept = KeptStanding {
            pod: cache.vocabulary.share_pod(pod),
            standing: Standing::default(),
            last_used: self.uses,
        };
        let number = self.next_number;
        self.next_number += 1;
        self.standings.insert(number, kept);
        self.numbers.insert(key, number);
        number
    }

    /// Keeps what is known of the class of `pod`.
    pub(crate) fn keep(
        &mut self,
        key: ClassKey,
        pod: &PodInfo,
        (index, standing): (ClassIndex, Standing),
        cache: &mut Cache,
    ) {
        self.uses += 1;
        self.keep_standing(index.standing, standing, cache);
        let bytes = index.bytes();
        if let Some(kept) = self.kept.get_mut(&key) {
            let before = std::mem::replace(&mut kept.bytes, bytes);
            kept.last_used = self.uses;
            kept.index = index;
            self.bytes = self.bytes - before + bytes;
            if bytes > before {
                self.make_room(cache);
            }
            return;
        }
        self.forget_disused(&mut cache.vocabulary);
        let kept = KeptClass {
            pod: cache.vocabulary.share_pod(pod),
            index,
            bytes,
            last_used: self.uses,
        };
        self.kept.insert(key, kept);
        self.bytes += bytes;
        self.make_room(cache);
    }

    /// Forgets classes that were unused the longest while there are too many, or they take too much.
    fn make_room(&mut self, cache: &mut Cache) {
        while self.kept.len() > KEPT_MAX {
            self.forget_least_used(0, &mut cache.vocabulary);
        }
        let affordable = affordable(cache);
        while self.kept.len() > CLASSES_MIN && self.bytes > affordable {
            self.forget_least_used(1, &mut cache.vocabulary);
        }
    }

    /// What classes keep of the nodes, in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let indices = self.kept.values().map(|kept| kept.index.bytes());
        assert_eq!(indices.sum::<usize>(), self.bytes);
        self.bytes
    }

    fn keep_standing(&mut self, number: u64, mut standing: Standing, cache: &mut Cache) {
        let is_new = standing.hold_keys(cache.vocabulary.symbols_mut());
        if let Some(kept) = self.standings.get_mut(&number) {
            kept.standing = standing;
            kept.last_used = self.uses;
        }
        if is_new {
            let limit = limit(cache, RANKINGS_MIN);
            self.forget_rankings(limit, cache.vocabulary.symbols_mut());
        }
    }

    /// Forgets a class.
    pub(crate) fn forget(&mut self, key: &ClassKey, vocabulary: &mut Vocabulary) {
        if let Some(kept) = self.kept.swap_remove(key) {
            self.bytes -= kept.bytes;
            vocabulary.release_pod(&kept.pod);
        }
    }

    /// Forgets everything: other profiles run now.
    pub(crate) fn clear(&mut self, vocabulary: &mut Vocabulary) {
        for (_, kept) in self.kept.drain(..) {
            vocabulary.release_pod(&kept.pod);
        }
        self.bytes = 0;
        while !self.standings.is_empty() {
            self.forget_least_used_standing(vocabulary);
        }
    }

    /// Forgets the class that was unused the longest of those that take `least` bytes.
    fn forget_least_used(&mut self, least: usize, vocabulary: &mut Vocabulary) {
        let kept = self.kept.values().enumerate();
        let kept = kept.filter(|(_, kept)| kept.bytes >= least);
        let least_used = kept.min_by_key(|(_, kept)| kept.last_used);
        if let Some((position, _)) = least_used
            && let Some((_, kept)) = self.kept.swap_remove_index(position)
        {
            self.bytes -= kept.bytes;
            vocabulary.release_pod(&kept.pod);
        }
    }

    fn forget_least_used_standing(&mut self, vocabulary: &mut Vocabulary) {
        let kept = self.standings.iter();
        let least = kept.min_by_key(|(_, kept)| kept.last_used);
        if let Some(number) = least.map(|(number, _)| *number) {
            self.forget_standing(number, vocabulary);
        }
    }

    /// Forgets a standing: classes that have it are found out about anew.
    fn forget_standing(&mut self, number: u64, vocabulary: &mut Vocabulary) {
        self.numbers.retain(|_, other| *other != number);
        if let Some(mut kept) = self.standings.remove(&number) {
            kept.standing.forget_rankings(vocabulary.symbols_mut());
            vocabulary.release_pod(&kept.pod);
        }
    }

    /// Forgets rankings of the standings that were unused the longest, until `limit` are left.
    fn forget_rankings(&mut self, limit: usize, symbols: &mut Symbols) {
        let rankings = self.standings.values().map(|kept| kept.standing.rankings());
        let mut count: usize = rankings.sum();
        while count > limit {
            let kept = self.standings.values_mut();
            let has_rankings = kept.filter(|kept| kept.standing.rankings() > 0);
            let Some(least) = has_rankings.min_by_key(|kept| kept.last_used) else {
                return;
            };
            least.standing.forget_ranking(symbols);
            count -= 1;
        }
    }
}

/// How many rankings in standings are kept, and how many standings, which take a third of that.
fn limit(cache: &Cache, least: usize) -> usize {
    let of_one = ranking::BYTES_OF_NODE * cache.nodes.len().max(1);
    (affordable(cache) / of_one).clamp(least, KEPT_MAX)
}

/// How many bytes classes may take, and rankings in standings.
fn affordable(cache: &Cache) -> usize {
    (BYTES_OF_NODE * cache.nodes.len()).clamp(BYTES_MIN, BYTES_MAX)
}
