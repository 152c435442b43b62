//! What the replicas use, and how the pods are doing, every few seconds.

use std::time::{Duration, Instant};

use anyhow::Context;
use kube::Client;
use serde::Serialize;

use crate::harness::process::Usage;
use crate::replicas::Replicas;
use crate::requests;

/// Between two samples.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);
/// All pods.
const PODS: &str = "/api/v1/pods";

/// One moment.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Sample {
    /// Since the churn began.
    pub(crate) seconds: f64,
    pub(crate) leader: Used,
    pub(crate) standby: Used,
    /// Pods that have a node.
    pub(crate) bound: usize,
    /// Pods that have none, those that never fit or are behind a gate among them.
    pub(crate) pending: usize,
}

/// What a replica uses.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Used {
    /// The resident set.
    pub(crate) mebibytes: f64,
    /// CPU time since the sample before, in percent of one core.
    pub(crate) cpu_percent: f64,
}

/// Takes samples.
pub(crate) struct Sampler<'a> {
    client: &'a Client,
    began: Instant,
    last: Moment,
}

/// CPU times so far.
struct Moment {
    at: Instant,
    leader: Usage,
    standby: Usage,
}

impl<'a> Sampler<'a> {
    /// CPU time counts from now on, and the others from when it `began`.
    pub(crate) fn start(
        client: &'a Client,
        replicas: &Replicas,
        began: Instant,
    ) -> anyhow::Result<Self> {
        let last = Moment::now(replicas)?;
        Ok(Self {
            client,
            began,
            last,
        })
    }

    /// Now.
    pub(crate) async fn take(&mut self, replicas: &Replicas) -> anyhow::Result<Sample> {
        let now = Moment::now(replicas)?;
        let before = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        let passed = now.at - before.at;
        let pending = unbound(self.client).await?.len();
        let (pods, _) = requests::count(self.client, PODS).await?;
        Ok(Sample {
            seconds: (now.at - self.began).as_secs_f64(),
            leader: Used::between(before.leader, now.leader, passed),
            standby: Used::between(before.standby, now.standby, passed),
            bound: pods.saturating_sub(pending),
            pending,
        })
    }
}

impl Moment {
    fn now(replicas: &Replicas) -> anyhow::Result<Self> {
        Ok(Self {
            at: Instant::now(),
            leader: replicas.leader.process.usage()?,
            standby: replicas.standby.process.usage()?,
        })
    }
}

impl Used {
    fn between(before: Usage, now: Usage, passed: Duration) -> Self {
        let cpu = now.cpu.saturating_sub(before.cpu);
        Self {
            mebibytes: now.rss as f64 / f64::from(1 << 20),
            cpu_percent: cpu.as_secs_f64() / passed.as_secs_f64() * 100.0,
        }
    }
}

/// The names of the pods that have no node.
pub(crate) async fn unbound(client: &Client) -> anyhow::Result<Vec<String>> {
    let list = requests::get(client, &format!("{PODS}?fieldSelector=spec.nodeName%3D")).await?;
    let pods = list["items"].as_array().context("a list has no items")?;
    let names = pods
        .iter()
        .filter_map(|pod| pod["metadata"]["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}
