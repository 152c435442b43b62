//! Volumes that take their time.

use serde_json::json;

use crate::cluster::{Cluster, DRIVER, has_node, pod, small};
use crate::harness::provisioner::Provisioner;
use crate::harness::storage::{claim, class};

#[tokio::test]
async fn a_pod_whose_volume_is_not_made_in_time_is_tried_again() -> anyhow::Result<()> {
    let storage = vec![
        class("late", DRIVER, "WaitForFirstConsumer"),
        claim("slow", "late", "1Gi", "ReadWriteOnce"),
    ];
    let arguments = json!({"bindTimeoutSeconds": 2});
    let cluster = Cluster::with_arguments(2, storage, &arguments).await?;
    cluster
        .create_pods([pod("slow", "slow"), small("unconcerned")])
        .await?;
    // Nobody waits for somebody else's volumes.
    cluster.until_running("unconcerned").await?;
    let (reason, message) = cluster.until_refused("slow", "deadline").await?;
    assert_eq!(reason, "SchedulerError");
    assert_eq!(
        message,
        "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded"
    );
    assert!(!has_node(&cluster.pods().get("slow").await?));

    let _provisioner = Provisioner::start(cluster.client.clone(), DRIVER);
    cluster.until_running("slow").await?;
    cluster.finish().await
}
