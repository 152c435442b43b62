//! The main job on a real API server: the chart is installed, two replicas schedule a mixed
//! workload, the leader is killed half-way, and the API server's own history proves that nothing
//! was lost, bound twice or over-committed.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the demo talks to a person"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "real processes live in real time"
)]

#[path = "../harness/mod.rs"]
mod harness;
mod judge;
mod report;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use harness::bayplan::{Installation, Replica};
use harness::builders::make_priority_class;
use harness::control_plane::{ControlPlane, Options};
use harness::history::History;
use harness::kubelet::FakeKubelet;
use harness::process::Signal;
use harness::{create, interruptible, wait};
use kube::Api;
use kube::api::PostParams;
use report::{Failover, Measured};
use workload::{Expected, HIGH_PRIORITY, Planned};

/// For everything that takes a while on a slow machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// What the demo is asked to do.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// Nodes in the cluster.
    #[arg(long, default_value_t = 200)]
    nodes: usize,
    /// Pods in all.
    #[arg(long, default_value_t = 2000)]
    pods: usize,
    /// Leave everything running and say how to reach it.
    #[arg(long)]
    keep: bool,
    /// The scheduler.
    #[arg(long)]
    binary: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    interruptible::run("demo", demo(&arguments)).await
}

fn say(text: &str) {
    println!("demo: {text}");
}

async fn demo(arguments: &Arguments) -> anyhow::Result<bool> {
    say("starting etcd and kube-apiserver");
    let options = Options {
        keep: arguments.keep,
        ..Options::default()
    };
    let control_plane = ControlPlane::start(options).await?;
    say("installing the chart with helm into kube-system");
    let installation = Installation::install(&control_plane, &arguments.binary, &[]).await?;
    let mut stage = Stage::set(control_plane, installation, arguments).await?;
    let killed = stage.fail_over(Signal::Kill).await?;
    let terminated = stage.fail_over(Signal::Term).await?;
    let measured = stage.finish(vec![killed, terminated]).await?;
    let passed = report::print(&measured);
    if arguments.keep {
        stage.keep()?;
    }
    Ok(passed)
}

/// Everything that runs.
struct Stage {
    control_plane: ControlPlane,
    installation: Installation,
    replicas: Vec<Replica>,
    history: History,
    kubelet: FakeKubelet,
    planned: Vec<Planned>,
    /// Pods that are still to come, in batches.
    batches: Vec<Vec<Planned>>,
    usage: Vec<harness::process::Usage>,
    started: Instant,
}

impl Stage {
    /// Nodes, two replicas, and the first half of the pods, bound.
    async fn set(
        control_plane: ControlPlane,
        installation: Installation,
        arguments: &Arguments,
    ) -> anyhow::Result<Self> {
        let client = control_plane.client();
        let history = History::start(client.clone()).await?;
        let kubelet = FakeKubelet::start(client.clone());
        say(&format!("creating {} nodes", arguments.nodes));
        create::nodes(&client, workload::nodes(arguments.nodes)).await?;
        let (class, value) = HIGH_PRIORITY;
        Api::all(client.clone())
            .create(&PostParams::default(), &make_priority_class(class, value))
            .await?;
        say("starting two replicas as the chart's ServiceAccount");
        let mut replicas = Vec::new();
        for _ in 0..2 {
            replicas.push(installation.start(&control_plane).await?);
        }
        installation
            .wait_for_leader(&control_plane, &replicas, PATIENCE)
            .await?;
        let all = workload::pods(arguments.nodes, "pod", arguments.pods);
        let quarter = (arguments.pods / 4).max(1);
        let (first, rest) = all.split_at((arguments.pods / 2).min(all.len()));
        let (second, third) = rest.split_at(quarter.min(rest.len()));
        let mut stage = Self {
            control_plane,
            installation,
            replicas,
            history,
            kubelet,
            planned: Vec::new(),
            batches: vec![third.to_vec(), second.to_vec()],
            usage: Vec::new(),
            started: Instant::now(),
        };
        stage.submit(first.to_vec()).await?;
        stage.until_bound().await?;
        Ok(stage)
    }

    async fn submit(&mut self, pods: Vec<Planned>) -> anyhow::Result<()> {
        say(&format!("creating {} pods", pods.len()));
        let objects = pods
            .iter()
            .map(|planned| planned.pod.clone().build())
            .collect();
        self.planned.extend(pods);
        create::pods(&self.control_plane.client(), objects).await?;
        Ok(())
    }

