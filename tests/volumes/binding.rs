//! Volumes that are there and volumes that are made.

use std::collections::BTreeSet;

use kube::ResourceExt;
use kube::api::ListParams;

use crate::cluster::{Cluster, DRIVER, has_node, pod, small};
use crate::harness::provisioner::Provisioner;
use crate::harness::storage::{NO_PROVISIONER, claim, claim_spec, class, local_volume};

const ONCE: &str = "ReadWriteOnce";
const DELAYED: &str = "WaitForFirstConsumer";
const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";

#[tokio::test]
async fn volumes_are_made_where_their_pods_go() -> anyhow::Result<()> {
    let storage = vec![
        class("late", DRIVER, DELAYED),
        class("early", DRIVER, "Immediate"),
    ];
    let cluster = Cluster::start(3, storage).await?;
    let _provisioner = Provisioner::start(cluster.client.clone(), DRIVER);
    let claims = ["a", "b", "c"].map(|name| claim(name, "late", "1Gi", ONCE));
    cluster.create(claims.into()).await?;
    cluster
        .create(vec![claim("early", "early", "1Gi", ONCE)])
        .await?;
    let template = serde_json::from_value(claim_spec("late", "1Gi", ONCE))?;
    cluster
        .create_pods([
            pod("a", "a").node_selector("kubernetes.io/hostname", "n1"),
            pod("both", "b").claim("c"),
            pod("early", "early"),
            small("ephemeral").ephemeral_claim("scratch", template),
        ])
        .await?;

    assert_eq!(cluster.until_running("a").await?, "n1");
    let node = cluster.until_running("both").await?;
    for name in ["b", "c"] {
        let claim = cluster.claims().get(name).await?;
        let selected = claim
            .annotations()
            .get("volume.kubernetes.io/selected-node");
        assert_eq!(selected, Some(&node));
    }
    cluster.until_running("early").await?;
    cluster.until_running("ephemeral").await?;
    cluster.finish().await
}

#[tokio::test]
async fn pods_go_where_their_volumes_are() -> anyhow::Result<()> {
    let storage = vec![
        class("disk", NO_PROVISIONER, DELAYED),
        class("early", NO_PROVISIONER, "Immediate"),
        local_volume("small", "disk", "1Gi", "n0"),
        local_volume("large", "disk", "10Gi", "n1"),
        local_volume("early", "early", "1Gi", "n2"),
        claim("wants-much", "disk", "5Gi", ONCE),
        claim("early", "early", "1Gi", ONCE),
        claim("left", "disk", "1Gi", ONCE),
        claim("none-left", "disk", "1Gi", ONCE),
    ];
    let cluster = Cluster::start(3, storage).await?;
    cluster
        .create_pods([pod("much", "wants-much"), pod("early", "early")])
        .await?;
    assert_eq!(cluster.until_running("much").await?, "n1");
    assert_eq!(cluster.until_running("early").await?, "n2");

    // One volume is left, for two claims of a pod.
    cluster
        .create_pods([pod("two", "left").claim("none-left")])
        .await?;
    let (reason, message) = cluster.until_refused("two", NO_VOLUME).await?;
    assert_eq!(reason, "Unschedulable");
    let all = format!("0/3 nodes are available: 3 {NO_VOLUME}.");
    assert!(message.starts_with(&all), "{message}");
    cluster.create_pods([pod("one", "left")]).await?;
    assert_eq!(cluster.until_running("one").await?, "n0");

    // Bound already, but elsewhere.
    let elsewhere = pod("elsewhere", "early").node_selector("kubernetes.io/hostname", "n0");
    cluster.create_pods([elsewhere]).await?;
    cluster
        .until_refused(
            "elsewhere",
            "1 node(s) didn't match PersistentVolume's node affinity",
        )
        .await?;
    cluster.finish().await
}

#[tokio::test]
async fn of_pods_that_race_for_a_volume_exactly_one_gets_it() -> anyhow::Result<()> {
    const PODS: usize = 8;
    let mut storage = vec![
        class("disk", NO_PROVISIONER, DELAYED),
        local_volume("v0", "disk", "1Gi", "n1"),
    ];
    let names: Vec<String> = (0..PODS).map(|i| format!("p{i}")).collect();
    storage.extend(names.iter().map(|name| claim(name, "disk", "1Gi", ONCE)));
    let cluster = Cluster::start(3, storage).await?;
    cluster
        .create_pods(names.iter().map(|name| pod(name, name)))
        .await?;
    cluster.until_settled(1, PODS - 1, NO_VOLUME).await?;

    // As many volumes as pods: nobody is forgotten.
    let volume = |i| local_volume(&format!("v{i}"), "disk", "1Gi", &format!("n{}", i % 3));
    cluster.create((1..PODS).map(volume).collect()).await?;
    for name in &names {
        cluster.until_running(name).await?;
    }
    let pods = cluster.pods().list(&ListParams::default()).await?;
    assert!(pods.items.iter().all(has_node));
    let claims = cluster.claims().list(&ListParams::default()).await?;
    let volumes = claims
        .items
        .into_iter()
        .filter_map(|claim| claim.spec?.volume_name);
    assert_eq!(volumes.collect::<BTreeSet<_>>().len(), PODS);
    cluster.finish().await
}
