use serde_json::{Value, json};

use super::*;
use crate::model::objects::{
    CsiDriver, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment,
};
use crate::plugins::fixtures::{Cluster, PodBuilder, make_node, make_pod};

const EBS: &str = "ebs.csi.aws.com";

fn with_claims(name: &str, claims: &[&str]) -> PodBuilder {
    let volume =
        |claim: &&str| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    let volumes: Vec<Value> = claims.iter().map(volume).collect();
    make_pod(name).spec(json!({"volumes": volumes}))
}

fn with_inline(name: &str, source: Value) -> PodBuilder {
    let mut volume = source;
    volume["name"] = "v".into();
    make_pod(name).spec(json!({"volumes": [volume]}))
}

fn csi(handle: &str) -> Value {
    json!({"csi": {"driver": EBS, "volumeHandle": handle}})
}

fn csi_node(limit: Option<i32>) -> Value {
    json!({"metadata": {"name": "n"}, "spec": {"drivers": [
        {"name": EBS, "nodeID": "n", "allocatable": {"count": limit}}]}})
}

/// The node `n`, whose driver takes `limit` volumes, and the claims `a`, `b` and `c` that are
/// bound to volumes of the same names.
fn cluster(limit: Option<i32>) -> Cluster {
    let cluster = Cluster::new([make_node("n")]).with_listed::<CsiNode>(csi_node(limit));
    ["a", "b", "c"].into_iter().fold(cluster, |cluster, name| {
        with_bound_claim(cluster, name, &csi(name))
    })
}

fn with_bound_claim(cluster: Cluster, name: &str, source: &Value) -> Cluster {
    cluster
        .with_listed::<PersistentVolume>(json!({"metadata": {"name": name}, "spec": source}))
        .with_listed::<PersistentVolumeClaim>(json!({
            "metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": name}}))
}

fn verdict_on_n(cluster: &Cluster) -> FilterVerdict {
    cluster.filter(&NodeVolumeLimits).remove(0)
}

fn exceeds(cluster: &Cluster) -> bool {
    match verdict_on_n(cluster) {
        FilterVerdict::Fits => false,
        FilterVerdict::Rejected(rejection) => {
            assert_eq!(rejection, Rejection::unschedulable(NAME, REASON));
            true
        }
        FilterVerdict::Failed(error) => panic!("{error}"),
    }
}

#[test]
fn a_node_takes_as_many_volumes_as_its_driver_says() {
    for (limit, full) in [
        (Some(1), true),
        (Some(2), false),
        (None, false),
        (Some(0), true),
    ] {
        let cluster = cluster(limit)
            .with_running(&with_claims("r", &["a"]).on("n"))
            .with_pod(&with_claims("p", &["b"]));
        assert_eq!(exceeds(&cluster), full, "{limit:?}");
    }
}

#[test]
fn a_volume_counts_once_however_many_pods_use_it() {
    let cluster = cluster(Some(2))
        .with_running(&with_claims("r", &["a", "b"]).on("n"))
        .with_running(&with_claims("s", &["b"]).on("n"));
    assert!(!exceeds(&cluster.with_pod(&with_claims("p", &["a", "b"]))));
}

#[test]
fn a_volume_that_is_attached_counts_also_without_a_pod() {
    let attachment = |name: &str| {
        json!({"metadata": {"name": format!("va-{name}")}, "spec": {
            "attacher": EBS, "nodeName": "n", "source": {"persistentVolumeName": name}}})
    };
    let attached = |name| {
        cluster(Some(2))
            .with_listed::<VolumeAttachment>(attachment(name))
            .with_running(&with_claims("r", &["a"]).on("n"))
            .with_pod(&with_claims("p", &["b"]))
    };
    assert!(!exceeds(&attached("a")));
    assert!(exceeds(&attached("c")));
}

#[test]
fn claims_without_a_volume_count_for_the_driver_of_their_class() {
    let unbound = |provisioner: &str| {
        cluster(Some(1))
            .with_listed::<StorageClass>(
                json!({"metadata": {"name": "s"}, "provisioner": provisioner}),
            )
            .with_listed::<PersistentVolumeClaim>(json!({
                "metadata": {"name": "u", "namespace": "default"},
                "spec": {"storageClassName": "s"}}))
            .with_running(&with_claims("r", &["a"]).on("n"))
            .with_pod(&with_claims("p", &["u"]))
    };
    assert!(exceeds(&unbound(EBS)));
    assert!(exceeds(&unbound("kubernetes.io/aws-ebs")));
    assert!(!exceeds(&unbound("other.csi.example.com")));
}

