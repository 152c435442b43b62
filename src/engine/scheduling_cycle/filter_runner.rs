//! Runs the filters of the profile for plugins that try hypotheses.

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::CycleState;
use crate::engine::framework::extension_points::{
    FilterRunner, FilterVerdict, PreFilterExtensions,
};
use crate::engine::scheduling_cycle::Cycle;
use crate::engine::scheduling_cycle::filter::naming_the_plugin;
use crate::engine::scheduling_cycle::skipped::Skipped;

/// Whether `Filter` and extensions of a plugin are left out of the attempt
/// (`CycleState.SkipFilterPlugins`).
fn is_skipped(state: &CycleState, index: usize) -> bool {
    state
        .read::<Skipped>()
        .is_some_and(|skipped| skipped.has(index))
}

impl Cycle<'_> {
    /// The plugins whose `PreFilter` has extensions and was not skipped.
    fn extensions(&self, state: &CycleState) -> Vec<&dyn PreFilterExtensions> {
        let plugins = self.profile.points.pre_filter.iter();
        plugins
            .filter(|index| !is_skipped(state, **index))
            .map(|index| self.profile.plugin(*index))
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
                .filter(|index| !is_skipped(state, **index))
                .map(|index| self.profile.plugin(*index))
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
