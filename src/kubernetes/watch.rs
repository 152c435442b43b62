//! Watches: kube-runtime's watcher and reflector, one store per kind, and the events that pass
//! through them for the engine.
//!
//! A store's subscribers see no deletions, so the engine is fed from the events. A re-list comes
//! as one [`WatchEvent::Resync`] of everything there is; the engine makes a diff of it. An object
//! that cannot be decoded is set aside alone: it is counted and logged, and is unknown.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt};
use kube::core::DeserializeGuard;
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::engine::cache::listers::{Listed, ListedEvent, ObjectEvent};
use crate::kubernetes::watch_progress::WatchProgress;
use crate::metrics::{WatchMetrics, WatchNumbers};

/// Undecodable objects that are named in the log, per kind; the counter counts them all.
const LOGGED_MAX: u64 = 100;

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
) -> impl Stream<Item = watcher::Result<Event<DeserializeGuard<K>>>> + Send + use<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone + Debug + Unpin + Send + Sync,
{
    let api: Api<DeserializeGuard<K>> = Api::all(client);
    let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
    watch(api, watcher::Config::default().timeout(seconds)).default_backoff()
}

/// Opens the guards: what cannot be decoded is counted, logged and left out.
fn decode<K>(
    stream: impl Stream<Item = watcher::Result<Event<DeserializeGuard<K>>>> + Send + 'static,
    numbers: WatchNumbers,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource + Clone + Debug + Send + Sync + 'static,
    K::DynamicType: Default,
{
    let open = move |guard: DeserializeGuard<K>| match guard.0 {
        Ok(object) => Some(object),
        Err(invalid) => {
            let count = numbers.undecodable.inc();
            if count < LOGGED_MAX {
                warn!(
                    kind = %K::kind(&K::DynamicType::default()),
                    namespace = invalid.metadata.namespace.as_deref().unwrap_or_default(),
                    name = invalid.metadata.name.as_deref().unwrap_or_default(),
                    error = %invalid.error,
                    "object cannot be decoded and is left out until it is corrected"
                );
            }
            None
        }
    };
    stream.try_filter_map(move |event| {
        let event = match event {
            Event::Init => Some(Event::Init),
            Event::InitDone => Some(Event::InitDone),
            Event::InitApply(guard) => open(guard).map(Event::InitApply),
            Event::Apply(guard) => open(guard).map(Event::Apply),
            Event::Delete(guard) => open(guard).map(Event::Delete),
        };
        futures::future::ready(Ok(event))
    })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::metrics::Metrics;
    use crate::model::objects::Node;

    #[tokio::test]
    async fn lists_errors_and_undecodable_objects_are_counted_and_served_by_resource() {
        let guard = |object| serde_json::from_value::<DeserializeGuard<Node>>(object).unwrap();
        let good = || guard(json!({"metadata": {"name": "good"}}));
        let bad = || guard(json!({"metadata": {"name": "bad"}, "spec": {"taints": 7}}));
        let told = vec![
            Ok(Event::Init),
            Ok(Event::InitApply(good())),
            Ok(Event::InitApply(bad())),
            Ok(Event::InitDone),
            Err(watcher::Error::NoResourceVersion),
            Ok(Event::Apply(bad())),
            Ok(Event::Apply(good())),
        ];
        let metrics = Metrics::default();
        let numbers = metrics.watches.of("nodes");
        let (send, mut receive) = mpsc::channel(8);
        let decoded = decode(futures::stream::iter(told), numbers.clone());
        let progress = WatchProgress::new(["/api/v1/nodes"]);
        forward(decoded, send, |event| event, progress, numbers).await;
        let first = receive.recv().await;
        assert!(matches!(first, Some(WatchEvent::Resync(all)) if all.len() == 1));
        let second = receive.recv().await;
        assert!(matches!(second, Some(WatchEvent::Applied(_))));
        let text = metrics.encode();
        for line in [
            r#"bayplan_watch_lists_total{resource="nodes"} 1"#,
            r#"bayplan_watch_errors_total{resource="nodes"} 1"#,
            r#"bayplan_watch_undecodable_objects_total{resource="nodes"} 2"#,
        ] {
            assert!(
                text.lines().any(|l| l == line),
                "{line} is missing in\n{text}"
            );
        }
    }
}
