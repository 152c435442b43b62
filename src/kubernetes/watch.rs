//! Watches of all objects of a kind, and what they tell the engine.
//!
//! No store is kept here: the engine keeps what it needs of an object and nothing else does. Kinds
//! of which there are few are told whole when they are listed ([`watch_listed`], by kube-runtime's
//! watcher, in JSON); pods and nodes come one by one ([`StreamedWatch`], in protobuf). An object that cannot be decoded
//! is set aside alone: it is counted and logged, and is unknown.

mod guard;
mod list_watch;
mod streamed;
#[cfg(test)]
mod tests;
mod undecodable;

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::engine::cache::listers::ObjectEvent;
use crate::kubernetes::watch::guard::Guard;
use crate::kubernetes::watch::undecodable::Undecodable;
use crate::metrics::{WatchMetrics, WatchNumbers};

pub use streamed::{StreamEvent, Streamed, StreamedWatch};

/// What a watch of objects of kind `K` makes of its events.
trait Teller<K> {
    /// What is told.
    type Told;

    /// A list begins.
    fn list_begins(&mut self);

    /// It has this object.
    fn list_has(&mut self, object: K) -> Option<Self::Told>;

    /// It has ended.
    fn list_ends(&mut self) -> Self::Told;

    /// An object is new or changed.
    fn applied(&self, object: Arc<K>) -> Self::Told;

    /// An object is gone.
    fn deleted(&self, object: Arc<K>) -> Self::Told;

    /// Everything up to this version was told.
    fn reached(&self, _version: &str) {}
}

/// Tells lists whole.
struct Whole<K, F> {
    list: Vec<Arc<K>>,
    told: F,
}

impl<K, E, F: Fn(ObjectEvent<K>) -> E> Teller<K> for Whole<K, F> {
    type Told = E;

    fn list_begins(&mut self) {
        self.list.clear();
    }

    fn list_has(&mut self, object: K) -> Option<E> {
        self.list.push(Arc::new(object));
        None
    }

    fn list_ends(&mut self) -> E {
        (self.told)(ObjectEvent::Resynced(std::mem::take(&mut self.list)))
    }

    fn applied(&self, object: Arc<K>) -> E {
        (self.told)(ObjectEvent::Applied(object))
    }

    fn deleted(&self, object: Arc<K>) -> E {
        (self.told)(ObjectEvent::Deleted(object))
    }
}

/// Watches all objects of kind `K` and sends what happens to `events`, as `told` puts it, until
/// `cancel`. A list is told whole.
///
/// `timeout` bounds one watch request; kube's client ends a silent one 5 s later. The future ends
/// only on `cancel` or when nobody listens any more.
pub async fn watch_listed<K, E>(
    client: Client,
    timeout: Duration,
    events: mpsc::Sender<E>,
    told: impl Fn(ObjectEvent<K>) -> E + Send,
    metrics: WatchMetrics,
    cancel: CancellationToken,
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone + Debug + Unpin + Send + Sync,
{
    let numbers = metrics.of(&K::plural(&K::DynamicType::default()));
    let decoded = decode(events_of::<K>(client, timeout), numbers.clone());
    let list = Vec::new();
    tokio::select! {
        () = forward(decoded, &events, Whole { list, told }, &numbers) => {}
        () = cancel.cancelled() => {}
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
fn decode<K, E>(
    stream: impl Stream<Item = Result<Event<Guard<K>>, E>> + Send + 'static,
    numbers: WatchNumbers,
) -> impl Stream<Item = Result<Event<K>, E>> + Send
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default,
    E: Send + 'static,
{
    let kind = K::kind(&K::DynamicType::default()).into_owned();
    let mut undecodable = Undecodable::new(kind, numbers);
    stream.try_filter_map(move |event| futures::future::ready(Ok(undecodable.open(event))))
}

/// Sends what `teller` makes of the events, until nobody listens.
async fn forward<K, T, E>(
    stream: impl Stream<Item = Result<Event<K>, E>> + Send,
    events: &mpsc::Sender<T::Told>,
    mut teller: T,
    numbers: &WatchNumbers,
) where
    K: Resource + Debug,
    K::DynamicType: Default,
    T: Teller<K>,
    E: Display,
{
    let kind = K::kind(&K::DynamicType::default()).into_owned();
    let mut stream = std::pin::pin!(stream);
    let mut failing = false;
    while let Some(event) = stream.next().await {
        let event = match event {
            Ok(event) => event,
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
        let mut version = None;
        let told = match event {
            Event::Init => {
                numbers.lists.inc();
                teller.list_begins();
                continue;
            }
            Event::InitApply(object) => match teller.list_has(object) {
                Some(told) => told,
                None => continue,
            },
            Event::InitDone => teller.list_ends(),
            Event::Apply(object) => {
                version.clone_from(&object.meta().resource_version);
                teller.applied(Arc::new(object))
            }
            Event::Delete(object) => {
                version.clone_from(&object.meta().resource_version);
                teller.deleted(Arc::new(object))
            }
        };
        if std::mem::take(&mut failing) {
            warn!(kind, "watch works again");
        }
        if events.send(told).await.is_err() {
            return;
        }
        if let Some(version) = version {
            teller.reached(&version);
        }
    }
}
