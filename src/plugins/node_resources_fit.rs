//! `NodeResourcesFit`: the pod's requests must fit what the node has left; scored by one of three
//! strategies.

pub(crate) mod scoring;

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterVerdict, PreFilterPlugin, PreFilterVerdict,
    ScorePlugin,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, HintScope, Plugin, PluginError,
    PluginName, QueueingHint, Reason, Rejection, RejectionKind,
};
use crate::model::resources::{CPU, EPHEMERAL_STORAGE, MEMORY, Resource, is_extended};
use crate::model::symbols::Symbol;
use crate::plugins::node_resources_fit::scoring::{PodAmount, ResourceWeights, Strategy};

pub(crate) const NAME: &str = "NodeResourcesFit";
pub(crate) const REASON_TOO_MANY_PODS: &str = "Too many pods";
pub(crate) const REASON_CPU: &str = "Insufficient cpu";
pub(crate) const REASON_MEMORY: &str = "Insufficient memory";
pub(crate) const REASON_EPHEMERAL_STORAGE: &str = "Insufficient ephemeral-storage";

/// The plugin with its arguments.
#[derive(Debug)]
pub(crate) struct NodeResourcesFit {
    pub(crate) ignored_resources: BTreeSet<String>,
    pub(crate) ignored_resource_groups: BTreeSet<String>,
    pub(crate) strategy: Strategy,
    pub(crate) resources: ResourceWeights,
}

/// What is missing on a node.
struct Shortage {
    reasons: SmallVec<[Reason; 1]>,
    /// More is asked for than the node has in whole: evictions cannot help.
    unresolvable: bool,
}

impl NodeResourcesFit {
    /// All that is missing, in upstream's order; scalars by name (`fitsRequest`).
    fn shortage(&self, pod: &PodView<'_>, node: &NodeView<'_>) -> Shortage {
        let mut shortage = Shortage {
            reasons: SmallVec::new(),
            unresolvable: false,
        };
        let pods = i64::try_from(node.pod_count()).unwrap_or(i64::MAX);
        if pods.saturating_add(1) > node.allowed_pods() {
            shortage.reasons.push(REASON_TOO_MANY_PODS.into());
        }
        let (wanted, room, used) = (&pod.class.asked, node.allocatable(), node.requested());
        for (reason, wanted, room, used) in [
            (REASON_CPU, wanted.milli_cpu, room.milli_cpu, used.milli_cpu),
            (REASON_MEMORY, wanted.memory, room.memory, used.memory),
            (
                REASON_EPHEMERAL_STORAGE,
                wanted.ephemeral_storage,
                room.ephemeral_storage,
                used.ephemeral_storage,
            ),
        ] {
            shortage.check(|| reason.into(), wanted, room, used);
        }
        let scalars = wanted.scalars().len();
        for &(name, wanted) in wanted.scalars() {
            if !self.is_ignored(pod.symbols.text(name)) {
                let (room, used) = (room.scalar(name), used.scalar(name));
                let reason = || format!("Insufficient {}", pod.symbols.text(name)).into();
                shortage.check(reason, wanted, room.unwrap_or(0), used.unwrap_or(0));
            }
        }
        if scalars > 1 {
            let dense = shortage
                .reasons
                .iter()
                .filter(|reason| is_dense(reason))
                .count();
            shortage.reasons[dense..].sort_unstable();
        }
        shortage
    }

    /// Extended resources that somebody else looks after.
    fn is_ignored(&self, name: &str) -> bool {
        if self.ignored_resources.is_empty() && self.ignored_resource_groups.is_empty() {
            return false;
        }
        let group = name.split('/').next().unwrap_or_default();
        is_extended(name)
            && (self.ignored_resources.contains(name)
                || self.ignored_resource_groups.contains(group))
    }

    fn fits(&self, pod: &PodView<'_>, node: &NodeView<'_>) -> bool {
        self.shortage(pod, node).reasons.is_empty()
    }
}

fn is_dense(reason: &Reason) -> bool {
    [
        REASON_TOO_MANY_PODS,
        REASON_CPU,
        REASON_MEMORY,
        REASON_EPHEMERAL_STORAGE,
    ]
    .contains(&&**reason)
}

impl Shortage {
    fn check(&mut self, reason: impl Fn() -> Reason, wanted: i64, room: i64, used: i64) {
        if wanted > 0 && wanted > room.saturating_sub(used) {
            self.reasons.push(reason());
            self.unresolvable |= wanted > room;
        }
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for NodeResourcesFit {}

impl PreFilterPlugin for NodeResourcesFit {
    fn pre_filter(
        &self,
        _: &mut CycleState,
        _: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        // The requests are part of the pod's class and need no computing here.
        PreFilterVerdict::Proceed
    }
}

impl FilterPlugin for NodeResourcesFit {
    fn filter(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        let Shortage {
            reasons,
            unresolvable,
        } = self.shortage(pod, node);
        if reasons.is_empty() {
            return FilterVerdict::Fits;
        }
        let kind = if unresolvable {
            RejectionKind::UnschedulableAndUnresolvable
        } else {
            RejectionKind::Unschedulable
        };
        FilterVerdict::Rejected(Rejection {
            kind,
            plugin: NAME,
            reasons,
        })
    }
}

impl ScorePlugin for NodeResourcesFit {
    fn score(
        &self,
        _: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let amounts = self.resources.amounts(PodAmount::NonZero, pod, node);
        Ok(self.strategy.score(&amounts))
    }
}

impl EnqueueExtensions for NodeResourcesFit {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 4] = [
            ClusterEventKind::new(EventResource::AssignedPod, ActionType::DELETE),
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD.or(ActionType::UPDATE_NODE_ALLOCATABLE),
            ),
            ClusterEventKind::new(
                EventResource::AssignedPod,
                ActionType::UPDATE_POD_SCALE_DOWN,
            ),
            ClusterEventKind::new(EventResource::TargetPod, ActionType::UPDATE_POD_SCALE_DOWN),
        ];
        &EVENTS
    }

    fn hint_scope(&self) -> HintScope {
        HintScope::Class
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let has_victims = change.cluster.has_possible_victims(pod);
        QueueingHint::queue_if(match (change.event.resource, &change.node) {
            (EventResource::TargetPod, _) => true,
            // Where pods can be evicted, what left may have been what stood in the way of that,
            // on whatever node.
            (EventResource::AssignedPod, _) if has_victims => true,
            (EventResource::Node, Some(node)) if has_victims => {
                !self.shortage(pod, node).unresolvable
            }
            (_, node) => node.is_some_and(|node| self.fits(pod, &node)),
        })
    }
}

/// The resource called `name` in the arguments of a plugin.
pub(crate) fn resource(name: &str, intern: &mut dyn FnMut(&str) -> Symbol) -> Resource {
    match name {
        CPU => Resource::Cpu,
        MEMORY => Resource::Memory,
        EPHEMERAL_STORAGE => Resource::EphemeralStorage,
        _ => Resource::Scalar(intern(name)),
    }
}

#[cfg(test)]
mod tests;
