//! `/livez` and `/readyz`: named checks, listed as Kubernetes components list them.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::leadership::heartbeat::Heartbeat;

/// A loop that was silent this long hangs: it turns every second, and a cycle of the largest
/// clusters takes milliseconds.
const LOOP_SILENCE_MAX: Duration = Duration::from_secs(30);

/// A leader whose lease ran out this long ago and who is still here hangs (the watchdog adaptor of
/// kube-scheduler allows 20 s).
const LEASE_OVERDUE_MAX: Duration = Duration::from_secs(20);

/// What the checks look at.
#[derive(Clone, Debug)]
pub struct Health {
    /// Of the loop.
    pub heartbeat: Heartbeat,
    /// Of this replica.
    pub leadership: Leadership,
    /// Everything was listed once.
    pub synced: watch::Receiver<bool>,
    /// The process is on its way out.
    pub shutdown: CancellationToken,
}

/// A check: its name, and what is wrong if something is.
pub(super) type Check = (&'static str, Result<(), String>);

impl Health {
    /// The loop turns, and a leadership that ran out has ended.
    pub(super) fn live(&self) -> Vec<Check> {
        vec![
            ("ping", Ok(())),
            ("scheduling-loop", self.loop_turns()),
            ("leaderElection", self.lease_is_current()),
        ]
    }

    /// Everything was listed, and the process is not ending. A standby is ready too.
    pub(super) fn ready(&self) -> Vec<Check> {
        let synced = if *self.synced.borrow() {
            Ok(())
        } else {
            Err("nodes, pods, namespaces and profiles are not all listed yet".to_owned())
        };
        let running = if self.shutdown.is_cancelled() {
            Err("the process is shutting down".to_owned())
        } else {
            Ok(())
        };
        vec![
            ("informer-sync", synced),
            ("shutdown", running),
            ("scheduling-loop", self.loop_turns()),
        ]
    }

    fn lease_is_current(&self) -> Result<(), String> {
        let overdue = self.leadership.overdue();
        if overdue < LEASE_OVERDUE_MAX {
            return Ok(());
        }
        Err(format!(
            "the lease ran out {} s ago and the elector hangs",
            overdue.as_secs()
        ))
    }

    fn loop_turns(&self) -> Result<(), String> {
        let age = self.heartbeat.age();
        if age < LOOP_SILENCE_MAX {
            return Ok(());
        }
        Err(format!(
            "the scheduling loop has not turned for {} s",
            age.as_secs()
        ))
    }
}

/// `ok`, or the list of checks with what is wrong.
pub(super) fn answer(name: &str, checks: Vec<Check>) -> Response {
    if checks.iter().all(|(_, result)| result.is_ok()) {
        return (StatusCode::OK, "ok").into_response();
    }
    let mut lines = Vec::new();
    for (check, result) in checks {
        match result {
            Ok(()) => lines.push(format!("[+]{check} ok\n")),
            Err(reason) => lines.push(format!("[-]{check} failed: {reason}\n")),
        }
    }
    lines.push(format!("{name} check failed\n"));
    (StatusCode::INTERNAL_SERVER_ERROR, lines.concat()).into_response()
}
