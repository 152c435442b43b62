//! What is kept of one class of pods.

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::classes::changed_nodes::ChangedNodes;
use crate::engine::classes::judging;
use crate::engine::classes::ranking::Ranking;
use crate::engine::classes::standing::PlaceKeys;
use crate::engine::framework::CycleState;
use crate::engine::framework::class_plugin::Places;
use crate::engine::framework::profile::Profile;

/// What verdicts depend on beside nodes and pods.
pub(crate) type Inputs = Vec<u64>;

/// What is known for a class of pods, up to a change of nodes.
#[derive(Debug, Default)]
pub(crate) struct ClassIndex {
    /// The nodes that places do not know of.
    changed: ChangedNodes,
    /// Whether there was an attempt.
    has_begun: bool,
    /// What the verdicts depend on beside nodes and pods.
    inputs: Inputs,
    /// The plugins that judge by places, by their index in the profile.
    pub(crate) places: Vec<(usize, Box<dyn Places>)>,
    /// The labels by which places are told apart, if it is by labels alone.
    place_keys: Option<PlaceKeys>,
    /// The number of what nodes are by themselves for the class.
    pub(crate) standing: u64,
    /// The nodes ranked for this class alone, if it tells places apart as no other does.
    pub(crate) ranking: Ranking,
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
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        self.note_changes(pod, cluster);
        let mut places = self.places.iter_mut();
        let is_current = places.all(|(_, places)| places.provide(state, pod, &cluster));
        if is_current && is_first {
            self.place_keys = self.find_place_keys();
        }
        is_current
    }

    /// What is kept of the nodes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of_places = self.places.iter().map(|(_, places)| places.bytes());
        of_places.sum::<usize>() + self.ranking.bytes()
    }

    /// Whether the plugin at `index` of the profile judges by places.
    pub(crate) fn judges_by_place(&self, index: usize) -> bool {
        self.places.iter().any(|(other, _)| *other == index)
    }

    /// The labels by which places are told apart, if it is by labels alone.
    pub(crate) fn place_keys(&self) -> Option<&PlaceKeys> {
        self.place_keys.as_ref()
    }

    fn find_place_keys(&self) -> Option<PlaceKeys> {
        let mut keys = PlaceKeys::new();
        for (index, places) in &self.places {
            let of_plugin = places.keys()?;
            keys.extend(of_plugin.into_iter().map(|key| (*index, key)));
        }
        Some(keys)
    }

    fn note_changes(&mut self, pod: &PodView<'_>, cluster: Snapshot<'_>) {
        if !self.places.iter().any(|(_, places)| places.follows_nodes()) {
            return;
        }
        let objects = cluster.node_object_changes();
        for slot in self.changed.catch_up(objects, cluster) {
            let node = cluster.node_in(*slot);
            for (_, places) in &mut self.places {
                places.update(pod, *slot, node.as_ref());
            }
        }
        self.changed.clear();
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
