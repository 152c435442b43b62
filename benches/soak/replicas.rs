//! The leader and the standby.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;

use crate::arena::Arena;
use crate::harness::bayplan::Replica;

/// Until one of them leads.
const PATIENCE: Duration = Duration::from_mins(2);

/// Two replicas. Who loses the leadership ends, so they never change places.
pub(crate) struct Replicas {
    pub(crate) leader: Replica,
    pub(crate) standby: Replica,
}

impl Replicas {
    /// Starts both and waits until one leads.
    pub(crate) async fn start(arena: &Arena) -> anyhow::Result<Self> {
        let (installation, control_plane) = (arena.installation(), arena.control_plane());
        let mut both = [
            installation.start(control_plane).await?,
            installation.start(control_plane).await?,
        ];
        let leader = installation
            .wait_for_leader(control_plane, &both, PATIENCE)
            .await?;
        both.rotate_left(leader);
        let [leader, standby] = both;
        Ok(Self { leader, standby })
    }

    /// Fails with the last words of one that has ended.
    pub(crate) fn ensure_running(&mut self) -> anyhow::Result<()> {
        let both = [("leader", &mut self.leader), ("standby", &mut self.standby)];
        for (role, replica) in both {
            if let Some(status) = replica.process.exit_status()? {
                let tail = replica.process.log_tail(20);
                bail!("the {role} has ended ({status}):\n{tail}");
            }
        }
        Ok(())
    }

    /// Fails if a pod was placed that only the periodic flush had woken.
    pub(crate) async fn check_hints(&self, kubeconfig: &Path) -> anyhow::Result<()> {
        self.leader.check_hints(kubeconfig).await?;
        self.standby.check_hints(kubeconfig).await
    }
}