#[test]
fn disks_of_the_cloud_count_for_the_driver_that_took_them_over() {
    let disk = |id| json!({"awsElasticBlockStore": {"volumeID": id}});
    let in_spec =
        cluster(Some(1)).with_running(&with_inline("r", disk("aws://zone/vol-1")).on("n"));
    assert!(!exceeds(
        &in_spec.with_pod(&with_inline("p", disk("vol-1")))
    ));
    let claimed = with_bound_claim(cluster(Some(1)), "d", &disk("vol-2"))
        .with_running(&with_inline("r", disk("vol-1")).on("n"));
    assert!(exceeds(&claimed.with_pod(&with_claims("p", &["d"]))));
}

#[test]
fn disks_of_the_cloud_do_not_count_on_nodes_that_say_nothing_of_drivers() {
    let disk = json!({"awsElasticBlockStore": {"volumeID": "aws://wrong"}});
    let cluster = Cluster::new([make_node("n")]).with_pod(&with_inline("p", disk));
    assert!(!exceeds(&cluster));
}

#[test]
fn a_disk_that_cannot_be_translated_fails_the_attempt() {
    let disk = json!({"awsElasticBlockStore": {"volumeID": "aws://wrong"}});
    let cluster = cluster(Some(1)).with_pod(&with_inline("p", disk));
    let message = "converting volume(v) from inline to csi: failed to translate Kubernetes ID to \
        EBS Volume ID Invalid format for AWS volume (aws://wrong)";
    let failed = PluginError {
        plugin: NAME,
        message: message.to_owned(),
    };
    assert_eq!(verdict_on_n(&cluster), FilterVerdict::Failed(failed));
}

#[test]
fn a_missing_claim_of_the_pod_is_named_and_one_of_others_does_not_count() {
    let missing = cluster(Some(1)).with_pod(&with_claims("p", &["x"]));
    let reason = "looking up PVC default/x: persistentvolumeclaim \"x\" not found";
    assert_eq!(
        verdict_on_n(&missing),
        FilterVerdict::Rejected(Rejection::unresolvable(NAME, reason))
    );
    let others = cluster(Some(1)).with_running(&with_claims("r", &["x"]).on("n"));
    assert!(!exceeds(&others.with_pod(&with_claims("p", &["a"]))));
}

#[test]
fn a_claim_made_for_a_pod_must_be_its_own() {
    let made_for = |uid: &str| {
        let pod = make_pod("p").spec(json!({"volumes": [{"name": "v", "ephemeral": {}}]}));
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid,
            "controller": true});
        cluster(Some(1))
            .with_listed::<PersistentVolumeClaim>(json!({
                "metadata": {"name": "p-v", "namespace": "default", "ownerReferences": [owner]},
                "spec": {"volumeName": "a"}}))
            .with_running(&with_claims("r", &["b"]).on("n"))
            .with_pod(&pod)
    };
    assert!(exceeds(&made_for("uid-p")));
    let FilterVerdict::Failed(error) = verdict_on_n(&made_for("another")) else {
        panic!("the attempt must fail");
    };
    assert_eq!(
        error.message,
        "PVC default/p-v was not created for pod default/p (pod is not owner)"
    );
}

#[test]
fn a_driver_may_keep_its_volumes_from_nodes_without_it() {
    let with_driver = |prevent: bool, installed: bool| {
        let cluster = if installed {
            cluster(Some(1))
        } else {
            with_bound_claim(Cluster::new([make_node("n")]), "a", &csi("a"))
        };
        cluster
            .with_listed::<CsiDriver>(json!({"metadata": {"name": EBS},
                "spec": {"preventPodSchedulingIfMissing": prevent}}))
            .with_pod(&with_claims("p", &["a"]))
    };
    let reason = "ebs.csi.aws.com CSI driver is not installed on the node";
    let no = FilterVerdict::Rejected(Rejection::unschedulable(NAME, reason));
    assert_eq!(verdict_on_n(&with_driver(true, false)), no);
    for (prevent, installed) in [(true, true), (false, true), (false, false)] {
        let cluster = with_driver(prevent, installed);
        assert_eq!(verdict_on_n(&cluster), FilterVerdict::Fits);
    }
}

#[test]
fn pods_without_volumes_that_may_count_are_not_judged() {
    let nfs = json!({"nfs": {"server": "s", "path": "/"}});
    let cluster = cluster(Some(0)).with_pod(&with_inline("p", nfs));
    assert_eq!(
        cluster.pre_filter(&NodeVolumeLimits).1,
        PreFilterVerdict::Skip
    );
}