    fn to_be_bound(&self) -> usize {
        self.planned
            .iter()
            .filter(|pod| pod.expected == Expected::Bound)
            .count()
    }

    /// Waits until every pod that fits has a node, and says how far it is.
    async fn until_bound(&self) -> anyhow::Result<()> {
        let wanted = self.to_be_bound();
        let mut said = Instant::now();
        wait::until("all pods that fit to be bound", PATIENCE, async || {
            let bound = self.history.bound_pods();
            if said.elapsed() > Duration::from_secs(1) || bound == wanted {
                say(&format!("{bound} of {wanted} pods that fit are bound"));
                said = Instant::now();
            }
            Ok((bound >= wanted).then_some(()))
        })
        .await
    }

    /// Ends the leader by `signal` while pods arrive, and measures how long nothing is bound.
    async fn fail_over(&mut self, signal: Signal) -> anyhow::Result<Failover> {
        let leader = self
            .installation
            .wait_for_leader(&self.control_plane, &self.replicas, PATIENCE)
            .await?;
        let mut replica = self.replicas.remove(leader);
        self.usage.push(replica.process.usage()?);
        let batch = self.batches.pop().unwrap_or_default();
        let name = if signal == Signal::Kill {
            "SIGKILL"
        } else {
            "SIGTERM"
        };
        say(&format!("{name} to the leader {}", replica.identity));
        let at = jiff::Timestamp::now();
        replica.process.signal(signal)?;
        // The pods arrive while nobody leads.
        self.submit(batch).await?;
        let status = replica.process.wait(PATIENCE).await?;
        self.replicas
            .push(self.installation.start(&self.control_plane).await?);
        self.until_bound().await?;
        let binds = self.control_plane.audit_log().binds()?;
        let mut after: Vec<_> = binds
            .iter()
            .filter(|bind| bind.succeeded() && bind.answered > at)
            .filter(|bind| !bind.issuer.user_agent.contains(&replica.identity))
            .collect();
        after.sort_by_key(|bind| bind.answered);
        let first = after
            .first()
            .context("nobody bound a pod after the leader ended")?;
        let gap = Duration::try_from(first.answered.duration_since(at)).unwrap_or_default();
        Ok(Failover {
            signal: name,
            gap,
            exit_code: status.code(),
        })
    }

    /// Lets everything come to rest and collects what the API server knows.
    async fn finish(&mut self, failovers: Vec<Failover>) -> anyhow::Result<Measured> {
        let client = self.control_plane.client();
        say("waiting until the reasons of the other pods are written");
        let refused: Vec<&Planned> = self
            .planned
            .iter()
            .filter(|pod| pod.expected != Expected::Bound)
            .collect();
        wait::until(
            "the conditions of pods that fit nowhere",
            PATIENCE,
            async || {
                let fates = judge::Fates::read(&client).await?;
                Ok(refused
                    .iter()
                    .all(|pod| fates.of(&pod.name).refusal.is_some())
                    .then_some(()))
            },
        )
        .await?;
        let elapsed = self.started.elapsed();
        say("asking kube-scheduler what it says of the pods that fit nowhere");
        let said = judge::refusals(&self.control_plane, &self.planned, PATIENCE).await?;
        let fates = judge::Fates::read(&client).await?;
        self.history.settle(PATIENCE).await?;
        self.history.is_complete()?;
        for replica in &self.replicas {
            self.usage.push(replica.process.usage()?);
        }
        Ok(Measured {
            planned: self.planned.clone(),
            fates,
            said,
            findings: report::findings(&self.history, &self.control_plane)?,
            failovers,
            usage: self.usage.clone(),
            elapsed,
        })
    }

    fn keep(mut self) -> anyhow::Result<()> {
        let servers = self.control_plane.processes();
        let mut pids: Vec<String> = servers
            .iter()
            .map(|server| server.id().to_string())
            .collect();
        for replica in self.replicas {
            pids.push(replica.process.id().to_string());
            replica.process.detach()?;
        }
        drop(self.kubelet);
        let kubeconfig = self.control_plane.kubeconfig();
        let folder = self.control_plane.detach()?;
        say(&format!(
            "kept running; reach it with: kubectl --kubeconfig {} get pods",
            kubeconfig.display()
        ));
        say(&format!(
            "stop it with: kill {}; rm -r {}",
            pids.join(" "),
            folder.display()
        ));
        Ok(())
    }
}
