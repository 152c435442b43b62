//! The status of profiles, written by the leader alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::apis::scheduler_profile::{PendingPods, SchedulerProfile, SchedulerProfileStatus};
use crate::engine::queue::Place;
use crate::kubernetes::clock::Clock;
use crate::kubernetes::driver::Pending;
use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::profiles::conditions::conditions;
use crate::kubernetes::profiles::{Judged, JudgedProfiles};

/// Server-side apply under one name, so that the next leader takes over the fields.
const FIELD_MANAGER: &str = "bayplan-leader";

/// Pending counts change with every pod; they are written this often at most.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// Writes the status of profiles.
pub struct StatusWriter {
    /// For writes.
    pub client: Client,
    /// Whether this replica leads.
    pub leadership: Leadership,
    /// Who writes.
    pub identity: String,
    /// The time.
    pub clock: Clock,
    /// What is thought of the objects.
    pub judged: watch::Receiver<Arc<JudgedProfiles>>,
    /// Generations in force by `schedulerName`.
    pub active: watch::Receiver<BTreeMap<Arc<str>, i64>>,
    /// Pending pods.
    pub pending: watch::Receiver<Pending>,
}

impl StatusWriter {
    /// Writes what changed, until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                Ok(()) = self.judged.changed() => {}
                Ok(()) = self.active.changed() => {}
                () = sleep(WRITE_INTERVAL) => {}
            }
            let judged = Arc::clone(&self.judged.borrow_and_update());
            for (name, profile) in judged.iter() {
                self.write(name, profile).await;
            }
        }
    }

    async fn write(&self, name: &str, judged: &Judged) {
        let wanted = self.wanted(judged);
        if judged.object.status.as_ref() == Some(&wanted) {
            return;
        }
        let Some(limit) = self.leadership.write_timeout() else {
            return;
        };
        let body = json!({
            "apiVersion": "bayplan.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": name, "uid": judged.object.metadata.uid},
            "status": wanted,
        });
        let api: Api<SchedulerProfile> = Api::all(self.client.clone());
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        match timeout(
            limit,
            api.patch_status(name, &parameters, &Patch::Apply(body)),
        )
        .await
        {
            Ok(Ok(_)) => {}
            Ok(Err(kube::Error::Api(status))) if [404, 409].contains(&status.code) => {}
            Ok(Err(error)) => {
                warn!(profile = name, %error, "status of the profile was not written");
            }
            Err(_) => warn!(
                profile = name,
                ?limit,
                "status of the profile was not written in time"
            ),
        }
    }

    fn wanted(&self, judged: &Judged) -> SchedulerProfileStatus {
        let scheduler = judged.object.spec.scheduler_name.as_str();
        // A profile that lost its schedulerName to an older one is not active, whatever runs there.
        let active = judged
            .running
            .as_ref()
            .and_then(|_| self.active.borrow().get(scheduler).copied());
        let pending = self.pending.borrow();
        let counts = pending.get(scheduler).filter(|_| judged.running.is_some());
        let count = |place| {
            let count = counts
                .and_then(|counts| counts.get(&place))
                .copied()
                .unwrap_or(0);
            i64::try_from(count).unwrap_or(i64::MAX)
        };
        let now = jiff::Timestamp::from_second(self.clock.timestamp().as_micros() / 1_000_000);
        SchedulerProfileStatus {
            observed_generation: judged.object.metadata.generation,
            conditions: conditions(judged, active, &Time(now.unwrap_or_default())),
            pending_pods: Some(PendingPods::new(
                count(Place::Active) + count(Place::InFlight),
                count(Place::Backoff),
                count(Place::Unschedulable),
                count(Place::Gated),
            )),
            leader: Some(self.identity.clone()),
        }
    }
}

impl std::fmt::Debug for StatusWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusWriter").finish_non_exhaustive()
    }
}
