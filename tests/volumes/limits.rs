//! What a node has no room for: free storage, attached volumes, one pod at a time.

use kube::api::DeleteParams;
use serde_json::json;

use crate::cluster::{Cluster, DRIVER, pod};
use crate::harness::provisioner::Provisioner;
use crate::harness::storage::{
    NO_PROVISIONER, capacity, claim, class, csi_node, driver, local_volume,
};

const ONCE: &str = "ReadWriteOnce";
const ONCE_POD: &str = "ReadWriteOncePod";
const DELAYED: &str = "WaitForFirstConsumer";

#[tokio::test]
async fn volumes_are_made_where_there_is_storage_for_them() -> anyhow::Result<()> {
    let storage = vec![
        class("late", DRIVER, DELAYED),
        driver(DRIVER, true),
        capacity("n0", "late", "1Gi"),
        capacity("n1", "late", "100Gi"),
        claim("fits", "late", "10Gi", ONCE),
        claim("huge", "late", "200Gi", ONCE),
    ];
    let cluster = Cluster::start(3, storage).await?;
    let _provisioner = Provisioner::start(cluster.client.clone(), DRIVER);
    cluster
        .create_pods([pod("fits", "fits"), pod("huge", "huge")])
        .await?;
    assert_eq!(cluster.until_running("fits").await?, "n1");
    let (_, message) = cluster.until_refused("huge", "free storage").await?;
    let all = "0/3 nodes are available: 3 node(s) did not have enough free storage.";
    assert!(message.starts_with(all), "{message}");

    // The driver has more now.
    cluster
        .create(vec![capacity("n2", "late", "500Gi")])
        .await?;
    assert_eq!(cluster.until_running("huge").await?, "n2");
    cluster.finish().await
}

#[tokio::test]
async fn a_node_gets_no_more_volumes_than_it_can_attach() -> anyhow::Result<()> {
    let names = ["a", "b", "c", "d"];
    let mut storage = vec![
        class("late", DRIVER, DELAYED),
        driver(DRIVER, false),
        csi_node("n0", DRIVER, 1),
        csi_node("n1", DRIVER, 2),
    ];
    storage.extend(names.map(|name| claim(name, "late", "1Gi", ONCE)));
    let cluster = Cluster::start(2, storage).await?;
    let _provisioner = Provisioner::start(cluster.client.clone(), DRIVER);
    cluster
        .create_pods(names.map(|name| pod(name, name)))
        .await?;
    cluster
        .until_settled(3, 1, "2 node(s) exceed max volume count")
        .await?;
    cluster.finish().await
}

#[tokio::test]
async fn a_claim_for_one_pod_goes_from_one_to_the_next() -> anyhow::Result<()> {
    let mut only = local_volume("only", "disk", "1Gi", "n1");
    only["spec"]["accessModes"] = json!([ONCE_POD]);
    let storage = vec![
        class("disk", NO_PROVISIONER, DELAYED),
        only,
        claim("mine", "disk", "1Gi", ONCE_POD),
    ];
    let cluster = Cluster::start(2, storage).await?;
    cluster.create_pods([pod("first", "mine")]).await?;
    assert_eq!(cluster.until_running("first").await?, "n1");
    cluster.create_pods([pod("second", "mine")]).await?;
    let in_use = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access \
         mode already in-use by another pod";
    let (reason, _) = cluster.until_refused("second", in_use).await?;
    assert_eq!(reason, "Unschedulable");

    cluster
        .pods()
        .delete("first", &DeleteParams::default())
        .await?;
    assert_eq!(cluster.until_running("second").await?, "n1");
    cluster.finish().await
}
