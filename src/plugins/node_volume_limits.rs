//! `NodeVolumeLimits`: how many volumes of a CSI driver a node takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterVerdict, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, Plugin, PluginError, PluginName,
    QueueingHint, Rejection,
};
use crate::model::object_key::ObjectKey;
use crate::model::objects::CsiNode;
use crate::model::pod_volume::PodVolume;
use crate::plugins::claims;
use crate::plugins::csi_translation;
use crate::plugins::node_volume_limits::attachable_volume::{
    AttachableVolume, Untold, VolumesOnNode,
};

mod attachable_volume;

pub(crate) const NAME: &str = "NodeVolumeLimits";
pub(crate) const REASON: &str = "node(s) exceed max volume count";

/// The plugin.
#[derive(Debug)]
pub(crate) struct NodeVolumeLimits;

/// The volumes that are being attached, by node.
#[derive(Clone, Debug)]
struct Attachments(Arc<BTreeMap<String, BTreeSet<AttachableVolume>>>);

impl Attachments {
    fn of(listers: &Listers) -> Self {
        let mut by_node: BTreeMap<String, BTreeSet<AttachableVolume>> = BTreeMap::new();
        for attachment in listers.volume_attachments.iter() {
            if let Some(volume) = AttachableVolume::of_attachment(attachment, listers) {
                let node = attachment.spec.node_name.clone();
                by_node.entry(node).or_default().insert(volume);
            }
        }
        Self(Arc::new(by_node))
    }

    fn on(&self, node: &NodeView<'_>) -> impl Iterator<Item = &AttachableVolume> {
        self.0.get(&**node.name()).into_iter().flatten()
    }
}

/// Whether the volume may count against a limit.
fn may_count(volume: &PodVolume) -> bool {
    volume.is_claim() || csi_translation::is_migratable(volume)
}

fn judge(
    pod: &PodView<'_>,
    node: &NodeView<'_>,
    attachments: impl FnOnce() -> Attachments,
) -> Result<FilterVerdict, Untold> {
    let on_node = VolumesOnNode::of(node);
    let mut new = on_node.of_new_pod(pod)?;
    if let Some(driver) = new
        .iter()
        .map(|volume| &volume.driver)
        .find(|driver| is_missing(driver, &on_node))
    {
        let reason = format!("{driver} CSI driver is not installed on the node");
        return Ok(FilterVerdict::Rejected(Rejection::unschedulable(
            NAME, reason,
        )));
    }
    let limits = limits(on_node.csi_node);
    if new.is_empty() || limits.is_empty() {
        return Ok(FilterVerdict::Fits);
    }
    let mut attached = on_node.of_pods_on(node)?;
    new.retain(|volume| !attached.contains(volume));
    attached.extend(attachments().on(node).cloned());
    let of_driver = |volumes: &BTreeSet<AttachableVolume>, driver: &str| {
        volumes.iter().filter(|v| v.driver == driver).count()
    };
    let exceeds = |(driver, limit): (&str, i32)| {
        let wanted = of_driver(&new, driver);
        let count = i64::try_from(of_driver(&attached, driver) + wanted).unwrap_or(i64::MAX);
        wanted > 0 && count > i64::from(limit)
    };
    Ok(if limits.into_iter().any(exceeds) {
        FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON))
    } else {
        FilterVerdict::Fits
    })
}

/// Whether the driver says that its volumes go nowhere but where it is installed, and the node is
/// no such place (`checkCSIDriverOnNode`, feature `VolumeLimitScaling`).
fn is_missing(driver: &str, on_node: &VolumesOnNode<'_>) -> bool {
    let object = on_node.listers.csi_drivers.get("", driver);
    if !object.is_some_and(|object| object.spec.prevent_pod_scheduling_if_missing) {
        return false;
    }
    let mut installed = on_node.csi_node.iter().flat_map(|node| &node.spec.drivers);
    !installed.any(|installed| installed.name == driver)
}

/// The limits of the drivers on the node that have one (`getVolumeLimits`).
fn limits(csi_node: Option<&CsiNode>) -> BTreeMap<&str, i32> {
    let drivers = csi_node.into_iter().flat_map(|node| &node.spec.drivers);
    drivers
        .filter_map(|driver| {
            let count = driver.allocatable.as_ref()?.count?;
            Some((driver.name.as_str(), count))
        })
        .collect()
}

fn verdict(judged: Result<FilterVerdict, Untold>) -> FilterVerdict {
    judged.unwrap_or_else(|untold| match untold {
        Untold::MissingClaim(reason) => {
            FilterVerdict::Rejected(Rejection::unresolvable(NAME, reason))
        }
        Untold::Failed(message) => FilterVerdict::Failed(PluginError {
            plugin: NAME,
            message,
        }),
    })
}

