//! `SchedulingGates`: a pod with gates does not enter the active queue (KEP-3521).

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::framework::extension_points::{EnqueueExtensions, PreEnqueuePlugin};
use crate::engine::framework::{
    ActionType, ClusterEventKind, EventResource, Plugin, PluginName, Rejection,
};

pub(crate) const NAME: &str = "SchedulingGates";

/// The plugin.
#[derive(Debug)]
pub(crate) struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for SchedulingGates {
    fn pre_enqueue(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Rejection> {
        let gates = &pod.info.scheduling_gates;
        if gates.is_empty() {
            return None;
        }
        // Go's %v of a slice of names.
        let reason = format!("waiting for scheduling gates: [{}]", gates.join(" "));
        Some(Rejection::unresolvable(NAME, reason))
    }
}

impl EnqueueExtensions for SchedulingGates {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 1] = [ClusterEventKind::new(
            EventResource::TargetPod,
            ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        )];
        &EVENTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_pod};

    #[test]
    fn a_pod_waits_until_its_last_gate_is_gone() {
        let cluster = Cluster::default();
        let gated = cluster.with_pod(&make_pod("p").gate("a").gate("b"));
        let reason = SchedulingGates
            .pre_enqueue(&gated.view(), &gated.snapshot())
            .unwrap()
            .message();
        assert_eq!(reason, "waiting for scheduling gates: [a b]");
        let cluster = Cluster::default();
        let free = cluster.with_pod(&make_pod("p"));
        assert_eq!(
            SchedulingGates.pre_enqueue(&free.view(), &free.snapshot()),
            None
        );
    }
}
