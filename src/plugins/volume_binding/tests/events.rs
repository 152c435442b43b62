//! Which changes wake a pod that lacks volumes.

use super::*;
use crate::engine::framework::{ActionType, ClusterEventKind, EventResource, QueueingHint};
use crate::model::object_key::ObjectKey;

#[test]
fn a_driver_wakes_pods_when_it_counts_no_more_or_is_gone() {
    let cluster = || {
        cluster()
            .with_listed::<PersistentVolumeClaim>(claim("c", "csi", "2Gi"))
            .with_pod(&pod(&["c"]))
    };
    let counting = |counts: bool| {
        let driver = json!({"metadata": {"name": "driver"}, "spec": {"storageCapacity": counts}});
        cluster().with_listed::<CsiDriver>(driver)
    };
    let hint = |cluster: &Cluster, action, driver: &str| {
        let event = ClusterEventKind::new(EventResource::CsiDriver, action);
        cluster.hint(&plugin(), event, None, Some(&ObjectKey::new("", driver)))
    };
    let (update, delete) = (ActionType::UPDATE, ActionType::DELETE);
    assert_eq!(hint(&counting(true), update, "driver"), QueueingHint::Skip);
    assert_eq!(
        hint(&counting(false), update, "driver"),
        QueueingHint::Queue
    );
    assert_eq!(hint(&cluster(), delete, "driver"), QueueingHint::Queue);
    assert_eq!(hint(&cluster(), delete, "other"), QueueingHint::Skip);
}
