//! Tolerations.

use serde_json::json;

use crate::harness::builders::make_node;
use crate::stage::Stage;

/// A pod that fits nowhere is given the toleration that it lacks.
pub(super) async fn added_while_waiting(stage: &Stage) -> anyhow::Result<()> {
    let node = make_node("n1").taint("dedicated", "batch", "NoSchedule");
    stage.nodes([node]).await?;
    stage.pods([stage.pod("p")]).await?;
    stage.until_refused("p", "untolerated taint").await?;
    stage.start_clock();
    // Those that the API server gave it must stay.
    let pod = stage.pod_now("p").await?;
    let mut tolerations = pod["spec"]["tolerations"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    tolerations.push(json!({"key": "dedicated", "operator": "Exists"}));
    stage
        .patch_pod("p", json!({"spec": {"tolerations": tolerations}}))
        .await?;
    stage.until_placed("p").await?;
    Ok(())
}
