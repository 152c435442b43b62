//! Kinds with many objects: lists are told object by object, so that no second copy of the cluster
//! is ever held, and whoever is told can ask for a new list.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use kube::runtime::WatchStreamExt;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::engine::event::ClusterEvent;
use crate::kubernetes::clock::Clock;
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::protobuf::Protobuf;
use crate::kubernetes::watch::list_watch::list_watch;
use crate::kubernetes::watch::{Teller, decode, forward};
use crate::kubernetes::watch_progress::WatchProgress;
use crate::metrics::WatchMetrics;
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::PodUid;

/// The first list waits so long for the first try to lead: a list that was asked for by the leader
/// spares it the barrier, which takes longer.
const ELECTION: Duration = Duration::from_millis(500);

/// A kind whose objects the engine is told one by one.
pub trait Streamed:
    Resource<DynamicType = ()> + Protobuf + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
    /// What tells objects apart.
    type Identity: Send;

    /// Which object it is.
    fn identity(&self) -> Self::Identity;

    /// It is new or changed.
    fn applied(object: Arc<Self>) -> ClusterEvent;

    /// It is gone.
    fn deleted(object: Arc<Self>) -> ClusterEvent;

    /// There are no others than these.
    fn listed(identities: Vec<Self::Identity>) -> ClusterEvent;
}

/// What the watch of a streamed kind tells.
#[derive(Debug)]
pub enum StreamEvent {
    /// Something about an object.
    Object(ClusterEvent),
    /// The end of a list.
    Listed {
        /// Which objects there are.
        event: ClusterEvent,
        /// The number of the list that was asked for last when this one began.
        list: u64,
        /// Whether this replica led before the list was asked for, so that it has all that earlier
        /// leaders have written.
        is_led: bool,
    },
}

impl Streamed for Pod {
    type Identity = PodUid;

    fn identity(&self) -> PodUid {
        PodUid::of(self)
    }

    fn applied(object: Arc<Self>) -> ClusterEvent {
        ClusterEvent::PodApplied(object)
    }

    fn deleted(object: Arc<Self>) -> ClusterEvent {
        ClusterEvent::PodDeleted(object)
    }

    fn listed(identities: Vec<PodUid>) -> ClusterEvent {
        ClusterEvent::PodsListed(identities)
    }
}

impl Streamed for Node {
    type Identity = Arc<str>;

    fn identity(&self) -> Arc<str> {
        self.metadata.name.as_deref().unwrap_or_default().into()
    }

    fn applied(object: Arc<Self>) -> ClusterEvent {
        ClusterEvent::NodeApplied(object)
    }

    fn deleted(object: Arc<Self>) -> ClusterEvent {
        ClusterEvent::NodeDeleted(object)
    }

    fn listed(identities: Vec<Arc<str>>) -> ClusterEvent {
        ClusterEvent::NodesListed(identities)
    }
}

/// Tells lists object by object.
struct OneByOne<K: Streamed> {
    listed: Vec<K::Identity>,
    list: u64,
    is_led: bool,
    progress: WatchProgress,
    path: String,
}

impl<K: Streamed> Teller<K> for OneByOne<K> {
    type Told = StreamEvent;

    fn list_begins(&mut self) {
        self.listed.clear();
    }

    fn list_has(&mut self, object: K) -> Option<StreamEvent> {
        self.listed.push(object.identity());
        Some(self.applied(Arc::new(object)))
    }

    fn list_ends(&mut self) -> StreamEvent {
        StreamEvent::Listed {
            event: K::listed(std::mem::take(&mut self.listed)),
            list: self.list,
            is_led: self.is_led,
        }
    }

    fn applied(&self, object: Arc<K>) -> StreamEvent {
        StreamEvent::Object(K::applied(object))
    }

    fn deleted(&self, object: Arc<K>) -> StreamEvent {
        StreamEvent::Object(K::deleted(object))
    }

    fn reached(&self, version: &str) {
        self.progress.advance(&self.path, version);
    }
}

/// What watches of streamed kinds have in common. Clones share it.
#[derive(Clone)]
pub struct StreamedWatch {
    /// To read with.
    pub client: Client,
    /// Of one watch request; a silent one is given up 5 s later.
    pub timeout: Duration,
    /// A change asks for a new list.
    pub lists: watch::Receiver<u64>,
    /// Whether this replica leads.
    pub leadership: Leadership,
    /// Where it is noted how far the watches are.
    pub progress: WatchProgress,
    /// What is counted.
    pub metrics: WatchMetrics,
    /// The time.
    pub clock: Clock,
}

impl fmt::Debug for StreamedWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedWatch")
            .field("timeout", &self.timeout)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl StreamedWatch {
    /// Watches all objects of kind `K` and sends what happens to `events`, until `cancel`, or until
    /// nobody listens any more.
    pub async fn run<K: Streamed>(
        mut self,
        events: mpsc::Sender<StreamEvent>,
        cancel: CancellationToken,
    ) {
        let numbers = self.metrics.of(&K::plural(&()));
        // Nobody looks at whether it ran out: a standby lists as well.
        let _ = timeout(ELECTION, self.leadership.wait_until_leading()).await;
        loop {
            let list = *self.lists.borrow_and_update();
            let teller = OneByOne::<K> {
                listed: Vec::new(),
                list,
                is_led: self.leadership.is_leading(),
                progress: self.progress.clone(),
                path: K::url_path(&(), None),
            };
            let (client, progress) = (self.client.clone(), self.progress.clone());
            let told = list_watch::<K>(client, self.timeout, progress, self.clock.clone());
            let decoded = decode(told.default_backoff(), numbers.clone());
            tokio::select! {
                () = forward(decoded, &events, teller, &numbers) => return,
                Ok(()) = self.lists.changed() => {}
                () = cancel.cancelled() => return,
            }
        }
    }
}
