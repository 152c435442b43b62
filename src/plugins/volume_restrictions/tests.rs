use serde_json::{Value, json};

use super::*;
use crate::model::object_key::ObjectKey;
use crate::model::objects::PersistentVolumeClaim;
use crate::plugins::fixtures::{Cluster, PodBuilder, make_node, make_pod};

fn with_volume(name: &str, source: Value) -> PodBuilder {
    let mut volume = source;
    volume["name"] = "v".into();
    make_pod(name).spec(json!({"volumes": [volume]}))
}

fn with_claim(name: &str, claim: &str) -> PodBuilder {
    with_volume(name, json!({"persistentVolumeClaim": {"claimName": claim}}))
}

fn claim(name: &str, mode: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"accessModes": [mode]}})
}

/// Whether a pod with `new` goes to a node on which a pod has `running`.
fn fit(running: Value, new: Value) -> bool {
    let cluster = Cluster::new([make_node("n")])
        .with_running(&with_volume("r", running).on("n"))
        .with_pod(&with_volume("p", new));
    match &*cluster.filter(&VolumeRestrictions) {
        [FilterVerdict::Fits] => true,
        [FilterVerdict::Rejected(rejection)] => {
            assert_eq!(*rejection, Rejection::unschedulable(NAME, REASON_DISK));
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn disks_are_shared_only_by_readers() {
    let gce =
        |name, read_only| json!({"gcePersistentDisk": {"pdName": name, "readOnly": read_only}});
    let iscsi = |iqn, read_only| json!({"iscsi": {"iqn": iqn, "readOnly": read_only}});
    let rbd = |image, read_only| json!({"rbd": {"monitors": ["a", "b"], "image": image, "readOnly": read_only}});
    for disk in [&gce as &dyn Fn(&'static str, bool) -> Value, &iscsi, &rbd] {
        assert!(!fit(disk("d", false), disk("d", false)));
        assert!(!fit(disk("d", true), disk("d", false)));
        assert!(!fit(disk("d", false), disk("d", true)));
        assert!(fit(disk("d", true), disk("d", true)));
        assert!(fit(disk("d", false), disk("e", false)));
    }
    assert!(fit(gce("d", false), iscsi("d", false)));
}

#[test]
fn ebs_volumes_are_never_shared() {
    let ebs = |id| json!({"awsElasticBlockStore": {"volumeID": id, "readOnly": true}});
    assert!(!fit(ebs("vol-1"), ebs("vol-1")));
    assert!(fit(ebs("vol-1"), ebs("vol-2")));
}

#[test]
fn rbd_images_are_one_if_a_monitor_the_pool_and_the_image_are() {
    let rbd = |monitors: &[&str], pool: Option<&str>| json!({"rbd": {"monitors": monitors, "pool": pool, "image": "i"}});
    assert!(!fit(rbd(&["a", "b"], None), rbd(&["b", "c"], Some("rbd"))));
    assert!(fit(rbd(&["a"], None), rbd(&["b"], None)));
    assert!(fit(rbd(&["a"], None), rbd(&["a"], Some("other"))));
}

#[test]
fn pods_without_disks_and_claims_in_use_are_not_judged() {
    let cluster = |mode| {
        Cluster::new([make_node("n")])
            .with_listed::<PersistentVolumeClaim>(claim("c", mode))
            .with_running(&with_claim("r", "c").on("n"))
            .with_pod(&with_claim("p", "c"))
    };
    let (_, verdict) = cluster("ReadWriteOnce").pre_filter(&VolumeRestrictions);
    assert_eq!(verdict, PreFilterVerdict::Skip);
    let (_, verdict) = cluster("ReadWriteOncePod").pre_filter(&VolumeRestrictions);
    assert_eq!(verdict, PreFilterVerdict::Proceed);
}

#[test]
fn a_claim_of_one_pod_in_use_anywhere_leaves_no_node() {
    let cluster = Cluster::new([make_node("n"), make_node("other")])
        .with_listed::<PersistentVolumeClaim>(claim("c", "ReadWriteOncePod"))
        .with_running(&with_claim("r", "c").on("n"))
        .with_pod(&with_claim("p", "c"));
    let no = FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON_CLAIM));
    assert_eq!(cluster.filter(&VolumeRestrictions), [no.clone(), no]);
}

#[test]
fn a_claim_of_the_same_name_elsewhere_is_another_claim() {
    let elsewhere = with_claim("r", "c").metadata(json!({"namespace": "elsewhere"}));
    let cluster = Cluster::new([make_node("n")])
        .with_listed::<PersistentVolumeClaim>(claim("c", "ReadWriteOncePod"))
        .with_running(&elsewhere.on("n"))
        .with_pod(&with_claim("p", "c"));
    let (_, verdict) = cluster.pre_filter(&VolumeRestrictions);
    assert_eq!(verdict, PreFilterVerdict::Skip);
}

#[test]
fn without_the_pod_that_uses_it_the_claim_is_free() {
    let cluster = Cluster::new([make_node("n")])
        .with_listed::<PersistentVolumeClaim>(claim("c", "ReadWriteOncePod"))
        .with_running(&with_claim("r", "c").on("n"))
        .with_pod(&with_claim("p", "c"));
    let (mut state, _) = cluster.pre_filter(&VolumeRestrictions);
    let (pod, node) = (cluster.view(), cluster.snapshot().node("n").unwrap());
    let running = node.pods().next().unwrap();
    VolumeRestrictions.remove_pod(&mut state, &pod, &running, &node);
    assert_eq!(
        VolumeRestrictions.filter(&state, &pod, &node),
        FilterVerdict::Fits
    );
    VolumeRestrictions.add_pod(&mut state, &pod, &running, &node);
    assert_eq!(
        VolumeRestrictions.filter(&state, &pod, &node),
        FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON_CLAIM))
    );
}

