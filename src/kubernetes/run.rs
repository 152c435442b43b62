//! Wires everything and runs it: the completed configuration, the tasks, and their end.
//!
//! Every task is supervised: one that ends or panics ends the process.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::apis::scheduler_profile::SchedulerProfile;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::kubernetes::barrier;
use crate::kubernetes::clients::{ClientError, Clients};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::driver::{Driver, DriverConfig, DriverReports, Inputs};
use crate::kubernetes::extender::Extenders;
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::leadership::elector::Outcome;
use crate::kubernetes::leadership::heartbeat::Heartbeat;
use crate::kubernetes::leadership::settings::{ElectionSettings, new_identity};
use crate::kubernetes::leadership::stats::ElectionStats;
use crate::kubernetes::leadership::thread::{self, ElectionError};
use crate::kubernetes::profiles::{StatusWriter, reconcile};
use crate::kubernetes::serving::{Authorizer, Health, SecurePort, Served, ServingError, TlsFiles};
use crate::kubernetes::watch::{StreamedWatch, watch_listed};
use crate::kubernetes::watch_progress::WatchProgress;
use crate::kubernetes::{dispatcher, events};
use crate::metrics::{ElectionCollector, Metrics};
use crate::model::objects;
use crate::options::Config;
use crate::plugins::registry::Registry;

/// Watch events that wait for the loop at most; beyond it the watches wait.
const EVENTS_WAITING: usize = 4096;
/// What is in flight at SIGTERM gets as long as a write may take.
const FINISH_LIMIT: Duration = Duration::from_secs(5);
/// Events that wait at the end.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// A leader whose loop was silent this long stops renewing; the loop turns every second.
const HEARTBEAT_LIMIT: Duration = Duration::from_secs(10);
/// How long the elector may take to give the lease back.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// Why the process cannot run.
#[derive(Debug, Error)]
pub enum RunError {
    /// No client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The port cannot be served.
    #[error(transparent)]
    Serving(#[from] ServingError),
    /// No election.
    #[error(transparent)]
    Election(#[from] ElectionError),
}

/// Why the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was asked to: exit code 0.
    Stopped,
    /// The leadership was lost: exit code 1.
    LeadershipLost,
    /// A task ended or panicked: exit code 1.
    TaskFailed,
}

/// A configuration with everything that is needed to run it.
#[derive(Debug)]
pub struct CompletedConfig {
    config: Config,
    identity: String,
    clock: Clock,
    clients: Clients,
    port: SecurePort,
}

impl CompletedConfig {
    /// Adds clients, identity and clock, and opens the secure port.
    pub async fn complete(config: Config) -> Result<Self, RunError> {
        let identity = new_identity();
        let clients = Clients::try_new(&config, &identity).await?;
        let serving = &config.settings.serving;
        let address = SocketAddr::new(serving.bind_address, serving.secure_port);
        let files = (!serving.tls_cert_file.is_empty()).then(|| TlsFiles {
            certificate: serving.tls_cert_file.clone().into(),
            key: serving.tls_private_key_file.clone().into(),
        });
        let port = SecurePort::open(address, files).await?;
        Ok(Self {
            config,
            identity,
            clock: Clock::system(),
            clients,
            port,
        })
    }

