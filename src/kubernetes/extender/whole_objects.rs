//! The whole objects that extenders are sent. The engine keeps slim ones, so a pod is read from
//! the API server once an attempt, and nodes are watched whole only while an extender that does
//! not know them is asked. Managed fields are left out, as upstream's caches leave them out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use k8s_openapi::api::core::v1 as core;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_objects};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{debug, info, warn};

use crate::engine::effect::Effect;
use crate::model::pod_info::{PodKey, PodUid};

/// How long reading a pod or a node may take.
const READ_LIMIT: Duration = Duration::from_secs(4);
/// How long the first list of nodes may take.
const LIST_LIMIT: Duration = Duration::from_secs(30);
/// Nodes are no longer watched when nobody has asked for them between two looks, this long apart.
const UNUSED: Duration = Duration::from_mins(10);
/// Nodes that the watch has not seen yet are read one by one, at most these many at a time.
const READ_SINGLY_MAX: usize = 32;
/// Victims that are sent whole at most.
const VICTIMS_MAX: usize = 1024;
/// Victims that are read at a time.
const READS_AT_ONCE: usize = 16;
/// Pods that are kept for the later questions of their attempts: more than profiles run.
const PODS_KEPT: usize = 128;

/// Reads and keeps them. Clones share what they keep.
#[derive(Clone)]
pub(super) struct WholeObjects {
    client: Client,
    pods: Arc<Mutex<VecDeque<(PodUid, u32, Bytes)>>>,
    nodes: Arc<Mutex<Option<Watched>>>,
}

/// The watch of nodes.
struct Watched {
    store: Store,
    listed: watch::Receiver<bool>,
    /// Somebody has asked since the last look.
    is_used: bool,
}

type Store = Arc<Mutex<BTreeMap<Arc<str>, Bytes>>>;

impl WholeObjects {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            pods: Arc::default(),
            nodes: Arc::default(),
        }
    }

    /// The pods called `names` as JSON. One that is gone, or whose name was given away, is left out.
    pub(super) async fn pods(
        &self,
        names: &BTreeMap<PodUid, PodKey>,
    ) -> Result<BTreeMap<PodUid, Bytes>, String> {
        if names.len() > VICTIMS_MAX {
            return Err(format!(
                "{} pods are too many to be sent whole to an extender: make it nodeCacheCapable or \
                 let preemptions try fewer nodes",
                names.len()
            ));
        }
        let reads = futures::stream::iter(names.clone()).map(|(uid, key)| {
            let objects = self.clone();
            async move { (objects.read_pod(&key, &uid).await, uid) }
        });
        let mut reads = std::pin::pin!(reads.buffer_unordered(READS_AT_ONCE));
        let mut pods = BTreeMap::new();
        while let Some(read) = reads.next().await {
            let (pod, uid) = read;
            if let Some(pod) = pod? {
                pods.insert(uid, pod);
            }
        }
        Ok(pods)
    }

    /// `None`: it is gone.
    async fn read_pod(&self, key: &PodKey, uid: &PodUid) -> Result<Option<Bytes>, String> {
        let resource = ApiResource::erase::<core::Pod>(&());
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &key.namespace, &resource);
        match timeout(READ_LIMIT, api.get_opt(&key.name)).await {
            Ok(Ok(pod)) => Ok(pod
                .filter(|pod| pod.uid().as_deref() == Some(&*uid.0))
                .map(as_json)),
            Ok(Err(error)) => Err(format!("pod \"{key}\" cannot be read: {error}")),
            Err(_elapsed) => Err(format!(
                "pod \"{key}\" cannot be read: the API server did not answer within {READ_LIMIT:?}"
            )),
        }
    }

    /// The pod of `effect` as JSON; read once an attempt.
    pub(super) async fn pod(&self, effect: &Effect, attempt: u32) -> Result<Bytes, String> {
        let of_attempt =
            |(uid, at, _): &&(PodUid, u32, Bytes)| *uid == effect.uid && *at == attempt;
        if let Some((.., pod)) = self.pods.lock().iter().find(of_attempt) {
            return Ok(pod.clone());
        }
        let read = self.read_pod(&effect.pod, &effect.uid).await?;
        let pod = read.ok_or_else(|| {
            format!(
                "pod \"{}\" cannot be read: it is gone, or another one has its name",
                effect.pod
            )
        })?;
        let mut pods = self.pods.lock();
        pods.retain(|(uid, ..)| *uid != effect.uid);
        pods.push_back((effect.uid.clone(), attempt, pod.clone()));
        if pods.len() > PODS_KEPT {
            pods.pop_front();
        }
        Ok(pod)
    }

    /// The nodes called `names` as JSON. One that is gone is left out.
    pub(super) async fn nodes(&self, names: &[Arc<str>]) -> Result<Vec<Bytes>, String> {
        let (store, mut listed) = self.watched();
        let wait = async { listed.wait_for(|listed| *listed).await.is_ok() };
        if !timeout(LIST_LIMIT, wait).await.unwrap_or(false) {
            return Err(format!("nodes could not be listed within {LIST_LIMIT:?}"));
        }
        let found: Vec<Option<Bytes>> = {
            let store = store.lock();
            names.iter().map(|name| store.get(name).cloned()).collect()
        };
        let mut nodes = Vec::with_capacity(names.len());
        let mut missing = Vec::new();
        for (name, node) in names.iter().zip(found) {
            match node {
                Some(node) => nodes.push(node),
                None => missing.push(name),
            }
        }
        for name in missing.into_iter().take(READ_SINGLY_MAX) {
            nodes.extend(self.read_node(name).await?);
        }
        Ok(nodes)
    }

    async fn read_node(&self, name: &str) -> Result<Option<Bytes>, String> {
        let only = ListParams::default().fields(&format!("metadata.name={name}"));
        match timeout(READ_LIMIT, all_nodes(&self.client).list(&only)).await {
            Ok(Ok(list)) => Ok(list.items.into_iter().next().map(as_json)),
            Ok(Err(error)) => Err(format!("node {name:?} cannot be read: {error}")),
            Err(_elapsed) => Err(format!(
                "node {name:?} cannot be read: the API server did not answer within {READ_LIMIT:?}"
            )),
        }
    }

    /// The watch of nodes, which begins if there is none.
    fn watched(&self) -> (Store, watch::Receiver<bool>) {
        let mut nodes = self.nodes.lock();
        let watched = nodes.get_or_insert_with(|| {
            info!("nodes are watched whole for extenders that do not know them");
            let (store, (listed_send, listed)) = (Store::default(), watch::channel(false));
            tokio::spawn(follow(
                self.client.clone(),
                Arc::clone(&store),
                listed_send,
                Arc::clone(&self.nodes),
            ));
            Watched {
                store,
                listed,
                is_used: true,
            }
        });
        watched.is_used = true;
        (Arc::clone(&watched.store), watched.listed.clone())
    }
}

