//! Whom a pod may take the place of.

use crate::harness::builders::make_node;
use crate::stage::{Stage, budget};

/// The node whose budget would be broken is spared, though its pod is worth less.
pub(super) async fn budgets_decide(stage: &Stage) -> anyhow::Result<()> {
    stage
        .nodes(["n1", "n2"].map(|name| make_node(name).allocatable("cpu", "4")))
        .await?;
    stage.objects([budget("guard", "guarded", 1)]).await?;
    let pod = |name: &str, class: &str, node: &str| {
        stage
            .pod(name)
            .requests("4", "64Mi")
            .priority_class(class)
            .on(node)
    };
    stage
        .running([
            pod("guarded", "low", "n1").label("app", "guarded"),
            pod("free", "middle", "n2"),
        ])
        .await?;
    stage.until_allowed("guard", 0).await?;
    stage.start_clock();
    stage
        .pods([stage.pod("p").requests("4", "64Mi").priority_class("high")])
        .await?;
    stage.until_placed("p").await?;
    Ok(())
}

/// Both nodes break a budget; the one whose highest victim is lower loses. The reprieve spares the
/// small pod on it that need not go.
pub(super) async fn priorities_decide(stage: &Stage) -> anyhow::Result<()> {
    stage
        .nodes(["n1", "n2"].map(|name| make_node(name).allocatable("cpu", "4")))
        .await?;
    stage.objects([budget("guard", "guarded", 3)]).await?;
    let pod = |name: &str, class: &str, cpu: &str, node: &str| {
        let pod = stage
            .pod(name)
            .requests(cpu, "64Mi")
            .label("app", "guarded");
        pod.priority_class(class).on(node)
    };
    let victims = stage.running([
        pod("middle", "middle", "3", "n1"),
        pod("small", "low", "1", "n2").label("app", "other"),
        pod("low-a", "low", "1", "n2"),
        pod("low-b", "low", "2", "n2"),
    ]);
    Box::pin(victims).await?;
    stage.until_allowed("guard", 0).await?;
    stage.start_clock();
    stage
        .pods([stage.pod("p").requests("3", "64Mi").priority_class("high")])
        .await?;
    stage.until_placed("p").await?;
    Ok(())
}
