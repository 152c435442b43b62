//! Claims whose volumes take their time.

use crate::harness::builders::make_node;
use crate::harness::provisioner::Provisioner;
use crate::harness::storage::{claim, class, driver};
use crate::stage::Stage;

const DRIVER: &str = "csi.example.com";
const ONCE: &str = "ReadWriteOnce";

/// Set by the scheduler.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Holds a pod back until the claim is there.
const READY: &str = "example.com/ready";

/// A claim that does not wait for its pod is bound after the pod was refused.
pub(super) async fn immediate_claim_bound_late(stage: &Stage) -> anyhow::Result<()> {
    stage.nodes([make_node("n1")]).await?;
    stage
        .objects([
            driver(DRIVER, false),
            class("now", DRIVER, "Immediate"),
            claim("data", "now", "1Gi", ONCE),
        ])
        .await?;
    stage
        .pods([stage.pod("p").claim("data").gate(READY)])
        .await?;
    stage.lift_gates("p").await?;
    let unbound = "pod has unbound immediate PersistentVolumeClaims";
    stage.until_refused("p", unbound).await?;
    stage.start_clock();
    let _provisioner = Provisioner::start(stage.client.clone(), DRIVER);
    stage.until_placed("p").await?;
    Ok(())
}

/// A claim that waits for its pod has to wait for the provisioner as well.
pub(super) async fn volume_made_late(stage: &Stage) -> anyhow::Result<()> {
    stage.nodes([make_node("n1")]).await?;
    stage
        .objects([
            driver(DRIVER, false),
            class("late", DRIVER, "WaitForFirstConsumer"),
            claim("data", "late", "1Gi", ONCE),
        ])
        .await?;
    stage
        .pods([stage.pod("p").claim("data").gate(READY)])
        .await?;
    stage.lift_gates("p").await?;
    stage.until_annotated("data", SELECTED_NODE).await?;
    // It goes on meanwhile.
    stage.pods([stage.pod("other")]).await?;
    stage.until_placed("other").await?;
    stage.start_clock();
    let _provisioner = Provisioner::start(stage.client.clone(), DRIVER);
    stage.until_placed("p").await?;
    Ok(())
}