#[test]
fn a_claim_that_does_not_exist_ends_the_attempt_with_its_name() {
    let cluster = Cluster::new([make_node("n")]).with_pod(&with_claim("p", "c"));
    let (_, verdict) = cluster.pre_filter(&VolumeRestrictions);
    let reason = "persistentvolumeclaim \"c\" not found";
    let no = Rejection::unresolvable(NAME, reason);
    assert_eq!(verdict, PreFilterVerdict::Rejected(no));
}

#[test]
fn pods_are_tried_again_when_their_claim_appears_or_their_disk_is_free() {
    let added = ClusterEventKind::new(EventResource::PersistentVolumeClaim, ActionType::ADD);
    let cluster = Cluster::new([make_node("n")]).with_pod(&with_claim("p", "c"));
    for (namespace, name, hint) in [
        ("default", "c", QueueingHint::Queue),
        ("default", "d", QueueingHint::Skip),
        ("other", "c", QueueingHint::Skip),
    ] {
        let key = ObjectKey::new(namespace, name);
        let said = cluster.hint(&VolumeRestrictions, added, None, Some(&key));
        assert_eq!(said, hint, "{key}");
    }
    let deleted = ClusterEventKind::new(EventResource::AssignedPod, ActionType::DELETE);
    let disk = |name| json!({"gcePersistentDisk": {"pdName": name}});
    for (gone, hint) in [("d", QueueingHint::Queue), ("e", QueueingHint::Skip)] {
        let cluster = Cluster::new([make_node("n")])
            .with_gone(&with_volume("r", disk(gone)).on("n"))
            .with_pod(&with_volume("p", disk("d")));
        let said = cluster.hint_about(&VolumeRestrictions, deleted, Some("n"), Some("r"), None);
        assert_eq!(said, hint, "{gone}");
    }
    for (gone, hint) in [("c", QueueingHint::Queue), ("d", QueueingHint::Skip)] {
        let cluster = Cluster::new([make_node("n")])
            .with_gone(&with_claim("r", gone).on("n"))
            .with_pod(&with_claim("p", "c"));
        let said = cluster.hint_about(&VolumeRestrictions, deleted, Some("n"), Some("r"), None);
        assert_eq!(said, hint, "{gone}");
    }
}

#[test]
fn pods_with_claims_are_tried_again_when_a_node_goes_with_the_pods_on_it() {
    let node_gone = ClusterEventKind::new(EventResource::Node, ActionType::DELETE);
    let disk = json!({"gcePersistentDisk": {"pdName": "d"}});
    for (pod, hint) in [
        (with_claim("p", "c"), QueueingHint::Queue),
        (with_volume("p", disk), QueueingHint::Skip),
    ] {
        let cluster = Cluster::new([make_node("n")]).with_pod(&pod);
        let said = cluster.hint(&VolumeRestrictions, node_gone, Some("gone"), None);
        assert_eq!(said, hint);
    }
}
