//! Nodes that come.

use serde_json::json;

use crate::harness::builders::make_node;
use crate::stage::Stage;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// What the node lifecycle controller has set on a node is taken away.
pub(super) async fn becoming_ready(stage: &Stage) -> anyhow::Result<()> {
    let full = make_node("n0").allocatable("cpu", "500m");
    stage
        .nodes([full, make_node("n1").taint(NOT_READY, "", "NoSchedule")])
        .await?;
    let ready =
        |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    stage.patch_node("n1", ready("False")).await?;
    stage.pods([stage.pod("p")]).await?;
    stage.until_refused("p", "untolerated taint").await?;
    stage.start_clock();
    stage.patch_node("n1", ready("True")).await?;
    stage
        .patch_node("n1", json!({"spec": {"taints": null}}))
        .await?;
    stage.until_placed("p").await?;
    Ok(())
}