    fn election_settings(&self) -> ElectionSettings {
        let election = &self.config.settings.leader_election;
        ElectionSettings {
            lease_name: election.resource_name.clone(),
            lease_namespace: election.resource_namespace.clone(),
            identity: self.identity.clone(),
            lease_duration: election.lease_duration.into(),
            renew_deadline: election.renew_deadline.into(),
            retry_period: election.retry_period.into(),
            heartbeat_limit: HEARTBEAT_LIMIT,
        }
    }
}

/// An election, or its absence.
struct Standing {
    leadership: Leadership,
    ended: Option<oneshot::Receiver<Result<Outcome, ElectionError>>>,
    /// Cancelling gives the lease back.
    release: CancellationToken,
}

/// Runs until `stop`, a lost leadership, or a task that fails.
pub async fn run(completed: CompletedConfig, stop: CancellationToken) -> Result<End, RunError> {
    let clock = completed.clock.clone();
    let heartbeat = Heartbeat::new(clock.clone());
    let stats = ElectionStats::default();
    let mut standing = elect(&completed, &heartbeat, &stats)?;
    let mut metrics = Metrics::default();
    metrics
        .registry_mut()
        .register_collector(Box::new(ElectionCollector {
            leadership: standing.leadership.clone(),
            stats,
            name: completed
                .config
                .settings
                .leader_election
                .resource_name
                .clone(),
        }));
    let mut tasks = Tasks::default();
    spawn_all(completed, &standing, &heartbeat, metrics, &stop, &mut tasks);
    let end = tasks.wait(&mut standing, &stop).await;
    // First nothing new is decided, then what is in flight ends, then the lease is given back.
    tasks.finish().await;
    if let (End::Stopped, Some(ended)) = (end, standing.ended.take()) {
        standing.release.cancel();
        if let Ok(Ok(Ok(Outcome::Released))) = timeout(RELEASE_LIMIT, ended).await {
            info!("the lease was given back");
        } else {
            warn!("the lease was not given back in time and runs out by itself");
        }
    }
    Ok(end)
}

fn elect(
    completed: &CompletedConfig,
    heartbeat: &Heartbeat,
    stats: &ElectionStats,
) -> Result<Standing, RunError> {
    let release = CancellationToken::new();
    if !completed.config.settings.leader_election.leader_elect {
        return Ok(Standing {
            leadership: Leadership::always(),
            ended: None,
            release,
        });
    }
    let election = thread::start(
        &completed.clients.config,
        completed.election_settings(),
        completed.clock.clone(),
        heartbeat.clone(),
        stats.clone(),
        release.clone(),
    )?;
    Ok(Standing {
        leadership: election.leadership,
        ended: Some(election.ended),
        release,
    })
}

/// The tasks of the process.
#[derive(Default)]
struct Tasks {
    set: JoinSet<&'static str>,
    /// Ends the loop and everything that feeds it.
    deciding: CancellationToken,
    /// Ends the writers, after the loop.
    writing: CancellationToken,
}

impl Tasks {
    fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.set.spawn(async move {
            task.await;
            name
        });
    }

