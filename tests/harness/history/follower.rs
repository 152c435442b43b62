//! One watch of one kind, continued where it broke off.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::super::footprint;
use super::{Change, Live, Log, PodState, lock, version};

/// Between two tries after a watch broke.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// A kind that the history follows.
pub(super) trait Followed:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send
{
    /// Notes the object's state; an error says what is wrong with the object.
    fn note(&self, log: &mut Log, at: u64) -> anyhow::Result<()>;
    /// Notes its end.
    fn note_gone(name: &str, uid: &str, log: &mut Log, at: u64);
}

impl Followed for Node {
    fn note(&self, log: &mut Log, at: u64) -> anyhow::Result<()> {
        let allocatable = footprint::of_node(self)?;
        log.push(
            at,
            Change::Node {
                name: self.name_any(),
                allocatable,
            },
        );
        Ok(())
    }

    fn note_gone(name: &str, _uid: &str, log: &mut Log, at: u64) {
        log.push(
            at,
            Change::NodeGone {
                name: name.to_owned(),
            },
        );
    }
}

impl Followed for Pod {
    fn note(&self, log: &mut Log, at: u64) -> anyhow::Result<()> {
        let node = self.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let phase = self
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let uid = self.uid().context("a pod without UID")?;
        let state = PodState {
            pod: format!(
                "{}/{}",
                self.namespace().unwrap_or_default(),
                self.name_any()
            ),
            uid: uid.clone(),
            node: node.filter(|node| !node.is_empty()),
            ended: matches!(phase, Some("Succeeded" | "Failed")),
            footprint: footprint::of_pod(self)?,
        };
        if log.pods.get(&uid) != Some(&state) {
            log.pods.insert(uid, state.clone());
            log.push(at, Change::Pod(state));
        }
        Ok(())
    }

    fn note_gone(_name: &str, uid: &str, log: &mut Log, at: u64) {
        log.pods.remove(uid);
        log.push(
            at,
            Change::PodGone {
                uid: uid.to_owned(),
            },
        );
    }
}

/// One watch and what it has seen.
pub(super) struct Follower<K> {
    api: Api<K>,
    log: Arc<Mutex<Log>>,
    version: String,
}

impl<K: Followed> Follower<K> {
    pub(super) async fn start(client: &Client, log: &Arc<Mutex<Log>>) -> anyhow::Result<Self> {
        let api = Api::all(client.clone());
        let mut follower = Self {
            api,
            log: log.clone(),
            version: String::new(),
        };
        follower.list().await?;
        Ok(follower)
    }

    pub(super) async fn run(mut self) {
        loop {
            let broken = match self.watch().await {
                Ok(()) => false,
                Err(error) if is_gone(&error) => match self.list().await {
                    Ok(missed) => {
                        lock(&self.log).gaps += u32::from(missed);
                        false
                    }
                    Err(_) => true,
                },
                Err(_) => true,
            };
            if broken {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }

    /// Follows from the place reached so far until the server ends the watch.
    async fn watch(&mut self) -> Result<(), kube::Error> {
        let params = WatchParams::default().timeout(200);
        let mut events = self.api.watch(&params, &self.version).await?.boxed();
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => self.apply(&object),
                WatchEvent::Deleted(object) => self.delete(&object),
                WatchEvent::Bookmark(bookmark) => self.version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            }
        }
        Ok(())
    }

    /// Starts from what is there, and says whether that differs from what was known: a server that
    /// was restarted has forgotten our place, but often nothing happened meanwhile.
    async fn list(&mut self) -> anyhow::Result<bool> {
        let list = self.api.list(&ListParams::default()).await?;
        let version_of_list = list.metadata.resource_version;
        self.version = version_of_list.context("a list without version")?;
        let at: u64 = self.version.parse()?;
        let mut unseen = lock(&self.log).progress::<K>().live.clone();
        let mut missed = false;
        for object in &list.items {
            let known = unseen.remove(&object.uid().unwrap_or_default());
            missed |= known.is_none_or(|known| Some(known.version) != version(object).ok());
            self.note(object, at);
        }
        for (uid, gone) in unseen {
            missed = true;
            let mut log = lock(&self.log);
            log.progress::<K>().live.remove(&uid);
            K::note_gone(&gone.name, &uid, &mut log, at);
        }
        Ok(missed)
    }

    fn apply(&mut self, object: &K) {
        if let Ok(at) = version(object) {
            self.version = at.to_string();
            self.note(object, at);
        } else {
            self.note_error(object, "it has no numeric resource version");
        }
    }

    fn note(&self, object: &K, at: u64) {
        let live = Live {
            name: object.name_any(),
            version: version(object).unwrap_or(at),
        };
        let mut log = lock(&self.log);
        let progress = log.progress::<K>();
        progress.reached = progress.reached.max(at);
        progress.live.insert(object.uid().unwrap_or_default(), live);
        let noted = object.note(&mut log, at);
        drop(log);
        if let Err(error) = noted {
            self.note_error(object, &format!("{error:#}"));
        }
    }

    fn delete(&mut self, object: &K) {
        let Ok(at) = version(object) else {
            return self.note_error(object, "it has no numeric resource version");
        };
        self.version = at.to_string();
        let uid = object.uid().unwrap_or_default();
        let mut log = lock(&self.log);
        let progress = log.progress::<K>();
        progress.reached = at;
        progress.live.remove(&uid);
        K::note_gone(&object.name_any(), &uid, &mut log, at);
    }

    fn note_error(&self, object: &K, reason: &str) {
        let name = object.name_any();
        let message = format!("{} {name}: {reason}", K::kind(&()));
        lock(&self.log).errors.push(message);
    }
}

fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 410)
}
