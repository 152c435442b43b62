//! What is kept of one class of pods.

use std::collections::BTreeSet;

use crate::engine::cache::nodes::Slot;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::classes::class_verdicts::ClassVerdicts;
use crate::engine::classes::judging;
use crate::engine::classes::ranking::Ranking;
use crate::engine::classes::refusals::Refusals;
use crate::engine::framework::CycleState;
use crate::engine::framework::class_plugin::Places;
use crate::engine::framework::profile::Profile;

/// What verdicts depend on beside nodes and pods.
pub(crate) type Inputs = Vec<u64>;

/// The nodes as they were judged for a class of pods, up to a change.
#[derive(Debug, Default)]
pub(crate) struct ClassIndex {
    /// The changes of nodes that were seen; `None`: none yet.
    position: Option<u64>,
    /// Nodes that changed and were not judged since.
    pub(crate) dirty: Vec<Slot>,
    /// What the verdicts depend on beside nodes and pods.
    inputs: Inputs,
    /// The plugins that judge by places, by their index in the profile.
    pub(crate) places: Vec<(usize, Box<dyn Places>)>,
    /// What filters say of whole node classes.
    pub(crate) verdicts: ClassVerdicts,
    /// The nodes that fit by themselves.
    pub(crate) ranking: Ranking,
    /// The nodes that do not.
    pub(crate) refusals: Refusals,
    /// Nodes on which other pods hold room: who may take it depends on the priority.
    pub(crate) promised: BTreeSet<Slot>,
}

impl ClassIndex {
    /// Nothing is known about nodes yet.
    pub(crate) fn new(
        inputs: Inputs,
        pod: &PodView<'_>,
        profile: &Profile,
        cluster: Snapshot<'_>,
    ) -> Self {
        let plugins = judging(profile);
        let places =
            plugins.filter_map(|(index, plugin)| Some((index, plugin?.places(pod, &cluster)?)));
        Self {
            inputs,
            places: places.collect(),
            ..Self::default()
        }
    }

    /// Begins an attempt: takes note of the nodes that changed, and writes what is kept into
    /// `state`. `false`: it is outdated.
    pub(crate) fn begin(
        &mut self,
        state: &mut CycleState,
        inputs: &Inputs,
        pod: &PodView<'_>,
        cluster: Snapshot<'_>,
    ) -> bool {
        if *inputs != self.inputs {
            return false;
        }
        self.note_changes(pod, cluster);
        let mut places = self.places.iter_mut();
        places.all(|(_, places)| places.provide(state, pod, &cluster))
    }

    /// Whether the plugin at `index` of the profile judges by places.
    pub(crate) fn judges_by_place(&self, index: usize) -> bool {
        self.places.iter().any(|(other, _)| *other == index)
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
        } else {
            self.promised.remove(&slot);
        }
        is_promised
    }

    fn note_changes(&mut self, pod: &PodView<'_>, cluster: Snapshot<'_>) {
        let log = cluster.node_changes();
        let since = self.position.and_then(|position| log.since(position));
        self.position = Some(log.position());
        let mut changed: Vec<Slot> = match since {
            Some(slots) => slots.collect(),
            None => cluster.slots().collect(),
        };
        changed.sort_unstable();
        changed.dedup();
        for slot in &changed {
            let node = cluster.node_in(*slot);
            for (_, places) in &mut self.places {
                places.update(pod, *slot, node.as_ref());
            }
        }
        self.dirty.extend(changed);
    }
}

/// What verdicts for `pod` depend on now; `None` if nothing can be kept for it.
pub(crate) fn inputs(
    pod: &PodView<'_>,
    profile: &Profile,
    cluster: Snapshot<'_>,
) -> Option<Inputs> {
    let mut inputs = Vec::new();
    for (_, plugin) in judging(profile) {
        inputs.extend(plugin?.inputs(pod, &cluster)?);
    }
    Some(inputs)
}