    /// Waits for the first reason to end.
    async fn wait(&mut self, standing: &mut Standing, stop: &CancellationToken) -> End {
        let election = async {
            match &mut standing.ended {
                Some(ended) => Some(ended.await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => {
                info!("stopping");
                End::Stopped
            }
            ended = election => {
                standing.ended = None;
                match ended {
                    Some(Ok(Ok(Outcome::Lost(loss)))) => error!(?loss, "leaderelection lost"),
                    Some(Ok(Err(error))) => error!(%error, "leader election failed"),
                    _ => error!("the leader election ended unexpectedly"),
                }
                End::LeadershipLost
            }
            ended = self.set.join_next() => {
                match ended {
                    Some(Ok(task)) => error!(task, "a task ended: ending the process"),
                    Some(Err(error)) => error!(%error, "a task panicked: ending the process"),
                    None => error!("no task runs: ending the process"),
                }
                End::TaskFailed
            }
        }
    }

    async fn finish(&mut self) {
        self.deciding.cancel();
        self.writing.cancel();
        let all = async { while self.set.join_next().await.is_some() {} };
        if timeout(FINISH_LIMIT, all).await.is_err() {
            warn!("some tasks did not end in time");
        }
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "the wiring of the process, readable from top to bottom"
)]
fn spawn_all(
    completed: CompletedConfig,
    standing: &Standing,
    heartbeat: &Heartbeat,
    metrics: Metrics,
    stop: &CancellationToken,
    tasks: &mut Tasks,
) {
    let CompletedConfig {
        config,
        identity,
        clock,
        clients,
        port,
    } = completed;
    let (leadership, deciding) = (standing.leadership.clone(), tasks.deciding.clone());
    let watch_timeout: Duration = config.settings.scheduling.watch_timeout.into();
    info!(%identity, server = %clients.config.cluster_url, "starting");
    for warning in &config.warnings {
        warn!("{warning}");
    }

    // Watches.
    let progress = WatchProgress::new(["/api/v1/nodes", "/api/v1/pods"]);
    let lists = watch::Sender::new(0);
    let streamed = StreamedWatch {
        client: clients.reads.clone(),
        timeout: watch_timeout,
        lists: lists.subscribe(),
        leadership: leadership.clone(),
        progress: progress.clone(),
        metrics: metrics.watches.clone(),
        clock: clock.clone(),
    };
    macro_rules! watched_as_streamed {
        ($kind:ident) => {{
            let (send, receive) = mpsc::channel(EVENTS_WAITING);
            tasks.spawn(
                concat!(stringify!($kind), " watch"),
                streamed
                    .clone()
                    .run::<objects::$kind>(send, deciding.clone()),
            );
            receive
        }};
    }
    let nodes = watched_as_streamed!(Node);
    let pods = watched_as_streamed!(Pod);
    let (listed_events, listed) = mpsc::channel(EVENTS_WAITING);
    macro_rules! watched_as_listed {
        ($($kind:ident)+) => {
            $(tasks.spawn(
                concat!(stringify!($kind), " watch"),
                watch_listed(
                    clients.reads.clone(),
                    watch_timeout,
                    listed_events.clone(),
                    <objects::$kind as Listed>::event,
                    metrics.watches.clone(),
                    deciding.clone(),
                ),
            );)+
        };
    }
    watched_as_listed!(
        Namespace Service ReplicationController ReplicaSet StatefulSet PodDisruptionBudget
        PersistentVolume PersistentVolumeClaim StorageClass CsiNode CsiDriver CsiStorageCapacity
        VolumeAttachment
    );
    let (profile_events, profiles) = mpsc::channel(EVENTS_WAITING);
    tasks.spawn(
        "SchedulerProfile watch",
        watch_listed(
            clients.reads.clone(),
            watch_timeout,
            profile_events,
            |event: ObjectEvent<SchedulerProfile>| event,
            metrics.watches.clone(),
            deciding.clone(),
        ),
    );

    // Profiles.
    let (judged_send, judged) = watch::channel(Arc::default());
    let (running_send, running) = watch::channel(None);
    tasks.spawn(
        "profiles",
        reconcile(profiles, judged_send, running_send, deciding.clone()),
    );

    // Writers.
    let (dispatcher, writer, completions) = dispatcher::new(
        clients.writes.clone(),
        Extenders::new(clients.reads.clone()),
        leadership.clone(),
        clock.clone(),
        metrics.dispatcher.clone(),
    );
    let writing = tasks.writing.clone();
    tasks.spawn("dispatcher", {
        let writing = writing.clone();
        async move {
            if let Err(error) = writer.run(writing).await {
                error!(%error, "a write panicked");
            }
        }
    });
    let (sink, broadcaster) = events::new(
        clients.writes.clone(),
        dispatcher.clone(),
        leadership.clone(),
        clock.clone(),
        identity.clone(),
        metrics.events.clone(),
    );
    tasks.spawn("events", broadcaster.run(writing, FLUSH_LIMIT));

    // The loop.
    let (synced_send, synced) = watch::channel(false);
    let (active_send, active) = watch::channel(BTreeMap::new());
    let (pending_send, pending) = watch::channel(BTreeMap::new());
    let barrier: crate::kubernetes::driver::Barrier = Box::new({
        let (client, progress, clock) = (clients.reads.clone(), progress.clone(), clock.clone());
        move || {
            let (client, progress, clock) = (client.clone(), progress.clone(), clock.clone());
            Box::pin(async move {
                barrier::pass(&client, &progress, &clock, barrier::TIMEOUT)
                    .await
                    .map_err(|error| error.to_string())
            })
        }
    });
    let driver = Driver::new(
        DriverConfig {
            engine: config.engine(seed()),
            clock: clock.clone(),
            leadership: leadership.clone(),
            heartbeat: heartbeat.clone(),
            dispatcher,
            events: sink,
            barrier,
            build_profile: Box::new(|profile, generation, symbols| {
                Registry.build(profile, generation, symbols)
            }),
            metrics: metrics.scheduler.clone(),
        },
        Inputs::new(nodes, pods, lists, listed, completions, running),
        DriverReports {
            synced: synced_send,
            active: active_send,
            pending: pending_send,
        },
    );
    tasks.spawn("scheduling loop", {
        let deciding = deciding.clone();
        async move {
            if let Err(error) = driver.run(deciding).await {
                error!(%error, "the scheduling loop gave up");
            }
        }
    });
    tasks.spawn(
        "profile status",
        StatusWriter {
            client: clients.writes.clone(),
            leadership,
            identity,
            clock: clock.clone(),
            judged,
            active,
            pending,
        }
        .run(deciding.clone()),
    );

    // The secure port.
    let health = Health {
        heartbeat: heartbeat.clone(),
        leadership: standing.leadership.clone(),
        synced,
        shutdown: stop.clone(),
    };
    let authorizer = Arc::new(Authorizer::new(clients.reads, clock));
    let open_paths = config
        .settings
        .serving
        .authorization_always_allow_paths
        .clone()
        .into();
    let served = Served {
        health,
        metrics: Arc::new(metrics),
        authorizer,
        open_paths,
    };
    tasks.spawn("secure port", port.serve(served, deciding));
}

/// Drawn at start: ties fall otherwise in the next process.
fn seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}