/// Whether the pod uses the claim, by name or because it was made for it.
fn uses(pod: &PodView<'_>, key: &ObjectKey) -> bool {
    let made_for_pod = pod.class.volumes.iter().any(|volume| match volume {
        PodVolume::Ephemeral { volume_name } => {
            key.namespace == pod.info.key.namespace
                && *claims::ephemeral_name(pod, *volume_name) == *key.name
        }
        _ => false,
    });
    made_for_pod || claims::names(pod, key)
}

impl Plugin for NodeVolumeLimits {
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

impl ClassPlugin for NodeVolumeLimits {
    /// What is known of volumes changes beside the nodes.
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        pod.class.volumes.is_empty().then(Vec::new)
    }
}

impl PreFilterPlugin for NodeVolumeLimits {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        if !pod.class.volumes.iter().any(may_count) {
            return PreFilterVerdict::Skip;
        }
        state.write(Attachments::of(cluster.listers()));
        PreFilterVerdict::Proceed
    }
}

impl FilterPlugin for NodeVolumeLimits {
    fn filter(&self, state: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        let attachments = || match state.read::<Attachments>() {
            Some(attachments) => attachments.clone(),
            // A profile may enable this point alone.
            None => Attachments::of(node.cluster().listers()),
        };
        verdict(judge(pod, node, attachments))
    }
}

impl EnqueueExtensions for NodeVolumeLimits {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        // Of claims and volumes upstream hears of new claims only. But what counts for the driver of
        // a storage class may come to count for another driver, or for none, when it has a volume.
        // And a volume that another pod on the node uses needs no further place there.
        const KEPT: ActionType = ActionType::ADD.or(ActionType::UPDATE);
        const ANY: ActionType = KEPT.or(ActionType::DELETE);
        const COME_OR_GONE: ActionType = ActionType::ADD.or(ActionType::DELETE);
        const EVENTS: [ClusterEventKind; 6] = [
            // Upstream hears of drivers on it only, which may be known before the node.
            ClusterEventKind::new(EventResource::Node, ActionType::ADD),
            ClusterEventKind::new(EventResource::CsiNode, ANY),
            ClusterEventKind::new(EventResource::AssignedPod, COME_OR_GONE),
            ClusterEventKind::new(EventResource::PersistentVolumeClaim, ANY),
            ClusterEventKind::new(EventResource::PersistentVolume, COME_OR_GONE),
            ClusterEventKind::new(EventResource::VolumeAttachment, ActionType::DELETE),
        ];
        &EVENTS
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let may_fit = |node: NodeView<'_>| {
            let attachments = || Attachments::of(change.cluster.listers());
            change.cluster.has_possible_victims(pod)
                || !matches!(
                    verdict(judge(pod, &node, attachments)),
                    FilterVerdict::Rejected(_)
                )
        };
        let listers = change.cluster.listers();
        let counts = || pod.class.volumes.iter().any(may_count);
        let is_bound = |claim: &ObjectKey| {
            let claims = &listers.persistent_volume_claims;
            let claim = claims.get(&claim.namespace, &claim.name);
            claim.is_some_and(|claim| !claims::volume_name(claim).is_empty())
        };
        let is_claimed = |volume: &ObjectKey| {
            let volume = listers.persistent_volumes.get("", &volume.name);
            volume.is_some_and(|volume| volume.spec.claim_ref.is_some())
        };
        let had_volumes = |other: PodView<'_>| other.class.volumes.iter().any(may_count);
        let may_help = match (change.event.resource, change.object) {
            (EventResource::AssignedPod, _) => {
                change.other.is_none_or(had_volumes) && change.node.is_some_and(may_fit)
            }
            (EventResource::Node, _) => change.node.is_some_and(may_fit),
            (EventResource::CsiNode, Some(key))
                if !change.event.action.intersects(ActionType::ADD) =>
            {
                change.cluster.node(&key.name).is_some_and(may_fit)
            }
            (EventResource::PersistentVolumeClaim, Some(key)) if uses(pod, key) => true,
            (EventResource::PersistentVolumeClaim, Some(key)) => {
                let is_gone = change.event.action.intersects(ActionType::DELETE);
                let is_new = change.event.action.intersects(ActionType::ADD);
                counts() && (is_gone || !is_new && is_bound(key))
            }
            (EventResource::PersistentVolume, Some(key)) => {
                let is_gone = change.event.action.intersects(ActionType::DELETE);
                counts() && (is_gone || is_claimed(key))
            }
            (EventResource::VolumeAttachment, _) => counts(),
            _ => true,
        };
        QueueingHint::queue_if(may_help)
    }
}

#[cfg(test)]
mod tests;
