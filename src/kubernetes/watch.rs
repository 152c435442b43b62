//! Watches: kube-runtime's watcher and reflector, one store per kind, and the events that pass
//! through them for the engine.
//!
//! A store's subscribers see no deletions, so the engine is fed from the events. A re-list comes
//! as one [`WatchEvent::Resync`] of everything there is; the engine makes a diff of it. An object
//! that cannot be decoded is set aside alone: it is counted and logged, and is unknown.

mod guard;
#[cfg(test)]
mod tests;
mod undecodable;

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::engine::cache::listers::{Listed, ListedEvent, ObjectEvent};
use crate::kubernetes::watch::guard::Guard;
use crate::kubernetes::watch::undecodable::Undecodable;
use crate::kubernetes::watch_progress::WatchProgress;
use crate::metrics::{WatchMetrics, WatchNumbers};

/// What a watch tells.
#[derive(Debug)]
pub enum WatchEvent<K> {
    /// An object is new or changed.
    Applied(Arc<K>),
    /// An object is gone.
    Deleted(Arc<K>),
    /// All objects there are.
    Resync(Vec<Arc<K>>),
}

impl<K: Resource> WatchEvent<K> {
    /// The resourceVersion that the watch has reached with a single event.
    fn version(&self) -> Option<String> {
        match self {
            Self::Applied(object) | Self::Deleted(object) => object.meta().resource_version.clone(),
            Self::Resync(_) => None,
        }
    }
}

/// Watches all objects of kind `K` and sends what happens to `events`, until `cancel`. Everything
/// that was seen is in the store, whole.
///
/// `timeout` bounds one watch request; kube's client ends a silent one 5 s later. The future ends
/// only on `cancel` or when nobody listens any more.
pub fn watch_all<K>(
    client: Client,
    timeout: Duration,
    events: mpsc::Sender<WatchEvent<K>>,
    progress: WatchProgress,
    metrics: &WatchMetrics,
    cancel: CancellationToken,
) -> (Store<K>, impl Future<Output = ()> + Send + use<K>)
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone + Debug + Unpin + Send + Sync,
{
    let numbers = metrics.of(&K::plural(&K::DynamicType::default()));
    let (store, writer) = reflector::store();
    let decoded = decode(events_of(client, timeout), numbers.clone()).reflect(writer);
    let run = async move {
        let forward = forward(decoded, events, |event| event, progress, numbers);
        tokio::select! {
            () = forward => {}
            () = cancel.cancelled() => {}
        }
    };
    (store, run)
}

/// Watches all objects of a kind that the engine itself lists, and sends what happens to the one
/// channel of all such kinds. No store is kept beside the engine's.
pub fn watch_listed<K>(
    client: Client,
    timeout: Duration,
    events: mpsc::Sender<ListedEvent>,
    progress: WatchProgress,
    metrics: &WatchMetrics,
    cancel: CancellationToken,
) -> impl Future<Output = ()> + Send + use<K>
where
    K: Listed + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let numbers = metrics.of(&K::plural(&()));
    let decoded = decode(events_of::<K>(client, timeout), numbers.clone());
    let listed = |event| {
        K::event(match event {
            WatchEvent::Applied(object) => ObjectEvent::Applied(object),
            WatchEvent::Deleted(object) => ObjectEvent::Deleted(object),
            WatchEvent::Resync(objects) => ObjectEvent::Resynced(objects),
        })
    };
    async move {
        tokio::select! {
            () = forward(decoded, events, listed, progress, numbers) => {}
            () = cancel.cancelled() => {}
        }
    }
}

/// The events of all objects of a kind, with growing pauses after errors.
fn events_of<K>(
    client: Client,
    timeout: Duration,
) -> impl Stream<Item = watcher::Result<Event<Guard<K>>>> + Send + use<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone + Debug + Unpin + Send + Sync,
{
    let api: Api<Guard<K>> = Api::all(client);
    let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
    watch(api, watcher::Config::default().timeout(seconds)).default_backoff()
}

/// Opens the guards: what cannot be decoded is counted, logged and left out.
fn decode<K>(
    stream: impl Stream<Item = watcher::Result<Event<Guard<K>>>> + Send + 'static,
    numbers: WatchNumbers,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default,
{
    let kind = K::kind(&K::DynamicType::default()).into_owned();
    let mut undecodable = Undecodable::new(kind, numbers);
    stream.try_filter_map(move |event| futures::future::ready(Ok(undecodable.open(event))))
}

async fn forward<K, E>(
    stream: impl Stream<Item = watcher::Result<Event<K>>> + Send,
    events: mpsc::Sender<E>,
    told: impl Fn(WatchEvent<K>) -> E,
    progress: WatchProgress,
    numbers: WatchNumbers,
) where
    K: Resource + Debug,
    K::DynamicType: Default,
{
    let kind = K::kind(&K::DynamicType::default()).into_owned();
    let path = K::url_path(&K::DynamicType::default(), None);
    let mut stream = std::pin::pin!(stream);
    let mut list = Vec::new();
    let mut failing = false;
    while let Some(event) = stream.next().await {
        let event = match event {
            Ok(Event::Init) => {
                numbers.lists.inc();
                list.clear();
                continue;
            }
            Ok(Event::InitApply(object)) => {
                list.push(Arc::new(object));
                continue;
            }
            Ok(Event::InitDone) => WatchEvent::Resync(std::mem::take(&mut list)),
            Ok(Event::Apply(object)) => WatchEvent::Applied(Arc::new(object)),
            Ok(Event::Delete(object)) => WatchEvent::Deleted(Arc::new(object)),
            Err(error) => {
                numbers.errors.inc();
                if failing {
                    debug!(kind, %error, "watch still fails");
                } else {
                    warn!(kind, %error, "watch fails and is tried again with growing pauses");
                }
                failing = true;
                continue;
            }
        };
        if std::mem::take(&mut failing) {
            warn!(kind, "watch works again");
        }
        let version = event.version();
        if events.send(told(event)).await.is_err() {
            return;
        }
        if let Some(version) = version {
            progress.advance(&path, &version);
        }
    }
}
