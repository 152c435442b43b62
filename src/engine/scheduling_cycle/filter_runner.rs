//! Runs the filters of the profile for plugins that try hypotheses.

use std::collections::BTreeSet;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::extension_points::{
    FilterRunner, FilterVerdict, PreFilterExtensions,
};
use crate::engine::framework::{CycleState, Plugin, PluginName};
use crate::engine::scheduling_cycle::Cycle;
use crate::engine::scheduling_cycle::filter::naming_the_plugin;

/// The plugins whose `Filter` and extensions are left out of the attempt
/// (`CycleState.SkipFilterPlugins`).
#[derive(Clone, Debug)]
pub(super) struct Skipped(pub(super) BTreeSet<PluginName>);

impl Skipped {
    fn has(state: &CycleState, plugin: &dyn Plugin) -> bool {
        let skipped = state.read::<Self>();
        skipped.is_some_and(|skipped| skipped.0.contains(plugin.name()))
    }
}

impl Cycle<'_> {
    /// The plugins whose `PreFilter` has extensions and was not skipped.
    fn extensions(&self, state: &CycleState) -> Vec<&dyn PreFilterExtensions> {
        let plugins = self.profile.points.pre_filter.iter();
        plugins
            .map(|index| self.profile.plugin(*index))
            .filter(|plugin| !Skipped::has(state, *plugin))
            .filter_map(|plugin| plugin.as_pre_filter()?.extensions())
            .collect()
    }
}

impl FilterRunner for Cycle<'_> {
    fn run_filters(
        &self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> FilterVerdict {
        self.with_nominated_pods(state, node, |state, node| {
            let plugins = self.profile.points.filter.iter();
            plugins
                .map(|index| self.profile.plugin(*index))
                .filter(|plugin| !Skipped::has(state, *plugin))
                .filter_map(|plugin| plugin.as_filter())
                .map(|filter| filter.filter(state, pod, node))
                .find(|verdict| *verdict != FilterVerdict::Fits)
                .map_or(FilterVerdict::Fits, naming_the_plugin)
        })
    }

    fn add_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        added: &PodView<'_>,
        node: &NodeView<'_>,
    ) {
        for extensions in self.extensions(state) {
            extensions.add_pod(state, pod, added, node);
        }
    }

    fn remove_pod(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        removed: &PodView<'_>,
        node: &NodeView<'_>,
    ) {
        for extensions in self.extensions(state) {
            extensions.remove_pod(state, pod, removed, node);
        }
    }
}
