//! Volumes and nodes.

use super::pod_volumes::{
    REASON_BIND_CONFLICT, REASON_NO_SUCH_VOLUME, REASON_NODE_CONFLICT, REASON_NOT_ENOUGH_SPACE,
};
use super::*;

/// A change of a volume.
type Edit = fn(&mut Value);

const FITS: Vec<Reason> = Vec::new();

fn with(volumes: &[Value], claims: &[Value]) -> Cluster {
    let names: Vec<_> = claims
        .iter()
        .map(|claim| claim["metadata"]["name"].as_str().unwrap())
        .collect();
    let mut cluster = cluster().with_pod(&pod(&names));
    for volume in volumes {
        cluster = cluster.with_listed::<PersistentVolume>(volume.clone());
    }
    for claim in claims {
        cluster = cluster.with_listed::<PersistentVolumeClaim>(claim.clone());
    }
    cluster
}

#[test]
fn a_bound_claim_goes_where_its_volume_is() {
    let claims = [bound(claim("c", "local", "1Gi"), "v")];
    let cluster = with(&[volume("v", "1Gi", "a")], &claims);
    assert_eq!(judge(&cluster), [FITS, vec![REASON_NODE_CONFLICT.into()]]);
    let cluster = with(&[], &claims);
    assert_eq!(judge(&cluster)[0], [REASON_NO_SUCH_VOLUME]);
}

#[test]
fn reasons_of_bound_and_unbound_claims_come_together() {
    let claims = [
        bound(claim("c", "local", "1Gi"), "v"),
        claim("d", "local", "1Gi"),
    ];
    let cluster = with(&[volume("v", "1Gi", "b")], &claims);
    assert_eq!(
        judge(&cluster)[0],
        [REASON_NODE_CONFLICT, REASON_BIND_CONFLICT]
    );
    let cluster = with(&[], &claims);
    assert_eq!(
        judge(&cluster)[0],
        [REASON_BIND_CONFLICT, REASON_NO_SUCH_VOLUME]
    );
}

#[test]
fn the_smallest_volume_that_will_do_is_taken_and_of_equal_ones_the_first_by_name() {
    let volumes = [
        volume("big", "9Gi", "a"),
        volume("far", "2Gi", "b"),
        volume("same-2", "3Gi", "a"),
        volume("same-1", "3072Mi", "a"),
        volume("small", "1Gi", "a"),
    ];
    let cluster = with(&volumes, &[claim("c", "local", "2Gi")]);
    assert_eq!(taken(&cluster).0, ["same-1"]);
}

#[test]
fn the_claims_of_a_pod_take_different_volumes_smallest_first() {
    let volumes = [volume("v1", "1Gi", "a"), volume("v5", "5Gi", "a")];
    let claims = [
        claim("large", "local", "3Gi"),
        claim("small", "local", "1Gi"),
    ];
    let cluster = with(&volumes, &claims);
    assert_eq!(taken(&cluster).0, ["v1", "v5"]);
    assert_eq!(judge(&cluster), [FITS, vec![REASON_BIND_CONFLICT.into()]]);
}

#[test]
fn volumes_that_do_not_suit_the_claim_are_left_out() {
    let claim = || {
        let mut claim = claim("c", "local", "1Gi");
        claim["spec"]["selector"] = json!({"matchLabels": {"disk": "fast"}});
        claim
    };
    let suitable = || {
        let mut volume = volume("v", "1Gi", "a");
        volume["metadata"]["labels"] = json!({"disk": "fast"});
        volume
    };
    let edits: [Edit; 9] = [
        |volume| volume["metadata"]["labels"]["disk"] = "slow".into(),
        |volume| volume["spec"]["capacity"]["storage"] = "1023Mi".into(),
        |volume| volume["spec"]["volumeMode"] = "Block".into(),
        |volume| volume["spec"]["accessModes"] = json!(["ReadOnlyMany"]),
        |volume| volume["spec"]["storageClassName"] = "csi".into(),
        |volume| volume["spec"]["volumeAttributesClassName"] = "gold".into(),
        |volume| volume["spec"]["claimRef"] = json!({"name": "c", "namespace": "other"}),
        |volume| volume["status"] = json!({"phase": "Released"}),
        |volume| volume["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into(),
    ];
    assert_eq!(judge(&with(&[suitable()], &[claim()]))[0], FITS);
    for (at, edit) in edits.iter().enumerate() {
        let mut volume = suitable();
        edit(&mut volume);
        let cluster = with(&[volume], &[claim()]);
        assert_eq!(judge(&cluster)[0], [REASON_BIND_CONFLICT], "{at}");
    }
}

#[test]
fn a_volume_that_waits_for_the_claim_is_taken_or_none() {
    let mut waiting = volume("waiting", "9Gi", "a");
    waiting["spec"]["claimRef"] = json!({"name": "c", "namespace": "default"});
    waiting["status"] = json!({"phase": "Pending"});
    let volumes = [waiting, volume("v", "1Gi", "a"), volume("w", "1Gi", "b")];
    let cluster = with(&volumes, &[claim("c", "local", "1Gi")]);
    assert_eq!(taken(&cluster).0, ["waiting"]);
    assert_eq!(judge(&cluster), [FITS, vec![REASON_BIND_CONFLICT.into()]]);
}

#[test]
fn a_claim_without_a_volume_gets_one_made_where_the_class_allows_it() {
    let cluster = with(&[], &[claim("c", "csi", "1Gi")]);
    assert_eq!(taken(&cluster).1, ["c"]);
    let cluster = with(&[], &[claim("c", "zonal", "1Gi")]).with_listed::<StorageClass>(json!({
        "metadata": {"name": "zonal"}, "provisioner": "driver",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]}));
    assert_eq!(judge(&cluster), [vec![REASON_BIND_CONFLICT.into()], FITS]);
}

