//! What nodes are by themselves for pods that ask the same of them, whatever they want of other
//! pods: what many classes have in common.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::classes::changed_nodes::ChangedNodes;
use crate::engine::classes::class_index::ClassIndex;
use crate::engine::classes::class_verdicts::ClassVerdicts;
use crate::engine::classes::judging;
use crate::engine::classes::ranking::Ranking;
use crate::engine::classes::refusals::Refusals;
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{CycleState, Rejection};
use crate::model::pod_affinity::PodAffinity;
use crate::model::pod_class::PodClass;
use crate::model::symbols::{HeldSymbols, Symbol, Symbols};

/// The labels by which plugins tell places apart, each with the index of the plugin.
pub(crate) type PlaceKeys = Vec<(usize, Symbol)>;

/// What the plugins read that judge a node by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StandingKey {
    profile: Arc<str>,
    /// Without affinity and spread, which plugins read that judge places.
    class: PodClass,
    /// What labels come to, and what else verdicts depend on, plugin by plugin.
    numbers: Box<[u64]>,
}

/// The nodes as they were judged by themselves, up to a change.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Nodes to be judged.
    pub(crate) changed: ChangedNodes,
    /// What filters say of whole node classes.
    pub(crate) verdicts: ClassVerdicts,
    /// What nodes score for themselves, by slot; [`UNFIT`] for those that do not fit.
    own: Vec<i64>,
    /// The scores that are compared with those of others before they count, so many by slot.
    compared: Vec<i64>,
    compared_by_slot: usize,
    /// The nodes that do not fit.
    pub(crate) refusals: Refusals,
    /// Nodes on which other pods hold room: who may take it depends on the priority.
    pub(crate) promised: BTreeSet<Slot>,
    rankings: Vec<SharedRanking>,
    uses: u64,
}

/// The nodes ranked for all classes that tell places apart by the same labels.
#[derive(Debug)]
struct SharedRanking {
    keys: PlaceKeys,
    /// The keys; `None` during the attempt in which the ranking is made.
    held: Option<HeldSymbols>,
    ranking: Ranking,
    last_used: u64,
}

/// The score of nodes that do not fit.
const UNFIT: i64 = i64::MIN;

// === impl StandingKey ===

impl StandingKey {
    /// What `pod` asks of nodes by themselves. `None` if a plugin cannot say on what it depends.
    pub(crate) fn of(
        index: &ClassIndex,
        pod: &PodView<'_>,
        profile: &Profile,
        cluster: Snapshot<'_>,
    ) -> Option<Self> {
        let mut state = CycleState::default();
        let mut numbers = Vec::new();
        for (plugin_index, plugin) in judging(profile) {
            if index.judges_by_place(plugin_index) {
                continue;
            }
            let (plugin, before) = (plugin?, numbers.len());
            plugin.outcome_of_labels(&mut state, pod, &cluster, &mut numbers);
            let of_labels = (numbers.len() - before) as u64;
            numbers.extend(plugin.inputs(pod, &cluster)?);
            let added = (numbers.len() - before) as u64;
            numbers.extend([plugin_index as u64, of_labels, added]);
        }
        let class = PodClass {
            affinity: PodAffinity::default(),
            spread_constraints: Box::default(),
            ..pod.class.clone()
        };
        Some(Self {
            profile: Arc::clone(&profile.scheduler_name),
            class,
            numbers: numbers.into_boxed_slice(),
        })
    }
}

// === impl Standing ===

impl Standing {
    /// What the node in `slot` scores for itself, and what is to be compared, if it fits.
    pub(crate) fn scores(&self, slot: Slot) -> Option<(i64, &[i64])> {
        let own = *self.own.get(slot.index())?;
        let first = slot.index() * self.compared_by_slot;
        (own != UNFIT).then(|| (own, &self.compared[first..first + self.compared_by_slot]))
    }

