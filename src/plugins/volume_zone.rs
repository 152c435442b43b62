//! `VolumeZone`: volumes that are labelled with a zone or region are used there.

use std::collections::BTreeSet;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterScope, FilterVerdict, PreFilterPlugin,
    PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, Plugin, PluginName, QueueingHint,
    Rejection,
};
use crate::model::node_selector::NodeLabels;
use crate::model::objects::PersistentVolume;
use crate::plugins::claims;

pub(crate) const NAME: &str = "VolumeZone";
pub(crate) const REASON: &str = "node(s) had no available volume zone";

/// The labels of volumes and nodes that count, in upstream's order (`topologyLabels`). Each is
/// paired with the label of nodes that stands in for it (`translateToGALabel`).
const TOPOLOGY_LABELS: [(&str, &str); 4] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    (
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
];

/// Separates the zones of one label (`cloudvolume.LabelMultiZoneDelimiter`).
const ZONE_DELIMITER: &str = "__";

/// The plugin.
#[derive(Debug)]
pub(crate) struct VolumeZone;

/// Where a volume of the pod can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VolumeTopology {
    label: &'static str,
    /// The label of nodes that lack [`Self::label`].
    substitute: &'static str,
    values: BTreeSet<String>,
}

/// What the labels of all volumes of the pod demand.
#[derive(Clone, Debug)]
struct VolumeTopologies(Vec<VolumeTopology>);

impl VolumeTopologies {
    /// `getPVbyPod`; the error is the reason why no node will do.
    fn of(pod: &PodView<'_>, listers: &Listers) -> Result<Self, String> {
        let mut topologies = Vec::new();
        for name in claims::named(pod) {
            let name = pod.symbols.text(name);
            if name.is_empty() {
                return Err("PersistentVolumeClaim had no name".to_owned());
            }
            let claim = claims::find(pod, name, listers)?;
            let volume = claims::volume_name(claim);
            if volume.is_empty() {
                check_unbound(claims::storage_class(claim), listers)?;
                continue;
            }
            let volumes = &listers.persistent_volumes;
            let volume = volumes
                .get("", volume)
                .ok_or_else(|| claims::not_found("persistentvolume", volume))?;
            topologies.extend(topologies_of(volume));
        }
        Ok(Self(topologies))
    }

    fn allow(&self, node: &NodeView<'_>) -> bool {
        let value = |key: &str| {
            let symbols = node.symbols();
            Some(symbols.text(node.label(symbols.get(key)?)?))
        };
        if TOPOLOGY_LABELS
            .iter()
            .all(|(label, _)| value(label).is_none())
        {
            // A cluster of one zone need not label its nodes.
            return true;
        }
        self.0.iter().all(|topology| {
            value(topology.label)
                .or_else(|| value(topology.substitute))
                .is_some_and(|value| topology.values.contains(value))
        })
    }
}

/// A claim without a volume is fine only if its volume is chosen with the node.
fn check_unbound(storage_class: &str, listers: &Listers) -> Result<(), String> {
    if storage_class.is_empty() {
        return Err("PersistentVolumeClaim had no pv name and storageClass name".to_owned());
    }
    let class = listers.storage_classes.get("", storage_class);
    let class =
        class.ok_or_else(|| claims::not_found("storageclass.storage.k8s.io", storage_class))?;
    match class.volume_binding_mode.as_deref() {
        None => Err(format!(
            "VolumeBindingMode not set for StorageClass {storage_class:?}"
        )),
        Some("WaitForFirstConsumer") => Ok(()),
        Some(_) => Err("PersistentVolume had no name".to_owned()),
    }
}

/// `getPVTopologies`.
fn topologies_of(volume: &PersistentVolume) -> impl Iterator<Item = VolumeTopology> {
    TOPOLOGY_LABELS.iter().filter_map(|&(label, substitute)| {
        let value = volume.metadata.labels.as_ref()?.get(label)?;
        Some(VolumeTopology {
            label,
            substitute,
            values: zones(value)?,
        })
    })
}

/// The zones of one label; `None` if one of them is empty: such a label is not looked at.
fn zones(value: &str) -> Option<BTreeSet<String>> {
    let zones = value.split(ZONE_DELIMITER).map(str::trim);
    zones
        .map(|zone| (!zone.is_empty()).then(|| zone.to_owned()))
        .collect()
}

impl Plugin for VolumeZone {
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

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for VolumeZone {
    /// What is known of volumes changes beside the nodes.
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        pod.class.volumes.is_empty().then(Vec::new)
    }
}

impl PreFilterPlugin for VolumeZone {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        match VolumeTopologies::of(pod, cluster.listers()) {
            Err(reason) => PreFilterVerdict::Rejected(Rejection::unresolvable(NAME, reason)),
            Ok(topologies) if topologies.0.is_empty() => PreFilterVerdict::Skip,
            Ok(topologies) => {
                state.write(topologies);
                PreFilterVerdict::Proceed
            }
        }
    }
}

impl FilterPlugin for VolumeZone {
    fn filter(&self, state: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        let allowed = match state.read::<VolumeTopologies>() {
            Some(topologies) => Ok(topologies.allow(node)),
            // A profile may enable this point alone.
            None => VolumeTopologies::of(pod, node.cluster().listers())
                .map(|topologies| topologies.allow(node)),
        };
        match allowed {
            Ok(true) => FilterVerdict::Fits,
            Ok(false) => FilterVerdict::Rejected(Rejection::unresolvable(NAME, REASON)),
            Err(reason) => FilterVerdict::Rejected(Rejection::unresolvable(NAME, reason)),
        }
    }

    fn scope(&self, _: &PodView<'_>) -> FilterScope {
        FilterScope::NodeClass
    }
}

impl EnqueueExtensions for VolumeZone {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const ADDED_OR_CHANGED: ActionType = ActionType::ADD.or(ActionType::UPDATE);
        const EVENTS: [ClusterEventKind; 4] = [
            ClusterEventKind::new(EventResource::StorageClass, ActionType::ADD),
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL),
            ),
            ClusterEventKind::new(EventResource::PersistentVolumeClaim, ADDED_OR_CHANGED),
            ClusterEventKind::new(EventResource::PersistentVolume, ADDED_OR_CHANGED),
        ];
        &EVENTS
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let listers = change.cluster.listers();
        let may_help = match (change.event.resource, change.object) {
            (EventResource::StorageClass, Some(key)) => {
                let class = listers.storage_classes.get("", &key.name);
                class.is_some_and(|class| {
                    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
                })
            }
            (EventResource::PersistentVolumeClaim, Some(key)) => claims::names(pod, key),
            (EventResource::PersistentVolume, Some(key)) => claims::named(pod).any(|name| {
                claims::find(pod, pod.symbols.text(name), listers)
                    .is_ok_and(|claim| claims::volume_name(claim) == &*key.name)
            }),
            (EventResource::Node, _) => change.node.as_ref().is_some_and(|node| {
                VolumeTopologies::of(pod, listers).is_ok_and(|topologies| topologies.allow(node))
            }),
            _ => true,
        };
        QueueingHint::queue_if(may_help)
    }
}

#[cfg(test)]
mod tests;