#[test]
fn pods_are_tried_again_when_the_node_has_room_for_their_volumes() {
    let limit_changed = ClusterEventKind::new(EventResource::CsiNode, ActionType::UPDATE);
    let pod_deleted = ClusterEventKind::new(EventResource::AssignedPod, ActionType::DELETE);
    let node_added = ClusterEventKind::new(EventResource::Node, ActionType::ADD);
    let claim_added = ClusterEventKind::new(EventResource::PersistentVolumeClaim, ActionType::ADD);
    let (node, made) = (ObjectKey::new("", "n"), ObjectKey::new("default", "p-e"));
    for (limit, room) in [(1, QueueingHint::Skip), (2, QueueingHint::Queue)] {
        let cluster = cluster(Some(limit))
            .with_running(&with_claims("r", &["a"]).on("n"))
            .with_pod(&with_claims("p", &["b"]));
        let hint = |event, node, key| cluster.hint(&NodeVolumeLimits, event, node, key);
        assert_eq!(hint(limit_changed, None, Some(&node)), room);
        assert_eq!(hint(pod_deleted, Some("n"), None), room);
        assert_eq!(hint(node_added, Some("n"), None), room);
        assert_eq!(hint(claim_added, None, Some(&made)), QueueingHint::Skip);
    }
    let ephemeral = make_pod("p").spec(json!({"volumes": [{"name": "e", "ephemeral": {}}]}));
    let cluster = cluster(Some(1)).with_pod(&ephemeral);
    assert_eq!(
        cluster.hint(&NodeVolumeLimits, claim_added, None, Some(&made)),
        QueueingHint::Queue
    );
}

#[test]
fn pods_are_tried_again_when_a_claim_gets_a_volume_of_another_driver() {
    let claim_changed =
        ClusterEventKind::new(EventResource::PersistentVolumeClaim, ActionType::UPDATE);
    let volume_added = ClusterEventKind::new(EventResource::PersistentVolume, ActionType::ADD);
    let (claim, volume) = (ObjectKey::new("default", "u"), ObjectKey::new("", "v"));
    // The claim counts for the driver of its class as long as it has no volume.
    let cluster = |volume_name: &str, claim_ref: Value| {
        cluster(Some(1))
            .with_listed::<StorageClass>(json!({"metadata": {"name": "s"}, "provisioner": EBS}))
            .with_listed::<PersistentVolumeClaim>(json!({
                "metadata": {"name": "u", "namespace": "default"},
                "spec": {"storageClassName": "s", "volumeName": volume_name}}))
            .with_listed::<PersistentVolume>(json!({"metadata": {"name": "v"},
                "spec": {"csi": {"driver": "other.csi.example.com", "volumeHandle": "h"},
                    "claimRef": claim_ref}}))
            .with_running(&with_claims("r", &["u"]).on("n"))
            .with_pod(&with_claims("p", &["a"]))
    };
    let reference = json!({"namespace": "default", "name": "u"});
    let hints = |cluster: &Cluster| {
        let hint = |event, key| cluster.hint(&NodeVolumeLimits, event, None, Some(key));
        [hint(claim_changed, &claim), hint(volume_added, &volume)]
    };
    let before = cluster("", Value::Null);
    assert!(exceeds(&before));
    assert_eq!(hints(&before), [QueueingHint::Skip; 2]);
    let after = cluster("v", reference);
    assert!(!exceeds(&after));
    assert_eq!(hints(&after), [QueueingHint::Queue; 2]);
}

#[test]
fn pods_are_tried_again_when_a_pod_comes_that_uses_the_same_volume() {
    let pod_added = ClusterEventKind::new(EventResource::AssignedPod, ActionType::ADD);
    for (same, hint) in [("b", QueueingHint::Queue), ("a", QueueingHint::Skip)] {
        let cluster = cluster(Some(1))
            .with_running(&with_claims("r", &["a"]).on("n"))
            .with_running(&with_claims("s", &[same]).on("n"))
            .with_pod(&with_claims("p", &["b"]));
        assert_eq!(exceeds(&cluster), hint == QueueingHint::Skip);
        let said = cluster.hint(&NodeVolumeLimits, pod_added, Some("n"), None);
        assert_eq!(said, hint, "{same}");
    }
}

#[test]
fn pods_are_tried_again_when_what_counted_for_a_driver_is_gone() {
    let gone = |resource| ClusterEventKind::new(resource, ActionType::DELETE);
    let (claim, volume) = (ObjectKey::new("default", "u"), ObjectKey::new("", "v"));
    let cluster = cluster(Some(1)).with_pod(&with_claims("p", &["a"]));
    let hint = |event, key| cluster.hint(&NodeVolumeLimits, event, None, Some(key));
    let queue = QueueingHint::Queue;
    assert_eq!(
        hint(gone(EventResource::PersistentVolumeClaim), &claim),
        queue
    );
    assert_eq!(hint(gone(EventResource::PersistentVolume), &volume), queue);
}
