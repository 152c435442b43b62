//! What a reservation means for the pods after it.

use super::*;
use crate::engine::effect::volumes::VolumeWrites;

/// Reserves on node `a`.
fn reserve(cluster: &Cluster, reservations: &mut Reservations) -> CycleState {
    let mut state = CycleState::default();
    pre_filter(cluster, &mut state);
    let node = cluster.snapshot().node("a").unwrap();
    let refusal = plugin().reserve(&mut state, reservations, &cluster.view(), &node);
    assert_eq!(refusal, None);
    state
}

fn one_volume() -> Cluster {
    cluster()
        .with_listed::<PersistentVolume>(volume("v", "1Gi", "a"))
        .with_listed::<PersistentVolumeClaim>(claim("c", "local", "1Gi"))
        .with_listed::<PersistentVolumeClaim>(claim("d", "local", "1Gi"))
        .with_pod(&pod(&["c"]))
}

fn fits_a(cluster: &Cluster) -> bool {
    judge(cluster)[0].is_empty()
}

#[test]
fn a_volume_that_is_assumed_is_gone_for_others_and_stays_for_its_claim() {
    let mut cluster = one_volume();
    let mut reservations = Reservations::default();
    let mut state = reserve(&cluster, &mut reservations);
    cluster.set_reservations(reservations);
    assert!(fits_a(&cluster));
    let mut cluster = cluster.with_pod(&pod(&["d"]));
    assert!(!fits_a(&cluster));

    let mut reservations = cluster.take_reservations();
    let view = cluster.view();
    plugin().unreserve(&mut state, &mut reservations, &view, "a");
    cluster.set_reservations(reservations);
    assert!(fits_a(&cluster));
}

#[test]
fn a_newer_version_of_a_volume_makes_the_assumption_void() {
    let mut cluster = one_volume();
    let mut reservations = Reservations::default();
    reserve(&cluster, &mut reservations);
    cluster.set_reservations(reservations);
    let mut newer = volume("v", "1Gi", "a");
    newer["metadata"]["resourceVersion"] = "2".into();
    let cluster = cluster
        .with_listed::<PersistentVolume>(newer)
        .with_pod(&pod(&["d"]));
    assert!(fits_a(&cluster));
}

#[test]
fn a_claim_whose_volume_is_to_be_made_has_its_node() {
    let mut cluster = cluster()
        .with_listed::<PersistentVolumeClaim>(claim("c", "csi", "1Gi"))
        .with_pod(&pod(&["c"]));
    let mut reservations = Reservations::default();
    reserve(&cluster, &mut reservations);
    cluster.set_reservations(reservations);
    let fits: Vec<_> = judge(&cluster).iter().map(Vec::is_empty).collect();
    assert_eq!(fits, [true, false]);
}

#[test]
fn pods_whose_claims_are_bound_have_nothing_to_reserve_and_nothing_to_write() {
    let cluster =
        one_volume().with_listed::<PersistentVolumeClaim>(bound(claim("c", "local", "1Gi"), "v"));
    let state = reserve(&cluster, &mut Reservations::default());
    let node = cluster.snapshot().node("a").unwrap();
    let flight = plugin().pre_flight(&state, &cluster.view(), &node);
    assert_eq!(flight, PreBindPreFlight::Skip);
}

fn writes(cluster: &Cluster) -> VolumeWrites {
    let mut state = reserve(cluster, &mut Reservations::default());
    let node = cluster.snapshot().node("a").unwrap();
    match plugin().pre_bind(&mut state, &cluster.view(), &node) {
        PreBindStep::Effect(EffectAction::BindVolumes(writes)) => (*writes).clone(),
        other => panic!("something must be written, not {other:?}"),
    }
}

#[test]
fn what_is_written_names_the_versions_that_were_judged() {
    let cluster = one_volume()
        .with_listed::<PersistentVolumeClaim>(claim("e", "csi", "1Gi"))
        .with_pod(&pod(&["e", "c"]));
    let writes = writes(&cluster);
    let volume = &writes.volumes[0];
    assert_eq!(&*volume.volume.key.name, "v");
    assert_eq!(&*volume.volume.resource_version, "1");
    assert_eq!(&*volume.claim.uid, "uid-c");
    assert!(volume.is_bound_by_controller);
    let claim = &writes.claims[0];
    assert_eq!(claim.claim.key.to_string(), "default/e");
    assert_eq!(&*claim.node, "a");
}

#[test]
fn a_volume_that_a_user_reserved_is_not_called_the_controllers() {
    let mut waiting = volume("v", "1Gi", "a");
    waiting["spec"]["claimRef"] = json!({"name": "c", "namespace": "default"});
    let cluster = one_volume().with_listed::<PersistentVolume>(waiting);
    assert!(!writes(&cluster).volumes[0].is_bound_by_controller);
}
