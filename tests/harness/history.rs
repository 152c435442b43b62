//! What happened to pods and nodes, from watches of the harness's own.
//!
//! The watches begin before anything is scheduled and are continued where they broke off, so that
//! no change is missed. Should the server have forgotten the place (410 Gone) and objects
//! have changed since, the history says so in [`History::is_complete`] rather than hide the gap.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use tokio::task::JoinHandle;

use super::footprint::{Amounts, Footprint};
use super::wait;

mod follower;

use follower::{Followed, Follower};

/// One change, at its place in the order of all changes of the cluster.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Of pods and nodes alike; two records of different kinds can be compared.
    pub(crate) resource_version: u64,
    /// When the harness saw it.
    pub(crate) seen: Timestamp,
    /// What changed.
    pub(crate) change: Change,
}

/// What changed. Changes that touch neither placement nor room are not recorded.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A node is there with this room.
    Node { name: String, allocatable: Amounts },
    /// A node is gone.
    NodeGone { name: String },
    /// A pod is there.
    Pod(PodState),
    /// A pod is gone.
    PodGone { uid: String },
}

/// A pod as far as placement goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodState {
    /// `NAMESPACE/NAME`.
    pub(crate) pod: String,
    /// Its UID.
    pub(crate) uid: String,
    /// Where it is, if anywhere.
    pub(crate) node: Option<String>,
    /// Succeeded or failed: it takes no room any more.
    pub(crate) ended: bool,
    /// What it takes.
    pub(crate) footprint: Footprint,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<Record>,
    /// By kind.
    progress: BTreeMap<String, Progress>,
    pods: BTreeMap<String, PodState>,
    gaps: u32,
    /// Objects that could not be understood, with the reason.
    errors: Vec<String>,
}

/// How far the watch of one kind has come.
#[derive(Debug, Default)]
struct Progress {
    /// The last resource version seen.
    reached: u64,
    /// The objects that exist, by UID, as last seen.
    live: BTreeMap<String, Live>,
}

#[derive(Debug, Clone)]
struct Live {
    name: String,
    version: u64,
}

/// What a kind looks like in the store itself.
struct Present {
    kind: String,
    /// The resource version of the list.
    version: u64,
    /// Resource version by UID.
    objects: BTreeMap<String, u64>,
}

impl Present {
    async fn read<K: Followed>(client: &Client) -> anyhow::Result<Self> {
        let list = Api::<K>::all(client.clone())
            .list_metadata(&ListParams::default())
            .await?;
        let mut objects = BTreeMap::new();
        for object in &list.items {
            objects.insert(object.uid().unwrap_or_default(), version(object)?);
        }
        let version = list
            .metadata
            .resource_version
            .context("a list without version")?
            .parse()?;
        Ok(Self {
            kind: K::kind(&()).into_owned(),
            version,
            objects,
        })
    }

    /// Whether the log has seen every object as it is here or later, and the end of every other.
    fn is_reached(&self, log: &Log) -> bool {
        let Some(progress) = log.progress.get(&self.kind) else {
            return self.objects.is_empty();
        };
        let newest = self.objects.values().max().copied().unwrap_or_default();
        let gone_unseen = progress
            .live
            .iter()
            .any(|(uid, live)| live.version <= self.version && !self.objects.contains_key(uid));
        progress.reached >= newest && !gone_unseen
    }
}

/// A running record. Dropping it ends the watches.
pub(crate) struct History {
    client: Client,
    log: Arc<Mutex<Log>>,
    tasks: [JoinHandle<()>; 2],
}

impl History {
    /// Lists what is there and follows it from then on.
    pub(crate) async fn start(client: Client) -> anyhow::Result<Self> {
        let log = Arc::new(Mutex::new(Log::default()));
        // Nodes first: their place is then before that of the pods on them.
        let nodes = Follower::<Node>::start(&client, &log).await?;
        let pods = Follower::<Pod>::start(&client, &log).await?;
        let tasks = [tokio::spawn(nodes.run()), tokio::spawn(pods.run())];
        Ok(Self { client, log, tasks })
    }

    /// Waits until everything that the cluster has been through by now is recorded.
    pub(crate) async fn settle(&self, timeout: Duration) -> anyhow::Result<()> {
        let nodes = Present::read::<Node>(&self.client).await?;
        let pods = Present::read::<Pod>(&self.client).await?;
        wait::until("the history to reach the present", timeout, async || {
            let log = lock(&self.log);
            Ok([&nodes, &pods]
                .iter()
                .all(|present| present.is_reached(&log))
                .then_some(()))
        })
        .await
    }

    /// The changes so far, in the order in which the cluster went through them.
    pub(crate) fn records(&self) -> Vec<Record> {
        let log = lock(&self.log);
        let mut records = log.records.clone();
        // Stable: what one watch saw at one place keeps its order.
        records.sort_by_key(|record| record.resource_version);
        records
    }

    /// An error if changes may be missing or could not be understood.
    pub(crate) fn is_complete(&self) -> anyhow::Result<()> {
        let log = lock(&self.log);
        ensure!(
            log.gaps == 0,
            "the history has gaps: {} watches could not be continued",
            log.gaps
        );
        ensure!(
            log.errors.is_empty(),
            "the history is incomplete: {}",
            log.errors.join("; ")
        );
        Ok(())
    }

    /// How many pods have a node now.
    pub(crate) fn bound_pods(&self) -> usize {
        let log = lock(&self.log);
        log.pods.values().filter(|pod| pod.node.is_some()).count()
    }
}

impl Drop for History {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Log {
    fn progress<K: Followed>(&mut self) -> &mut Progress {
        self.progress.entry(K::kind(&()).into_owned()).or_default()
    }

    fn push(&mut self, resource_version: u64, change: Change) {
        self.records.push(Record {
            resource_version,
            seen: Timestamp::now(),
            change,
        });
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn version<K: Resource>(object: &K) -> anyhow::Result<u64> {
    let text = object
        .meta()
        .resource_version
        .as_deref()
        .context("no resource version")?;
    text.parse()
        .with_context(|| format!("resource version {text:?} is no number"))
}
