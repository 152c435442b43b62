//! Waiting for a state of the cluster.

use std::time::Duration;

use anyhow::bail;

/// How often a state is looked at: small against what is waited for, cheap for the API server.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Asks until the answer is `Some`. The error names `what`, which completes "waited for …".
pub(crate) async fn until<T>(
    what: &str,
    timeout: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let deadline = tokio::time::Instant::now() + timeout;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if tokio::time::Instant::now() >= deadline {
            bail!("waited {timeout:?} in vain for {what}");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
