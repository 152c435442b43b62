//! Leader election and the barrier against a real API server.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

use std::time::Duration;

use bayplan::kubernetes::barrier;
use bayplan::kubernetes::clock::Clock;
use bayplan::kubernetes::leadership::Leadership;
use bayplan::kubernetes::leadership::elector::{Loss, Outcome};
use bayplan::kubernetes::leadership::heartbeat::Heartbeat;
use bayplan::kubernetes::leadership::settings::{ElectionSettings, new_identity};
use bayplan::kubernetes::leadership::stats::ElectionStats;
use bayplan::kubernetes::leadership::thread::{self, Election};
use bayplan::kubernetes::watch::{Streamed, StreamedWatch};
use bayplan::kubernetes::watch_progress::WatchProgress;
use bayplan::metrics::Metrics;
use bayplan::model::objects;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

mod harness;

use harness::builders::{make_node, make_pod};
use harness::control_plane::{ControlPlane, Options};
use harness::{create, kubeconfig, wait};

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(1);
const LEASE_NAME: &str = "bayplan";
const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";

struct Replica {
    identity: String,
    election: Election,
    stats: ElectionStats,
    stop: CancellationToken,
}

impl Replica {
    /// With durations a third of the usual ones, and a heart that beats once and is not asked again.
    async fn start(control_plane: &ControlPlane) -> anyhow::Result<Self> {
        let config = kubeconfig::config(&control_plane.kubeconfig()).await?;
        let (clock, stats) = (Clock::system(), ElectionStats::default());
        let stop = CancellationToken::new();
        let identity = new_identity();
        let election = thread::start(
            &config,
            ElectionSettings {
                lease_name: LEASE_NAME.to_owned(),
                lease_namespace: "kube-system".to_owned(),
                identity: identity.clone(),
                lease_duration: Duration::from_secs(5),
                renew_deadline: Duration::from_secs(3),
                retry_period: Duration::from_secs(1),
                heartbeat_limit: Duration::from_hours(1),
            },
            clock.clone(),
            Heartbeat::new(clock),
            stats.clone(),
            stop.clone(),
        )?;
        Ok(Self {
            identity,
            election,
            stats,
            stop,
        })
    }

    fn leads(&self) -> bool {
        self.election.leadership.is_leading()
    }
}

fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), "kube-system")
}

/// The only one of them that leads.
async fn the_leader(replicas: &[Replica]) -> anyhow::Result<&Replica> {
    wait::until("a leader", PATIENCE, async || {
        let leading: Vec<_> = replicas.iter().filter(|replica| replica.leads()).collect();
        assert!(leading.len() <= 1, "two replicas lead at once");
        Ok(leading.first().copied())
    })
    .await
}

#[tokio::test]
async fn candidates_that_race_for_a_lease_get_one_leader_each_time() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let leases = leases(&control_plane.client());
    for round in 0..5 {
        let mut replicas = Vec::new();
        for _ in 0..5 {
            replicas.push(Replica::start(&control_plane).await?);
        }
        let leader = the_leader(&replicas).await?;
        let lease = leases.get(LEASE_NAME).await?;
        let spec = lease.spec.clone().unwrap_or_default();
        assert_eq!(spec.holder_identity.as_deref(), Some(&*leader.identity));
        let term = leader
            .election
            .leadership
            .term()
            .map(|term| term.to_string());
        let expected = format!("{}/{round}", lease.uid().unwrap_or_default());
        assert_eq!(term, Some(expected));
        assert_eq!(lease.labels()["app.kubernetes.io/name"], "bayplan");
        // The standbys first, so that the Lease is free for the next round and not for them.
        let (leaders, standbys): (Vec<_>, Vec<_>) = replicas.into_iter().partition(Replica::leads);
        for replica in standbys.into_iter().chain(leaders) {
            replica.stop.cancel();
            assert_eq!(replica.election.ended.await??, Outcome::Released);
        }
    }
    control_plane.stop()
}

