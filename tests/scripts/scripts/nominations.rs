//! What can happen between the eviction of a victim and the arrival of the pod it made room for.

use serde_json::json;

use crate::harness::builders::{PodBuilder, make_node};
use crate::stage::Stage;

/// One pod of this class fills a node of [`nodes`].
fn large(stage: &Stage, name: &str, class: &str) -> PodBuilder {
    stage.pod(name).requests("4", "64Mi").priority_class(class)
}

async fn nodes<const N: usize>(stage: &Stage, names: [&str; N]) -> anyhow::Result<()> {
    stage
        .nodes(names.map(|name| make_node(name).allocatable("cpu", "4")))
        .await
}

/// The preemptor goes while its victim is still ending; the room is somebody else's then.
pub(super) async fn preemptor_deleted(stage: &Stage) -> anyhow::Result<()> {
    nodes(stage, ["n1"]).await?;
    let victim = large(stage, "victim", "low").on("n1");
    stage.running([Stage::clings(victim)]).await?;
    stage.pods([large(stage, "p", "high")]).await?;
    stage.until_leaving("victim").await?;
    stage.until_nominated("p", "n1").await?;
    stage.pods([large(stage, "next", "low")]).await?;
    stage.until_refused("next", "Insufficient cpu").await?;
    stage.start_clock();
    stage.delete_pod("p").await?;
    stage.until_gone("p").await?;
    stage.let_go("victim").await?;
    stage.until_placed("next").await?;
    Ok(())
}

/// Nobody else is evicted while a victim takes its time, though the pod is looked at again.
pub(super) async fn victim_hangs(stage: &Stage) -> anyhow::Result<()> {
    nodes(stage, ["n1", "n2"]).await?;
    stage
        .nodes([make_node("n3").allocatable("cpu", "1")])
        .await?;
    let victim = large(stage, "victim", "low").on("n1");
    stage
        .running([
            Stage::clings(victim),
            large(stage, "spared", "middle").on("n2"),
        ])
        .await?;
    stage.pods([large(stage, "p", "high")]).await?;
    stage.until_leaving("victim").await?;
    stage.until_nominated("p", "n1").await?;
    // Something changes on both nodes.
    for name in ["n1", "n2"] {
        stage
            .patch_node(name, json!({"metadata": {"labels": {"touched": "yes"}}}))
            .await?;
    }
    stage.pods([stage.pod("small")]).await?;
    stage.until_placed("small").await?;
    stage.start_clock();
    stage.let_go("victim").await?;
    stage.until_placed("p").await?;
    Ok(())
}

/// The nominated node is closed to the pod while the victim is ending: it looks for another one.
pub(super) async fn node_tainted(stage: &Stage) -> anyhow::Result<()> {
    nodes(stage, ["n1", "n2"]).await?;
    let victim = large(stage, "victim", "low").on("n1");
    stage
        .running([
            Stage::clings(victim),
            large(stage, "second", "middle").on("n2"),
        ])
        .await?;
    stage.pods([large(stage, "p", "high")]).await?;
    stage.until_leaving("victim").await?;
    stage.until_nominated("p", "n1").await?;
    stage.start_clock();
    let taint = json!([{"key": "maintenance", "value": "now", "effect": "NoSchedule"}]);
    stage
        .patch_node("n1", json!({"spec": {"taints": taint}}))
        .await?;
    stage.let_go("victim").await?;
    stage.until_placed("p").await?;
    Ok(())
}

/// A pod that is worth more takes the room that is being made.
pub(super) async fn more_important_pod_comes(stage: &Stage) -> anyhow::Result<()> {
    nodes(stage, ["n1"]).await?;
    let victim = large(stage, "victim", "low").on("n1");
    stage.running([Stage::clings(victim)]).await?;
    stage.pods([large(stage, "first", "middle")]).await?;
    stage.until_leaving("victim").await?;
    stage.until_nominated("first", "n1").await?;
    stage.pods([large(stage, "second", "high")]).await?;
    stage.until_nominated("second", "n1").await?;
    stage.start_clock();
    stage.let_go("victim").await?;
    stage.until_placed("second").await?;
    stage
        .until_refused("first", "No preemption victims found")
        .await?;
    Ok(())
}
