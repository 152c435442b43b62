//! Pods that arrive at a fixed rate: how long each waits for its node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::arena::pods_path;
use crate::bindings::Bindings;
use crate::requests;

/// After the last pod, for those that still wait.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// How long pods waited, from the moment the POST that makes one was sent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Latency {
    /// Pods that were to come each second.
    pub(crate) rate: f64,
    /// Pods that came.
    pub(crate) arrived: usize,
    /// Pods that had a node a few seconds after the last one came.
    pub(crate) bound: usize,
    /// Half of them waited at most so many milliseconds; none if fewer have a node.
    pub(crate) p50: Option<f64>,
    /// 99 of 100.
    pub(crate) p99: Option<f64>,
}

/// Makes `total` pods, `rate` of them each second, from the bodies that `make` gives.
pub(crate) async fn measure(
    client: &Client,
    namespace: &str,
    bindings: &Bindings,
    rate: f64,
    total: usize,
    make: impl Fn(usize, &str) -> Vec<u8>,
) -> anyhow::Result<Latency> {
    let before = bindings.count()?;
    let sent = Arc::new(Mutex::new(BTreeMap::new()));
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for number in 0..total {
        let name = format!("late-{number}");
        let body = make(number, &name);
        let due = started + Duration::from_secs_f64(number as f64 / rate);
        tokio::time::sleep_until(due.into()).await;
        let (client, path) = (client.clone(), pods_path(namespace));
        let sent = Arc::clone(&sent);
        tasks.spawn(async move {
            let now = Instant::now();
            requests::post(&client, &path, body.into()).await?;
            let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
            sent.insert(name.into_boxed_str(), now);
            anyhow::Ok(())
        });
        while let Some(ended) = tasks.try_join_next() {
            ended??;
        }
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let deadline = Instant::now() + PATIENCE;
    while bindings.count()? - before < total && Instant::now() < deadline {
        tokio::time::sleep(POLL).await;
    }
    let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
    let mut waited: Vec<f64> = bindings
        .seen()
        .into_iter()
        .filter_map(|(name, bound)| Some((bound - *sent.get(&name)?).as_secs_f64() * 1e3))
        .collect();
    waited.sort_by(f64::total_cmp);
    Ok(Latency {
        rate,
        arrived: total,
        bound: waited.len(),
        p50: percentile(&waited, total, 50),
        p99: percentile(&waited, total, 99),
    })
}

/// Those that have no node yet waited longest.
fn percentile(waited: &[f64], total: usize, percent: usize) -> Option<f64> {
    let place = (total * percent).div_ceil(100).checked_sub(1)?;
    waited.get(place).copied()
}
