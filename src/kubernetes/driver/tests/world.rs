//! A loop, what feeds it, and an API server that writes down what is sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use http::{Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use crate::apis::effective_profile::EffectiveProfile;
use crate::engine::EngineConfig;
use crate::engine::cache::listers::{Listed, ListedEvent, ObjectEvent};
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::event::ClusterEvent;
use crate::engine::framework::extension_points::{
    PermitDecision, PermitPlugin, PermitVerdict, PreEnqueuePlugin,
};
use crate::engine::framework::{CycleState, Plugin, PluginName, Rejection};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::dispatcher::{Completion, DispatcherHandle};
use crate::kubernetes::driver::{
    BuildProfile, Driver, DriverConfig, DriverReports, Inputs, SecondPanic,
};
use crate::kubernetes::events::EventSink;
use crate::kubernetes::extender::Extenders;
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::leadership::heartbeat::Heartbeat;
use crate::kubernetes::profiles::RunningProfile;
use crate::kubernetes::protobuf;
use crate::kubernetes::watch::{StreamEvent, Streamed};
use crate::kubernetes::{dispatcher, events};
use crate::metrics::Metrics;
use crate::model::objects::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, VolumeAttachment,
};
use crate::model::pod_info::PodUid;
use crate::plugins::fixtures::{NodeBuilder, PodBuilder};
use crate::plugins::registry::Registry;

/// Longer than anything here takes on paused time.
const SETTLED: Duration = Duration::from_secs(3);

/// How long the cycle of a pod called `slow…` takes.
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// Panics at `Permit` for pods called `bomb…`, when the pod is assumed already, and before the
/// queue for pods called `poison…`, unless they have a priority. For pods called `slow…` it takes
/// its time.
#[derive(Debug)]
struct Bomb;

impl Plugin for Bomb {
    fn name(&self) -> PluginName {
        "Bomb"
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
}

impl PreEnqueuePlugin for Bomb {
    fn pre_enqueue(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Rejection> {
        go_off("poison", pod);
        None
    }
}

impl PermitPlugin for Bomb {
    fn permit(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &NodeView<'_>,
        _: &[PodUid],
    ) -> PermitVerdict {
        go_off("bomb", pod);
        if pod.info.key.name.starts_with("slow") {
            // The clock is put forward when the future is first looked at.
            let _ = tokio::time::advance(SLOW).now_or_never();
        }
        PermitDecision::Allow.into()
    }
}

/// A pod that was changed has a priority here.
fn go_off(prefix: &str, pod: &PodView<'_>) {
    assert!(
        !pod.info.key.name.starts_with(prefix) || pod.info.priority > 0,
        "boom"
    );
}

fn with_bomb() -> BuildProfile {
    Box::new(|profile, generation, symbols| {
        let mut profile = Registry.build(profile, generation, symbols)?;
        let index = profile.plugins.len();
        profile.plugins.push(Arc::new(Bomb));
        profile.points.pre_enqueue.push(index);
        profile.points.permit.push(index);
        Ok(profile)
    })
}

/// What the API server saw and does.
#[derive(Clone)]
struct Api {
    calls: Arc<Mutex<Vec<(String, Value)>>>,
    answers: watch::Receiver<bool>,
}

impl Api {
    fn client(&self) -> kube::Client {
        let api = self.clone();
        let service = service_fn(move |request: Request<Body>| api.clone().answer(request));
        kube::Client::new(service, "default")
    }

    async fn answer(mut self, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let path = request.uri().path().to_owned();
        let bytes = request.into_body().collect_bytes().await?;
        let body = protobuf::as_json(&bytes);
        self.calls.lock().push((path, body.clone()));
        let _ = self.answers.wait_for(|answers| *answers).await;
        Ok(Response::new(Body::from(body.to_string().into_bytes())))
    }
}

/// What one watch feeds, and the objects that there are.
#[derive(Clone)]
pub(super) struct Feed<K> {
    events: mpsc::Sender<StreamEvent>,
    objects: Arc<Mutex<BTreeMap<String, K>>>,
    lists: watch::Receiver<u64>,
    is_led: bool,
}

impl<K: Streamed> Feed<K> {
    /// Lists again whenever it is asked to.
    fn new(lists: watch::Receiver<u64>, is_led: bool) -> (Self, mpsc::Receiver<StreamEvent>) {
        let (events, receiver) = mpsc::channel(64);
        let objects = Arc::default();
        let feed = Self {
            events,
            objects,
            lists,
            is_led,
        };
        let mut lister = feed.clone();
        tokio::spawn(async move {
            while lister.lists.changed().await.is_ok() {
                lister.tell_all().await;
            }
        });
        (feed, receiver)
    }