#[test]
fn a_claim_that_has_its_node_goes_nowhere_else() {
    let mut chosen = claim("c", "csi", "1Gi");
    chosen["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "b"});
    let mut free = volume("v", "1Gi", "b");
    free["spec"]["storageClassName"] = "csi".into();
    let cluster = with(&[free], &[chosen]);
    assert_eq!(judge(&cluster), [vec![REASON_BIND_CONFLICT.into()], FITS]);
}

#[test]
fn a_driver_that_tells_its_capacity_must_have_enough() {
    let capacity = |name: &str, zone: &str, bytes: &str, largest: Option<&str>| {
        json!({"metadata": {"name": name, "namespace": "kube-system"}, "storageClassName": "csi",
            "nodeTopology": {"matchLabels": {"zone": zone}}, "capacity": bytes,
            "maximumVolumeSize": largest})
    };
    let driver =
        |counts: bool| json!({"metadata": {"name": "driver"}, "spec": {"storageCapacity": counts}});
    let with_driver = |counts: bool| {
        with(&[], &[claim("c", "csi", "2Gi")])
            .with_listed::<CsiDriver>(driver(counts))
            .with_listed::<CsiStorageCapacity>(capacity("a", "a", "2Gi", None))
            .with_listed::<CsiStorageCapacity>(capacity("b", "b", "9Gi", Some("1Gi")))
    };
    let expected = [FITS, vec![REASON_NOT_ENOUGH_SPACE.into()]];
    assert_eq!(judge(&with_driver(true)), expected);
    assert_eq!(judge(&with_driver(false)), [FITS, FITS]);
}

#[test]
fn a_migrated_volume_is_matched_by_the_labels_of_its_driver() {
    let mut disk = volume("v", "1Gi", "a");
    disk["spec"]["gcePersistentDisk"] = json!({"pdName": "d"});
    disk["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0] =
        json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]});
    let cluster = Cluster::new([
        make_node("a").label("topology.gke.io/zone", "z"),
        make_node("b").label("topology.kubernetes.io/zone", "z"),
    ])
    .with_listed::<PersistentVolume>(disk)
    .with_listed::<PersistentVolumeClaim>(bound(claim("c", "local", "1Gi"), "v"))
    .with_pod(&pod(&["c"]));
    assert_eq!(judge(&cluster), [vec![REASON_NODE_CONFLICT.into()], FITS]);
    let handed_over = json!({"metadata": {"name": "a", "annotations": {
        "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/x,kubernetes.io/gce-pd"}}});
    let cluster = cluster.with_listed::<CsiNode>(handed_over);
    assert_eq!(judge(&cluster), [FITS, FITS]);
}

#[test]
fn a_profile_with_the_plugin_at_filter_alone_is_told_the_same() {
    let cluster = with(&[volume("v", "1Gi", "a")], &[claim("c", "local", "1Gi")]);
    let verdicts = cluster.filter(&plugin());
    let fits: Vec<_> = verdicts
        .iter()
        .map(|verdict| *verdict == FilterVerdict::Fits)
        .collect();
    assert_eq!(fits, [true, false]);
}

#[test]
fn a_selector_that_cannot_be_read_is_an_error() {
    let mut claim = claim("c", "local", "1Gi");
    claim["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["x"]}]});
    let verdicts = with(&[], &[claim]).filter(&plugin());
    let text = "error creating internal label selector for claim: default/c: values: Invalid \
                value: [\"x\"]: values set must be empty for exists and does not exist";
    assert_eq!(verdicts[0], FilterVerdict::Failed(error(text)));
}
