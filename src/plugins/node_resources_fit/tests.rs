use serde_json::json;

use super::*;
use crate::plugins::fixtures::{Cluster, PodBuilder, make_node, make_pod};

fn plugin() -> NodeResourcesFit {
    NodeResourcesFit {
        ignored_resources: BTreeSet::new(),
        ignored_resource_groups: BTreeSet::new(),
        strategy: Strategy::LeastAllocated,
        resources: ResourceWeights([].into()),
    }
}

fn verdict(cluster: &Cluster) -> FilterVerdict {
    cluster.filter(&plugin()).remove(0)
}

fn rejected(kind: RejectionKind, reasons: &[&'static str]) -> FilterVerdict {
    let reasons = reasons.iter().map(|reason| (*reason).into()).collect();
    FilterVerdict::Rejected(Rejection {
        kind,
        plugin: NAME,
        reasons,
    })
}

fn container(cpu: &str, restart_policy: Option<&str>) -> serde_json::Value {
    json!({"name": format!("c{cpu}"), "restartPolicy": restart_policy,
        "resources": {"requests": {"cpu": cpu}}})
}

#[test]
fn all_shortages_are_named_in_order() {
    let cluster = Cluster::new([make_node("n").allocatable(&[
        ("cpu", "2"),
        ("memory", "2Gi"),
        ("pods", "1"),
        ("a.com/x", "1"),
        ("b.com/x", "1"),
    ])])
    .with_running(
        &make_pod("r")
            .request("cpu", "1")
            .request("memory", "1Gi")
            .on("n"),
    )
    .with_pod(
        &make_pod("p")
            .request("b.com/x", "2")
            .request("memory", "1025Mi")
            .request("cpu", "1001m")
            .request("a.com/x", "2")
            .request("ephemeral-storage", "1"),
    );
    assert_eq!(
        verdict(&cluster),
        rejected(
            RejectionKind::UnschedulableAndUnresolvable,
            &[
                "Too many pods",
                "Insufficient cpu",
                "Insufficient memory",
                "Insufficient ephemeral-storage",
                "Insufficient a.com/x",
                "Insufficient b.com/x",
            ]
        )
    );
}

#[test]
fn more_than_the_node_has_in_whole_cannot_be_evicted_for() {
    let cluster = |cpu: &str| {
        Cluster::new([make_node("n").allocatable(&[("cpu", "4"), ("pods", "110")])])
            .with_running(&make_pod("r").request("cpu", "2").on("n"))
            .with_pod(&make_pod("p").request("cpu", cpu))
    };
    assert_eq!(verdict(&cluster("2")), FilterVerdict::Fits);
    assert_eq!(
        verdict(&cluster("3")),
        rejected(RejectionKind::Unschedulable, &[REASON_CPU])
    );
    assert_eq!(
        verdict(&cluster("5")),
        rejected(RejectionKind::UnschedulableAndUnresolvable, &[REASON_CPU])
    );
}

#[test]
fn c01_sidecars_count_beside_containers() {
    let pod = make_pod("p").spec(json!({
        "initContainers": [container("1", Some("Always"))], "containers": [container("1500m", None)]}));
    let cluster =
        Cluster::new([make_node("n1").allocatable(&[("cpu", "2"), ("pods", "9")])]).with_pod(&pod);
    assert_ne!(verdict(&cluster), FilterVerdict::Fits);
}

#[test]
fn c02_init_containers_run_beside_the_sidecars_declared_before_them() {
    let fits = |init: serde_json::Value| {
        let pod = make_pod("p")
            .spec(json!({"initContainers": init, "containers": [container("1", None)]}));
        let node = make_node("n1").allocatable(&[("cpu", "2"), ("pods", "9")]);
        verdict(&Cluster::new([node]).with_pod(&pod)) == FilterVerdict::Fits
    };
    assert!(!fits(json!([
        container("1", Some("Always")),
        container("2", None)
    ])));
    assert!(fits(json!([
        container("2", None),
        container("1", Some("Always"))
    ])));
}

#[test]
fn c05_pods_that_request_nothing_fit_an_overcommitted_node() {
    let cluster = |pod: &PodBuilder, pods: usize| {
        let mut cluster =
            Cluster::new([make_node("n1").allocatable(&[("cpu", "4"), ("pods", "2")])]);
        for i in 0..pods {
            cluster =
                cluster.with_running(&make_pod(&format!("r{i}")).request("cpu", "5").on("n1"));
        }
        verdict(&cluster.with_pod(pod))
    };
    let zero = make_pod("g")
        .request("nvidia.com/gpu", "0")
        .request("cpu", "0");
    assert_eq!(cluster(&make_pod("z"), 1), FilterVerdict::Fits);
    assert_eq!(cluster(&zero, 1), FilterVerdict::Fits);
    let small = make_pod("c").request("cpu", "10m");
    assert_eq!(
        cluster(&small, 1),
        rejected(RejectionKind::Unschedulable, &[REASON_CPU])
    );
    assert_eq!(
        cluster(&zero, 2),
        rejected(RejectionKind::Unschedulable, &[REASON_TOO_MANY_PODS])
    );
}

#[test]
fn ignored_extended_resources_are_left_to_others() {
    let cluster = Cluster::new([make_node("n").allocatable(&[("pods", "9")])]).with_pod(
        &make_pod("p")
            .request("a.com/x", "1")
            .request("b.com/y", "1"),
    );
    let mut plugin = plugin();
    plugin.ignored_resources.insert("a.com/x".into());
    assert_eq!(
        cluster.filter(&plugin),
        [rejected(
            RejectionKind::UnschedulableAndUnresolvable,
            &["Insufficient b.com/y"]
        )]
    );
    plugin.ignored_resource_groups.insert("b.com".into());
    assert_eq!(cluster.filter(&plugin), [FilterVerdict::Fits]);
}

#[test]
fn a_pod_being_resized_holds_the_greatest_of_what_it_has_and_wants() {
    let running = make_pod("r").request("cpu", "1").on("n").status(json!({
        "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "3"},
            "resources": {"requests": {"cpu": "2"}}}]}));
    let cluster = |cpu| {
        Cluster::new([make_node("n").allocatable(&[("cpu", "4"), ("pods", "9")])])
            .with_running(&running)
            .with_pod(&make_pod("p").request("cpu", cpu))
    };
    assert_eq!(verdict(&cluster("1")), FilterVerdict::Fits);
    assert_eq!(
        verdict(&cluster("1001m")),
        rejected(RejectionKind::Unschedulable, &[REASON_CPU])
    );
}

#[test]
fn requests_of_the_pod_as_a_whole_replace_those_of_its_containers() {
    let pod = make_pod("p")
        .request("cpu", "3")
        .request("a.com/x", "1")
        .spec(json!({
        "resources": {"requests": {"cpu": "1"}}, "overhead": {"cpu": "500m"}}));
    let cluster = |cpu| {
        Cluster::new([make_node("n").allocatable(&[("cpu", cpu), ("a.com/x", "1"), ("pods", "9")])])
            .with_pod(&pod)
    };
    assert_eq!(verdict(&cluster("1500m")), FilterVerdict::Fits);
    assert_ne!(verdict(&cluster("1499m")), FilterVerdict::Fits);
}