    pub(super) async fn list(&mut self, objects: Vec<K>) {
        let named = objects.into_iter().map(|object| (name(&object), object));
        *self.objects.lock() = named.collect();
        self.tell_all().await;
    }

    async fn tell_all(&self) {
        let list = *self.lists.borrow();
        let objects: Vec<K> = self.objects.lock().values().cloned().collect();
        let event = K::listed(objects.iter().map(K::identity).collect());
        for object in objects {
            self.tell(K::applied(Arc::new(object))).await;
        }
        let is_led = self.is_led;
        let listed = StreamEvent::Listed {
            event,
            list,
            is_led,
        };
        self.events.send(listed).await.unwrap();
    }

    pub(super) async fn apply(&mut self, object: K) {
        self.objects.lock().insert(name(&object), object.clone());
        self.tell(K::applied(Arc::new(object))).await;
    }

    pub(super) async fn delete(&mut self, object: K) {
        self.objects.lock().remove(&name(&object));
        self.tell(K::deleted(Arc::new(object))).await;
    }

    async fn tell(&self, event: ClusterEvent) {
        self.events.send(StreamEvent::Object(event)).await.unwrap();
    }
}

fn name<K: Streamed>(object: &K) -> String {
    object.meta().name.clone().unwrap_or_default()
}

/// A loop that leads, and everything around it.
pub(super) struct World {
    nodes: Feed<Node>,
    pub(super) pods: Feed<Pod>,
    /// Kept open.
    _listed: mpsc::Sender<ListedEvent>,
    profiles: watch::Sender<Option<Arc<Vec<RunningProfile>>>>,
    api: Api,
    answering: watch::Sender<bool>,
    /// Whether barriers are passed.
    pub(super) barrier: watch::Sender<bool>,
    metrics: Metrics,
    pub(super) heartbeat: Heartbeat,
    driver: JoinHandle<Result<(), SecondPanic>>,
}

/// Of every listed kind there is nothing.
fn empty_lists() -> impl Iterator<Item = ListedEvent> {
    fn none<K: Listed>() -> ListedEvent {
        K::event(ObjectEvent::Resynced(Vec::new()))
    }
    [
        none::<Namespace>,
        none::<Service>,
        none::<ReplicationController>,
        none::<ReplicaSet>,
        none::<StatefulSet>,
        none::<PodDisruptionBudget>,
        none::<PersistentVolume>,
        none::<PersistentVolumeClaim>,
        none::<StorageClass>,
        none::<CsiNode>,
        none::<CsiDriver>,
        none::<CsiStorageCapacity>,
        none::<VolumeAttachment>,
    ]
    .into_iter()
    .map(|list| list())
}

/// Starts the writers, which live as long as the test.
fn writers(
    api: &Api,
    metrics: &Metrics,
    leadership: &Leadership,
    clock: &Clock,
) -> (
    DispatcherHandle,
    mpsc::UnboundedReceiver<Completion>,
    EventSink,
) {
    let (dispatcher, writer, completions) = dispatcher::new(
        api.client(),
        Extenders::new(api.client()),
        leadership.clone(),
        clock.clone(),
        metrics.dispatcher.clone(),
    );
    tokio::spawn(writer.run(CancellationToken::new()));
    let (sink, broadcaster) = events::new(
        api.client(),
        dispatcher.clone(),
        leadership.clone(),
        clock.clone(),
        "test".to_owned(),
        metrics.events.clone(),
    );
    tokio::spawn(broadcaster.run(CancellationToken::new(), Duration::ZERO));
    (dispatcher, completions, sink)
}

impl World {
    /// With these nodes and pods, scheduling.
    pub(super) async fn new(nodes: &[NodeBuilder], pods: &[PodBuilder]) -> Self {
        Self::start(nodes, pods, true, false).await
    }

