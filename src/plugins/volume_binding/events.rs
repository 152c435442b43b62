//! Which changes may help a pod that lacks volumes.

use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::extension_points::{Change, EnqueueExtensions};
use crate::engine::framework::{ActionType, ClusterEventKind, EventResource, QueueingHint};
use crate::model::object_key::ObjectKey;
use crate::plugins::volume_binding::VolumeBinding;
use crate::plugins::volume_binding::claims;
use crate::plugins::volume_binding::find_matching::requested_if_any;
use crate::plugins::volume_binding::migration::MIGRATED_PLUGINS;
use crate::plugins::volume_binding::provisioning::volume_limit;

const ADD_OR_UPDATE: ActionType = ActionType::ADD.or(ActionType::UPDATE);

impl EnqueueExtensions for VolumeBinding {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 7] = [
            ClusterEventKind::new(EventResource::StorageClass, ADD_OR_UPDATE),
            ClusterEventKind::new(EventResource::PersistentVolumeClaim, ADD_OR_UPDATE),
            ClusterEventKind::new(EventResource::PersistentVolume, ADD_OR_UPDATE),
            ClusterEventKind::new(
                EventResource::Node,
                ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL),
            ),
            ClusterEventKind::new(EventResource::CsiNode, ADD_OR_UPDATE),
            ClusterEventKind::new(
                EventResource::CsiDriver,
                ActionType::UPDATE.or(ActionType::DELETE),
            ),
            ClusterEventKind::new(EventResource::CsiStorageCapacity, ADD_OR_UPDATE),
        ];
        &EVENTS
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        let Some(object) = change.object else {
            return QueueingHint::Queue;
        };
        let is_new = change.event.action.intersects(ActionType::ADD);
        QueueingHint::queue_if(match change.event.resource {
            EventResource::PersistentVolumeClaim => {
                object.namespace == pod.info.key.namespace && claims::names(pod, &object.name)
            }
            EventResource::CsiNode => is_new || has_migrated_plugins(change, object),
            EventResource::CsiStorageCapacity => has_space(change, object, pod),
            EventResource::StorageClass => is_class_of(change, object, pod),
            EventResource::CsiDriver => stopped_counting(change, object, pod),
            _ => true,
        })
    }
}

/// Of a node that is known already only the plugins that it hands over matter.
fn has_migrated_plugins(change: &Change<'_>, object: &ObjectKey) -> bool {
    let csi_node = change.cluster.listers().csi_nodes.get("", &object.name);
    let annotations = csi_node.and_then(|csi_node| csi_node.metadata.annotations.as_ref());
    annotations.is_some_and(|annotations| annotations.contains_key(MIGRATED_PLUGINS))
}

/// The capacity is one of a storage class of the pod and large enough for a claim.
fn has_space(change: &Change<'_>, object: &ObjectKey, pod: &PodView<'_>) -> bool {
    let listers = change.cluster.listers();
    let capacities = &listers.csi_storage_capacities;
    let Some(capacity) = capacities.get(&object.namespace, &object.name) else {
        return false;
    };
    let Some(limit) = volume_limit(capacity) else {
        return false;
    };
    claims::known(pod, listers).any(|claim| {
        let size = requested_if_any(claim);
        claims::claim_class(claim) == capacity.storage_class_name
            && size.is_none_or(|size| limit.units() >= size.units())
    })
}

/// The storage class is the one of a claim of the pod.
fn is_class_of(change: &Change<'_>, object: &ObjectKey, pod: &PodView<'_>) -> bool {
    let mut claims = claims::known(pod, change.cluster.listers());
    claims.any(|claim| claims::claim_class(claim) == &*object.name)
}

/// The driver tells its free capacity no more or is gone, which counts as much, and volumes for the
/// pod are made by it. Upstream asks whether the pod has the driver inline, which leaves out the
/// pods that wait for space, and does not hear of drivers that go.
fn stopped_counting(change: &Change<'_>, object: &ObjectKey, pod: &PodView<'_>) -> bool {
    let listers = change.cluster.listers();
    let driver = listers.csi_drivers.get("", &object.name);
    let is_free = driver.is_none_or(|driver| !driver.spec.storage_capacity);
    is_free
        && claims::known(pod, listers).any(|claim| {
            let class = listers.storage_classes.get("", claims::claim_class(claim));
            class.is_some_and(|class| class.provisioner == *object.name)
        })
}
