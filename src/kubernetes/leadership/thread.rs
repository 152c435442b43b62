//! Runs the elector on a thread of its own, so that neither a long scheduling cycle nor a busy runtime delays a renewal.

use std::io;

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::kubernetes::{
    clock::Clock,
    leadership::{
        Leadership, Standing,
        elector::{Elector, Outcome},
        heartbeat::Heartbeat,
        settings::{ElectionSettings, InvalidElectionSettings},
        stats::ElectionStats,
    },
};

/// A running election.
#[derive(Debug)]
pub struct Election {
    /// Whether this replica leads.
    pub leadership: Leadership,
    /// Resolves when the election has ended. A receive error means that the elector panicked: end the process.
    pub ended: oneshot::Receiver<Result<Outcome, ElectionError>>,
}

/// Why an election could not start.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    /// Durations or identity.
    #[error("invalid leader election settings")]
    Settings(#[from] InvalidElectionSettings),
    /// The thread or its runtime.
    #[error("failed to start the leader election thread")]
    Thread(#[source] io::Error),
    /// The client for the Lease.
    #[error("failed to build the client for the lease")]
    Client(#[source] kube::Error),
}

/// Starts the election. `config` is copied and its client never retries by itself; cancelling `stop` gives the Lease
/// back, so stop writing first.
pub fn start(
    config: &kube::Config,
    settings: ElectionSettings,
    clock: Clock,
    heartbeat: Heartbeat,
    stats: ElectionStats,
    stop: CancellationToken,
) -> Result<Election, ElectionError> {
    settings.validate()?;
    let mut config = config.clone();
    config.default_retry = false;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ElectionError::Thread)?;
    let standing = watch::Sender::new(Standing::Standby);
    let leadership = Leadership::elected(clock.clone(), standing.subscribe());
    let (report, ended) = oneshot::channel();
    let elect = async move {
        // Connections and the client's queue are driven by the runtime that the client is built in.
        let client = kube::Client::try_from(config).map_err(ElectionError::Client)?;
        let elector = Elector::new(&client, settings, clock, heartbeat, stats, standing);
        Ok(elector.run(stop).await)
    };
    std::thread::Builder::new()
        .name("leadership".to_owned())
        .spawn(move || {
            let outcome = runtime.block_on(elect);
            // Nobody listens any more when the process is already ending.
            let _ = report.send(outcome);
        })
        .map_err(ElectionError::Thread)?;
    Ok(Election { leadership, ended })
}