    /// With these nodes and pods; barriers may be passed, and the lists asked for by the leader.
    pub(super) async fn start(
        nodes: &[NodeBuilder],
        pods: &[PodBuilder],
        barrier: bool,
        is_led: bool,
    ) -> Self {
        let (clock, leadership) = (Clock::steady(), Leadership::always());
        let (answering, answers) = watch::channel(true);
        let (barrier, passed) = watch::channel(barrier);
        let api = Api {
            calls: Arc::default(),
            answers,
        };
        let metrics = Metrics::default();
        let (dispatcher, completions, sink) = writers(&api, &metrics, &leadership, &clock);
        let lists = watch::Sender::new(0);
        let (node_feed, node_input) = Feed::new(lists.subscribe(), is_led);
        let (pod_feed, pod_input) = Feed::new(lists.subscribe(), is_led);
        let (listed, listed_input) = mpsc::channel(64);
        for event in empty_lists() {
            listed.send(event).await.unwrap();
        }
        let (profiles, running) = watch::channel(None);
        let heartbeat = Heartbeat::new(clock.clone());
        let config = DriverConfig {
            engine: EngineConfig::default(),
            clock,
            leadership,
            heartbeat: heartbeat.clone(),
            dispatcher,
            events: sink,
            barrier: Box::new(move || {
                let mut passed = passed.clone();
                Box::pin(async move {
                    let _ = passed.wait_for(|passed| *passed).await;
                    Ok(())
                })
            }),
            build_profile: with_bomb(),
            metrics: metrics.scheduler.clone(),
        };
        let inputs = Inputs::new(
            node_input,
            pod_input,
            lists,
            listed_input,
            completions,
            running,
        );
        let reports = DriverReports {
            synced: watch::Sender::default(),
            active: watch::Sender::default(),
            pending: watch::Sender::default(),
        };
        let driver = Driver::new(config, inputs, reports);
        let mut world = Self {
            nodes: node_feed,
            pods: pod_feed,
            _listed: listed,
            profiles,
            api,
            answering,
            barrier,
            metrics,
            heartbeat,
            driver: tokio::spawn(driver.run(CancellationToken::new())),
        };
        world.activate("bayplan");
        let nodes = nodes.iter().map(NodeBuilder::object).collect();
        world.nodes.list(nodes).await;
        let pods = pods.iter().map(PodBuilder::object).collect();
        world.pods.list(pods).await;
        world.settle().await;
        world
    }

    /// Runs the default profile under this name, beside no other.
    pub(super) fn activate(&self, scheduler_name: &str) {
        let spec = serde_json::from_value(json!({"schedulerName": scheduler_name})).unwrap();
        let effective = EffectiveProfile::try_new(&spec, &Registry).unwrap();
        let profile = RunningProfile {
            name: scheduler_name.to_owned(),
            generation: 1,
            effective,
        };
        self.profiles.send_replace(Some(Arc::new(vec![profile])));
    }

    pub(super) async fn pod(&mut self, pod: &PodBuilder) {
        self.pods.apply(pod.object()).await;
        self.settle().await;
    }

    /// Lets everything happen that will happen by itself.
    pub(super) async fn settle(&self) {
        tokio::time::sleep(SETTLED).await;
    }

    /// Whether the API server answers.
    pub(super) fn answer(&self, answers: bool) {
        self.answering.send_replace(answers);
    }

    /// Pods that were bound, sorted, each as `POD to NODE`.
    pub(super) fn bound(&self) -> Vec<String> {
        let calls = self.api.calls.lock();
        let bindings = calls.iter().filter(|(path, _)| path.ends_with("/binding"));
        let name = |of: &Value| of["name"].as_str().unwrap_or_default().to_owned();
        let mut bound: Vec<String> = bindings
            .map(|(_, body)| format!("{} to {}", name(&body["metadata"]), name(&body["target"])))
            .collect();
        bound.sort_unstable();
        bound
    }

    /// Notes of the warnings about `pod`.
    pub(super) fn warnings(&self, pod: &str) -> Vec<String> {
        let calls = self.api.calls.lock();
        let events = calls.iter().filter(|(path, _)| path.ends_with("/events"));
        events
            .map(|(_, body)| body)
            .filter(|body| body["type"] == "Warning" && body["regarding"]["name"] == pod)
            .map(|body| body["note"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The value of a metric without labels.
    pub(super) fn metric(&self, name: &str) -> String {
        let text = self.metrics.encode();
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        text.lines().find_map(value).unwrap_or_default()
    }

    /// Why the loop ended.
    pub(super) async fn end(self) -> SecondPanic {
        let end = timeout(SETTLED, self.driver).await;
        end.expect("the loop must end").unwrap().unwrap_err()
    }
}
