//! Lists and watches the objects of a kind in the API server's protobuf, which costs it and us a
//! fraction of what JSON does. The events are those of kube-runtime's watcher, which reads JSON
//! only.

mod error;
mod listing;
mod resource;
#[cfg(test)]
mod tests;
mod watching;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, stream};
use kube::runtime::watcher::Event;
use kube::{Client, Resource};

use crate::kubernetes::clock::Clock;
use crate::kubernetes::protobuf::{self, Protobuf};
use crate::kubernetes::watch::guard::{Guard, Unreadable};
use crate::kubernetes::watch::list_watch::error::ListWatchError;
use crate::kubernetes::watch::list_watch::listing::Listing;
use crate::kubernetes::watch::list_watch::resource::WatchedResource;
use crate::kubernetes::watch::list_watch::watching::Watching;
use crate::kubernetes::watch_progress::WatchProgress;

/// The objects of one kind.
struct ListWatch<K> {
    resource: Arc<WatchedResource>,
    state: State,
    kind: PhantomData<fn() -> K>,
}

/// How far it is.
#[derive(Default)]
enum State {
    /// Nothing was told, or it is too old. Leaves to `Listing`.
    #[default]
    Empty,
    /// A list is told. Leaves to `Listed` at its end, to `Empty` if a page fails.
    Listing(Listing),
    /// Everything up to this version was told, and no watch is open. Leaves to `Watching`, or to
    /// `Empty` if the API server no longer knows the version.
    Listed { version: String },
    /// A watch is open. Leaves to `Listed` at its end, to `Empty` as above.
    Watching(Watching),
}

/// The events of all objects of kind `K`, without an end. After an error it goes on when it is
/// polled again, where it can.
pub(super) fn list_watch<K: Protobuf + Resource<DynamicType = ()>>(
    client: Client,
    timeout: Duration,
    progress: WatchProgress,
    clock: Clock,
) -> impl Stream<Item = Result<Event<Guard<K>>, ListWatchError>> + Send + use<K> {
    let resource = Arc::new(WatchedResource {
        client,
        path: K::url_path(&(), None),
        timeout,
        progress,
        clock,
    });
    let state = State::default();
    let kind = PhantomData;
    let list_watch = ListWatch::<K> {
        resource,
        state,
        kind,
    };
    stream::unfold(list_watch, |mut list_watch| async move {
        Some((list_watch.next().await, list_watch))
    })
}

impl<K: Protobuf + Resource<DynamicType = ()>> ListWatch<K> {
    /// The next event. Everything before it was handled by whoever asks.
    async fn next(&mut self) -> Result<Event<Guard<K>>, ListWatchError> {
        loop {
            match std::mem::take(&mut self.state) {
                State::Empty => {
                    let listing = Listing::begin(&self.resource).await?;
                    self.state = State::Listing(listing);
                    return Ok(Event::Init);
                }
                State::Listing(mut listing) => {
                    if let Some(item) = listing.next().await? {
                        self.state = State::Listing(listing);
                        return Ok(Event::InitApply(guarded(&item)));
                    }
                    let version = listing.into_version();
                    self.state = State::Listed { version };
                    return Ok(Event::InitDone);
                }
                State::Listed { version } => {
                    let body = self.resource.watch(&version).await;
                    let body = body.inspect_err(|error| self.failed(error, version.clone()))?;
                    let watching = Watching::new(version, body, &self.resource);
                    self.state = State::Watching(watching);
                }
                State::Watching(mut watching) => {
                    let event = watching.next(&self.resource).await;
                    match event {
                        Ok(Some(event)) => {
                            self.state = State::Watching(watching);
                            return Ok(event);
                        }
                        Ok(None) => {
                            let version = watching.into_version();
                            self.state = State::Listed { version };
                        }
                        Err(error) => {
                            self.failed(&error, watching.into_version());
                            return Err(error);
                        }
                    }
                }
            }
        }
    }

    /// Where to go on after a watch that failed.
    fn failed(&mut self, error: &ListWatchError, version: String) {
        let is_expired =
            matches!(error, ListWatchError::Refused { status, .. } if status.code == 410);
        self.state = if is_expired {
            State::Empty
        } else {
            State::Listed { version }
        };
    }
}

fn guarded<K: Protobuf>(message: &Bytes) -> Guard<K> {
    Guard(K::decode(message).map_err(|error| Unreadable {
        error: error.to_string(),
        metadata: protobuf::identity(message),
    }))
}