/// Follows the nodes until nobody has asked for them for long.
async fn follow(
    client: Client,
    store: Store,
    listed: watch::Sender<bool>,
    watched: Arc<Mutex<Option<Watched>>>,
) {
    let stream = watch_objects(all_nodes(&client), watcher::Config::default()).default_backoff();
    let mut stream = std::pin::pin!(stream);
    let mut list = BTreeMap::new();
    let mut looks = interval(UNUSED);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks.tick().await;
    loop {
        let event = tokio::select! {
            event = stream.next() => event,
            _ = looks.tick() => {
                let mut watched = watched.lock();
                let is_used = watched.as_mut().map(|watched| std::mem::take(&mut watched.is_used));
                if is_used == Some(true) {
                    continue;
                }
                *watched = None;
                info!("nodes are no longer watched whole");
                return;
            }
        };
        match event {
            Some(Ok(Event::Init)) => list.clear(),
            Some(Ok(Event::InitApply(node))) => {
                list.insert(node.name_any().into(), as_json(node));
            }
            Some(Ok(Event::InitDone)) => {
                *store.lock() = std::mem::take(&mut list);
                listed.send_replace(true);
            }
            Some(Ok(Event::Apply(node))) => {
                store.lock().insert(node.name_any().into(), as_json(node));
            }
            Some(Ok(Event::Delete(node))) => {
                store.lock().remove(&*node.name_any());
            }
            Some(Err(error)) => warn!(%error, "the watch of whole nodes fails and is tried again"),
            None => {
                debug!("the watch of whole nodes ended");
                *watched.lock() = None;
                return;
            }
        }
    }
}

fn all_nodes(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<core::Node>(&());
    Api::all_with(client.clone(), &resource)
}

fn as_json(mut object: DynamicObject) -> Bytes {
    object.metadata.managed_fields = None;
    serde_json::to_vec(&object)
        .expect("an object that was JSON must be JSON again")
        .into()
}

impl std::fmt::Debug for WholeObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WholeObjects").finish_non_exhaustive()
    }
}
