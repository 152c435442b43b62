//! Claims that decide about a pod as a whole.

use super::*;

fn message(cluster: &Cluster) -> String {
    match pre_filter(cluster, &mut CycleState::default()) {
        PreFilterVerdict::Rejected(rejection) => {
            assert!(rejection.is_unresolvable());
            rejection.message()
        }
        other => panic!("the pod must be refused, not {other:?}"),
    }
}

fn with_claim(claim: Value) -> Cluster {
    cluster()
        .with_listed::<PersistentVolumeClaim>(claim)
        .with_pod(&pod(&["c"]))
}

#[test]
fn a_pod_without_claims_is_left_alone() {
    let mut state = CycleState::default();
    let cluster = cluster().with_pod(&make_pod("p"));
    assert_eq!(pre_filter(&cluster, &mut state), PreFilterVerdict::Skip);
    let nodes: Vec<_> = cluster.snapshot().nodes().collect();
    let score = plugin().pre_score(&mut state, &cluster.view(), &nodes);
    assert_eq!(score, PreScoreVerdict::Skip);
}

#[test]
fn claims_that_cannot_be_used_say_why() {
    let cluster = cluster().with_pod(&pod(&["c"]));
    assert_eq!(message(&cluster), "persistentvolumeclaim \"c\" not found");

    let mut lost = bound(claim("c", "local", "1Gi"), "v");
    lost["status"]["phase"] = "Lost".into();
    assert_eq!(
        message(&with_claim(lost)),
        "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\""
    );

    let mut leaving = claim("c", "local", "1Gi");
    leaving["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
    assert_eq!(
        message(&with_claim(leaving)),
        "persistentvolumeclaim \"c\" is being deleted"
    );
}

#[test]
fn a_claim_that_should_be_bound_already_holds_the_pod() {
    for waiting in [
        claim("c", "now", "1Gi"),
        claim("c", "", "1Gi"),
        claim("c", "none", "1Gi"),
        {
            let mut half_bound = claim("c", "local", "1Gi");
            half_bound["spec"]["volumeName"] = "v".into();
            half_bound
        },
    ] {
        assert_eq!(message(&with_claim(waiting)), REASON_UNBOUND_IMMEDIATE);
    }
}

#[test]
fn a_class_without_a_binding_mode_is_an_error() {
    let cluster = with_claim(claim("c", "odd", "1Gi"))
        .with_listed::<StorageClass>(json!({"metadata": {"name": "odd"}}));
    let verdict = pre_filter(&cluster, &mut CycleState::default());
    let text = "VolumeBindingMode not set for StorageClass \"odd\"";
    assert_eq!(verdict, PreFilterVerdict::Failed(error(text)));
}

#[test]
fn a_claim_made_for_the_pod_is_waited_for_and_must_be_its_own() {
    let pod = make_pod("p").spec(json!({"volumes": [{"name": "v", "ephemeral": {}}]}));
    let owned_by = |uid: &str| {
        let mut claim = claim("p-v", "local", "1Gi");
        let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid,
            "controller": true}]);
        claim["metadata"]["ownerReferences"] = owner;
        cluster()
            .with_listed::<PersistentVolumeClaim>(claim)
            .with_pod(&pod)
    };
    assert_eq!(
        message(&cluster().with_pod(&pod)),
        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\""
    );
    assert_eq!(
        message(&owned_by("uid-other")),
        "PVC default/p-v was not created for pod default/p (pod is not owner)"
    );
    let verdict = pre_filter(&owned_by("uid-p"), &mut CycleState::default());
    assert_eq!(verdict, PreFilterVerdict::Proceed);
}
