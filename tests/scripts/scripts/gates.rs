//! Scheduling gates.

use crate::harness::builders::make_node;
use crate::stage::Stage;

/// A pod with a gate is not touched, though others are placed; without it, it is.
pub(super) async fn lifted(stage: &Stage) -> anyhow::Result<()> {
    stage.nodes([make_node("n1")]).await?;
    stage
        .pods([stage.pod("gated").gate("example.com/quota")])
        .await?;
    stage.pods([stage.pod("other")]).await?;
    stage.until_placed("other").await?;
    stage.start_clock();
    stage.lift_gates("gated").await?;
    stage.until_placed("gated").await?;
    Ok(())
}
