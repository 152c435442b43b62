//! A plugin that panics for pods that carry a bomb.

use std::sync::Arc;

use bayplan::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use bayplan::engine::framework::class_plugin::ClassPlugin;
use bayplan::engine::framework::extension_points::{
    FilterPlugin, FilterVerdict, PermitDecision, PermitPlugin, PermitVerdict, PreEnqueuePlugin,
};
use bayplan::engine::framework::profile::Profile;
use bayplan::engine::framework::{CycleState, Plugin, PluginName, Rejection};
use bayplan::model::pod_info::PodUid;

/// The label that says where the bomb goes off.
pub(crate) const LABEL: &str = "bomb";

/// Where it may go off.
pub(crate) const POINTS: [&str; 3] = ["enqueue", "filter", "permit"];

/// What the panic says.
pub(crate) const BANG: &str = "bang";

/// Panics for pods whose label [`LABEL`] names the point.
#[derive(Debug)]
struct Bomb;

impl Plugin for Bomb {
    fn name(&self) -> PluginName {
        "Bomb"
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }
}

impl ClassPlugin for Bomb {
    fn outcome_of_labels(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &Snapshot<'_>,
        outcome: &mut Vec<u64>,
    ) {
        let value = pod.symbols.get(LABEL).and_then(|key| pod.labels.get(key));
        let value = value.map(|value| pod.symbols.text(value));
        let mut points = (1..).zip(POINTS);
        outcome.extend(points.find_map(|(number, point)| (value == Some(point)).then_some(number)));
    }
}

impl PreEnqueuePlugin for Bomb {
    fn pre_enqueue(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Rejection> {
        go_off("enqueue", pod);
        None
    }
}

impl FilterPlugin for Bomb {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, _: &NodeView<'_>) -> FilterVerdict {
        go_off("filter", pod);
        FilterVerdict::Fits
    }
}

impl PermitPlugin for Bomb {
    fn permit(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &NodeView<'_>,
        _: &[PodUid],
    ) -> PermitVerdict {
        go_off("permit", pod);
        PermitDecision::Allow.into()
    }
}

/// Unwinds as a panic does, without printing anything.
fn go_off(point: &str, pod: &PodView<'_>) {
    let key = pod.symbols.get(LABEL);
    let value = key.and_then(|key| pod.labels.get(key));
    if value.is_some_and(|value| pod.symbols.text(value) == point) {
        std::panic::resume_unwind(Box::new(BANG));
    }
}

/// Adds the plugin to a profile.
pub(crate) fn plant(profile: &mut Profile) {
    let index = profile.plugins.len();
    profile.plugins.push(Arc::new(Bomb));
    profile.points.pre_enqueue.push(index);
    profile.points.filter.insert(0, index);
    profile.points.permit.push(index);
}
