//! Who binds the pods.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::arena::Arena;
use crate::harness::process::{Process, Signal, Usage};

/// For the end of a scheduler that was asked to.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contestant {
    /// A loop that POSTs bindings and does nothing else.
    BindLoop,
    /// A loop that POSTs a binding and an event for each pod.
    BindEventLoop,
    /// kube-scheduler without the limit of its client.
    KubeScheduler,
    /// kube-scheduler as it comes, with 50 requests a second.
    KubeSchedulerDefaults,
    /// Bayplan.
    Bayplan,
}

impl Contestant {
    /// In the order in which they are measured.
    pub(crate) const ALL: [Self; 5] = [
        Self::BindLoop,
        Self::BindEventLoop,
        Self::KubeScheduler,
        Self::KubeSchedulerDefaults,
        Self::Bayplan,
    ];

    /// What it is called in arguments and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BindLoop => "bind-loop",
            Self::BindEventLoop => "bind-event-loop",
            Self::KubeScheduler => "kube-scheduler",
            Self::KubeSchedulerDefaults => "kube-scheduler-defaults",
            Self::Bayplan => "bayplan",
        }
    }

    /// What the pods name as their scheduler.
    pub(crate) fn scheduler_name(self) -> &'static str {
        match self {
            Self::BindLoop | Self::BindEventLoop => "bare-loop",
            Self::KubeScheduler | Self::KubeSchedulerDefaults => "default-scheduler",
            Self::Bayplan => "bayplan",
        }
    }

    /// Starts a scheduler; none for the loops.
    pub(crate) async fn start(self, arena: &Arena) -> anyhow::Result<Option<Scheduler>> {
        let (qps, burst) = match self {
            Self::BindLoop | Self::BindEventLoop => return Ok(None),
            Self::Bayplan => {
                let replica = arena.installation().start(arena.control_plane()).await?;
                return Ok(Some(Scheduler(replica.process)));
            }
            Self::KubeScheduler => (5000, 10_000),
            // The defaults of `clientConnection`.
            Self::KubeSchedulerDefaults => (50, 100),
        };
        let control_plane = arena.control_plane();
        let configuration = json!({"clientConnection": {"qps": qps, "burst": burst}});
        let kubeconfig = control_plane.kubeconfig();
        let process = control_plane.kube_scheduler(configuration, &kubeconfig)?;
        Ok(Some(Scheduler(process)))
    }
}

/// A running scheduler.
#[derive(Debug)]
pub(crate) struct Scheduler(Process);

impl Scheduler {
    /// What it has used so far.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        self.0.usage()
    }

    /// Fails with the last words of a scheduler that has ended.
    pub(crate) fn ensure_running(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.0.exit_status()? {
            let (name, tail) = (self.0.name(), self.0.log_tail(20));
            anyhow::bail!("{name} has ended ({status}):\n{tail}");
        }
        Ok(())
    }

    /// The last lines of its log.
    pub(crate) fn log_tail(&self) -> String {
        self.0.log_tail(20)
    }

    /// Lets it end as in a cluster: what it holds is given back.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.ensure_running()?;
        self.0.signal(Signal::Term)?;
        self.0.wait(PATIENCE).await?;
        Ok(())
    }
}