#[tokio::test]
async fn a_released_lease_passes_to_the_standby_within_a_retry_period() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let first = Replica::start(&control_plane).await?;
    assert!(first.election.leadership.wait_until_leading().await);
    let second = Replica::start(&control_plane).await?;
    tokio::time::sleep(Duration::from_millis(3_300)).await;
    assert!(first.leads() && !second.leads());
    assert!(first.stats.read().renewals >= 2);
    let clock = Clock::system();
    let start = clock.now();
    first.stop.cancel();
    assert_eq!(first.election.ended.await??, Outcome::Released);
    assert!(second.election.leadership.wait_until_leading().await);
    let gap = clock.now() - start;
    assert!(gap < Duration::from_secs(2), "{gap:?}");
    second.stop.cancel();
    control_plane.stop()
}

#[tokio::test]
async fn strangers_who_write_into_the_lease_are_survived() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let leases = leases(&control_plane.client());
    let leader = Replica::start(&control_plane).await?;
    assert!(leader.election.leadership.wait_until_leading().await);
    let edit = async |patch| {
        leases
            .patch(LEASE_NAME, &PatchParams::default(), &Patch::Merge(patch))
            .await
    };
    for number in 0..100 {
        edit(json!({"metadata": {"annotations": {"edited": number.to_string()}}})).await?;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    edit(json!({"spec": {"leaseDurationSeconds": 1_000_000_000}})).await?;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(leader.leads());
    let spec = leases.get(LEASE_NAME).await?.spec.unwrap_or_default();
    assert_eq!(spec.lease_duration_seconds, Some(5));

    let standby = Replica::start(&control_plane).await?;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    leases.delete(LEASE_NAME, &DeleteParams::default()).await?;
    let lost = leader.election.ended.await??;
    assert_eq!(lost, Outcome::Lost(Loss::TakenOver));
    assert!(!standby.leads(), "a deleted lease is waited out");
    assert!(standby.election.leadership.wait_until_leading().await);
    standby.stop.cancel();
    control_plane.stop()
}

/// Polls the watches of nodes and pods, and notes their progress as the live adapters do.
fn follow(client: &Client) -> WatchProgress {
    let progress = WatchProgress::new([NODES, PODS]);
    follow_one::<objects::Node>(client, &progress);
    follow_one::<objects::Pod>(client, &progress);
    progress
}

fn follow_one<K: Streamed>(client: &Client, progress: &WatchProgress) {
    let (send, mut events) = mpsc::channel(64);
    let (lists, asked) = watch::channel(0);
    let watch = StreamedWatch {
        client: client.clone(),
        timeout: Duration::from_secs(200),
        lists: asked,
        leadership: Leadership::always(),
        progress: progress.clone(),
        metrics: Metrics::default().watches,
        clock: Clock::system(),
    };
    tokio::spawn(watch.run::<K>(send, CancellationToken::new()));
    tokio::spawn(async move {
        let _open = lists;
        while events.recv().await.is_some() {}
    });
}

async fn time_to_pass(client: &Client, progress: &WatchProgress) -> anyhow::Result<Duration> {
    let clock = Clock::system();
    let start = clock.now();
    barrier::pass(client, progress, &clock, barrier::TIMEOUT).await?;
    Ok(clock.now() - start)
}

#[tokio::test]
async fn the_barrier_passes_at_once_on_a_quiet_cluster() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let progress = follow(&client);
    time_to_pass(&client, &progress).await?;
    create::nodes(&client, vec![make_node("n1").build()]).await?;
    create::pods(&client, vec![make_pod("p1").build()]).await?;
    // Versions go on, but neither nodes nor pods have a part in it.
    for number in 0..20 {
        let namespace = json!({"metadata": {"annotations": {"edited": number.to_string()}}});
        Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone())
            .patch("default", &PatchParams::default(), &Patch::Merge(namespace))
            .await?;
    }
    let passed = time_to_pass(&client, &progress).await?;
    assert!(passed < Duration::from_secs(1), "{passed:?}");
    control_plane.stop()
}

#[tokio::test]
async fn the_barrier_passes_on_a_quiet_cluster_too_large_to_be_read_as_a_whole()
-> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let nodes = (0..5_200).map(|number| make_node(&format!("n{number}")).build());
    create::nodes(&client, nodes.collect()).await?;
    let progress = follow(&client);
    time_to_pass(&client, &progress).await?;
    create::pods(&client, vec![make_pod("p1").build()]).await?;
    let passed = time_to_pass(&client, &progress).await?;
    assert!(passed < barrier::TIMEOUT, "{passed:?}");
    control_plane.stop()
}