    /// The node in `slot` fits.
    pub(crate) fn fits(&mut self, slot: Slot, own: i64, compared: &[i64]) {
        self.refusals.remove(slot);
        if self.own.len() <= slot.index() {
            self.own.resize(slot.index() + 1, UNFIT);
        }
        self.own[slot.index()] = own;
        self.compared_by_slot = compared.len();
        let first = slot.index() * compared.len();
        if self.compared.len() < first + compared.len() {
            self.compared.resize(self.own.len() * compared.len(), 0);
        }
        self.compared[first..first + compared.len()].copy_from_slice(compared);
    }

    /// The node in `slot` refuses.
    pub(crate) fn refuses(&mut self, slot: Slot, refusal: Rejection) {
        self.refusals.put(slot, refusal);
        self.does_not_fit(slot);
    }

    /// The node in `slot` is gone, or other pods hold room on it.
    pub(crate) fn leaves(&mut self, slot: Slot) {
        self.refusals.remove(slot);
        self.does_not_fit(slot);
    }

    fn does_not_fit(&mut self, slot: Slot) {
        if let Some(own) = self.own.get_mut(slot.index()) {
            *own = UNFIT;
        }
    }

    /// Takes note whether other pods hold room on the node, and tells it.
    pub(crate) fn note_promised(
        &mut self,
        slot: Slot,
        node: Option<&NodeView<'_>>,
        cluster: Snapshot<'_>,
    ) -> bool {
        let is_promised = node.is_some_and(|node| cluster.is_promised(node));
        if is_promised {
            self.promised.insert(slot);
        } else if !self.promised.is_empty() {
            self.promised.remove(&slot);
        }
        is_promised
    }

    /// How many rankings are kept.
    pub(crate) fn rankings(&self) -> usize {
        self.rankings.len()
    }

    /// The ranking for these keys and its index, taken out until [`Self::put_ranking`].
    pub(crate) fn take_ranking(&mut self, keys: &PlaceKeys) -> (usize, Ranking) {
        self.uses += 1;
        let known = self.rankings.iter().position(|shared| shared.keys == *keys);
        let index = known.unwrap_or_else(|| {
            self.rankings.push(SharedRanking {
                keys: keys.clone(),
                held: None,
                ranking: Ranking::default(),
                last_used: 0,
            });
            self.rankings.len() - 1
        });
        let shared = &mut self.rankings[index];
        shared.last_used = self.uses;
        (index, std::mem::take(&mut shared.ranking))
    }

    /// Puts the ranking back that was taken from `index`.
    pub(crate) fn put_ranking(&mut self, index: usize, ranking: Ranking) {
        self.rankings[index].ranking = ranking;
    }

    /// The ranking at `index`.
    pub(crate) fn ranking(&self, index: usize) -> &Ranking {
        &self.rankings[index].ranking
    }

    /// Holds the keys of a ranking that is new, and tells whether there is one.
    pub(crate) fn hold_keys(&mut self, symbols: &mut Symbols) -> bool {
        let last = self.rankings.last_mut();
        let Some(shared) = last.filter(|shared| shared.held.is_none()) else {
            return false;
        };
        shared.held = Some(symbols.hold(shared.keys.iter().map(|(_, key)| *key)));
        true
    }

    /// Every symbol that is held, as often as it is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        let held = self
            .rankings
            .iter()
            .filter_map(|shared| shared.held.as_ref());
        held.flat_map(HeldSymbols::iter)
    }

    /// Forgets all rankings.
    pub(crate) fn forget_rankings(&mut self, symbols: &mut Symbols) {
        while !self.rankings.is_empty() {
            self.forget_ranking(symbols);
        }
    }

    /// Forgets the ranking that was unused the longest.
    pub(crate) fn forget_ranking(&mut self, symbols: &mut Symbols) {
        let rankings = self.rankings.iter().enumerate();
        let least = rankings.min_by_key(|(_, shared)| shared.last_used);
        if let Some((index, _)) = least
            && let Some(held) = self.rankings.remove(index).held
        {
            symbols.release(held);
        }
    }
}
