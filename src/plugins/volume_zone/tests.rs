use serde_json::{Value, json};

use super::*;
use crate::model::object_key::ObjectKey;
use crate::model::objects::{PersistentVolumeClaim, StorageClass};
use crate::plugins::fixtures::{Cluster, NodeBuilder, make_node, make_pod};

const ZONE: &str = "topology.kubernetes.io/zone";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

/// The pod has the claim `c`, which is described by its `spec`.
fn cluster(nodes: impl IntoIterator<Item = NodeBuilder>, claim: Option<Value>) -> Cluster {
    let pod = make_pod("p").spec(json!({"volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}));
    let cluster = Cluster::new(nodes).with_pod(&pod);
    match claim {
        None => cluster,
        Some(spec) => cluster.with_listed::<PersistentVolumeClaim>(
            json!({"metadata": {"name": "c", "namespace": "default"}, "spec": spec}),
        ),
    }
}

fn with_volume(cluster: Cluster, labels: &Value) -> Cluster {
    cluster.with_listed::<PersistentVolume>(json!({"metadata": {"name": "pv", "labels": labels}}))
}

/// Whether each node takes a pod whose volume has these labels.
fn fits(nodes: &[NodeBuilder], labels: &Value) -> Vec<bool> {
    let bound = cluster(nodes.iter().cloned(), Some(json!({"volumeName": "pv"})));
    let verdicts = with_volume(bound, labels).filter(&VolumeZone);
    let fits = |verdict| match verdict {
        FilterVerdict::Fits => true,
        FilterVerdict::Rejected(rejection) => {
            assert_eq!(rejection, Rejection::unresolvable(NAME, REASON));
            false
        }
        FilterVerdict::Failed(error) => panic!("{error}"),
    };
    verdicts.into_iter().map(fits).collect()
}

fn rejection(claim: Option<Value>, class: Option<Value>) -> Option<String> {
    let mut cluster = cluster([make_node("n")], claim);
    if let Some(class) = class {
        cluster = cluster.with_listed::<StorageClass>(class);
    }
    match cluster.pre_filter(&VolumeZone).1 {
        PreFilterVerdict::Rejected(rejection) => {
            assert!(rejection.is_unresolvable());
            Some(rejection.message())
        }
        PreFilterVerdict::Skip => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn volumes_with_a_zone_are_used_there_and_on_nodes_without_any() {
    let nodes = [
        make_node("a").label(ZONE, "a"),
        make_node("b").label(ZONE, "b"),
        make_node("region").label("topology.kubernetes.io/region", "r"),
        make_node("none"),
    ];
    assert_eq!(
        fits(&nodes, &json!({ZONE: "a"})),
        [true, false, false, true]
    );
    assert_eq!(
        fits(&nodes, &json!({ZONE: "a__ b"})),
        [true, true, false, true]
    );
}

#[test]
fn labels_with_an_empty_zone_are_not_looked_at() {
    let nodes = [make_node("a").label(ZONE, "a")];
    for value in ["", "b__", "__"] {
        assert_eq!(fits(&nodes, &json!({ZONE: value})), [true], "{value:?}");
    }
}

#[test]
fn an_old_label_of_the_volume_is_compared_with_the_new_one_of_the_node() {
    let nodes = [
        make_node("new").label(ZONE, "a"),
        make_node("old").label(BETA_ZONE, "a"),
        make_node("both").label(BETA_ZONE, "b").label(ZONE, "a"),
    ];
    assert_eq!(fits(&nodes, &json!({BETA_ZONE: "a"})), [true, true, false]);
    assert_eq!(fits(&nodes, &json!({ZONE: "a"})), [true, false, true]);
}

#[test]
fn claims_that_cannot_be_used_are_named() {
    let class = |mode: Option<&str>| json!({"metadata": {"name": "s"}, "provisioner": "p", "volumeBindingMode": mode});
    let unbound = || Some(json!({"storageClassName": "s"}));
    for (claim, class, message) in [
        (None, None, Some("persistentvolumeclaim \"c\" not found")),
        (
            Some(json!({"volumeName": "pv"})),
            None,
            Some("persistentvolume \"pv\" not found"),
        ),
        (
            Some(json!({})),
            None,
            Some("PersistentVolumeClaim had no pv name and storageClass name"),
        ),
        (
            unbound(),
            None,
            Some("storageclass.storage.k8s.io \"s\" not found"),
        ),
        (
            unbound(),
            Some(class(None)),
            Some("VolumeBindingMode not set for StorageClass \"s\""),
        ),
        (
            unbound(),
            Some(class(Some("Immediate"))),
            Some("PersistentVolume had no name"),
        ),
        (unbound(), Some(class(Some("WaitForFirstConsumer"))), None),
    ] {
        assert_eq!(rejection(claim, class).as_deref(), message);
    }
}

#[test]
fn pods_are_tried_again_when_what_they_use_changes() {
    let bound = cluster([make_node("n")], Some(json!({"volumeName": "pv"})));
    let bound = with_volume(bound, &json!({}))
        .with_listed::<StorageClass>(json!({"metadata": {"name": "later"},
            "volumeBindingMode": "WaitForFirstConsumer"}))
        .with_listed::<StorageClass>(json!({"metadata": {"name": "at-once"},
            "volumeBindingMode": "Immediate"}));
    let update = ActionType::UPDATE;
    for (resource, action, namespace, name, hint) in [
        (
            EventResource::PersistentVolumeClaim,
            update,
            "default",
            "c",
            true,
        ),
        (
            EventResource::PersistentVolumeClaim,
            update,
            "default",
            "d",
            false,
        ),
        (EventResource::PersistentVolume, update, "", "pv", true),
        (EventResource::PersistentVolume, update, "", "other", false),
        (
            EventResource::StorageClass,
            ActionType::ADD,
            "",
            "later",
            true,
        ),
        (
            EventResource::StorageClass,
            ActionType::ADD,
            "",
            "at-once",
            false,
        ),
    ] {
        let event = ClusterEventKind::new(resource, action);
        let key = ObjectKey::new(namespace, name);
        let said = bound.hint(&VolumeZone, event, None, Some(&key));
        assert_eq!(said, QueueingHint::queue_if(hint), "{event} {key}");
    }
}
