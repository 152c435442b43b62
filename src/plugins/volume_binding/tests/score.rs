//! Scores by utilisation.

use super::*;

fn scores(cluster: &Cluster) -> Vec<i64> {
    let mut state = CycleState::default();
    pre_filter(cluster, &mut state);
    let nodes: Vec<_> = cluster.snapshot().nodes().collect();
    let plugin = plugin();
    assert_eq!(
        plugin.pre_score(&mut state, &cluster.view(), &nodes),
        PreScoreVerdict::Proceed
    );
    nodes
        .iter()
        .map(|node| plugin.score(&state, &cluster.view(), node).unwrap())
        .collect()
}

#[test]
fn volumes_that_are_there_score_by_how_full_they_get() {
    let cluster = cluster()
        .with_listed::<PersistentVolume>(volume("a", "10Gi", "a"))
        .with_listed::<PersistentVolume>(volume("b", "4Gi", "b"))
        .with_listed::<PersistentVolumeClaim>(claim("c", "local", "1Gi"))
        .with_pod(&pod(&["c"]));
    assert_eq!(scores(&cluster), [90, 75]);
}

#[test]
fn volumes_to_be_made_score_by_the_capacity_of_the_class() {
    let capacity = |zone: &str, bytes: &str| {
        json!({"metadata": {"name": zone, "namespace": "kube-system"}, "storageClassName": "csi",
            "nodeTopology": {"matchLabels": {"zone": zone}}, "capacity": bytes})
    };
    let cluster = cluster()
        .with_listed::<CsiDriver>(
            json!({"metadata": {"name": "driver"}, "spec": {"storageCapacity": true}}),
        )
        .with_listed::<CsiStorageCapacity>(capacity("a", "100Gi"))
        .with_listed::<CsiStorageCapacity>(capacity("b", "1000Gi"))
        .with_listed::<PersistentVolumeClaim>(claim("c", "csi", "10Gi"))
        .with_listed::<PersistentVolumeClaim>(claim("d", "csi", "20Gi"))
        .with_pod(&pod(&["c", "d"]));
    assert_eq!(scores(&cluster), [70, 97]);
}
