//! The dispatcher against a fake API server, on paused time.

mod bindings;
mod doubt;
mod evictions;
mod fake_api;
mod load;
mod status;
mod volumes;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::effect::{
    ConditionPatch, Effect, EffectAction, EffectId, EffectOutcome, FailureKind, StatusPatch,
};
use crate::kubernetes::clock::Clock;
use crate::kubernetes::dispatcher::tests::fake_api::FakeApi;
use crate::kubernetes::dispatcher::{Completion, DONE, DispatcherHandle, new};
use crate::kubernetes::extender::Extenders;
use crate::kubernetes::leadership::{Leadership, Standing, Tenure, Term};
use crate::metrics::Metrics;
use crate::model::pod_info::{PodKey, PodUid};

/// Longer than any test takes.
const LONG: Duration = Duration::from_hours(1);

/// A dispatcher that runs, with the server it writes to. Its replica leads.
struct Rig {
    api: FakeApi,
    clock: Clock,
    started: Instant,
    standing: watch::Sender<Standing>,
    handle: DispatcherHandle,
    completions: mpsc::UnboundedReceiver<Completion>,
    stop: CancellationToken,
    running: JoinHandle<Result<(), JoinError>>,
    submitted: u64,
}

impl Rig {
    /// The server knows the pod `p`, whose UID is `uid-p`.
    fn start() -> Self {
        let (api, clock) = (FakeApi::new(), Clock::steady());
        api.add_pod("p");
        let standing = watch::Sender::new(Standing::Standby);
        let leadership = Leadership::elected(clock.clone(), standing.subscribe());
        let metrics = Metrics::default().dispatcher;
        let extenders = Extenders::new(api.client());
        let (handle, dispatcher, completions) =
            new(api.client(), extenders, leadership, clock.clone(), metrics);
        let stop = CancellationToken::new();
        let running = tokio::spawn(dispatcher.run(stop.clone()));
        let rig = Self {
            api,
            started: clock.now(),
            clock,
            standing,
            handle,
            completions,
            stop,
            running,
            submitted: 0,
        };
        rig.lead_for(LONG);
        rig
    }

    /// The leadership, unless it is renewed, ends this long from now.
    fn lead_for(&self, left: Duration) {
        let term = Term {
            lease_uid: "lease".into(),
            transitions: 7,
        };
        let tenure = Tenure::new(term, self.clock.now() + left, self.clock.mark());
        self.standing.send_replace(Standing::Leading(tenure));
    }

    fn submit(&mut self, pod: &str, action: EffectAction) -> EffectId {
        self.submitted += 1;
        let id = EffectId(self.submitted);
        self.handle.submit(Effect {
            id,
            pod: PodKey {
                namespace: "ns".into(),
                name: pod.into(),
            },
            profile: "bayplan".into(),
            uid: PodUid(format!("uid-{pod}").into()),
            action,
        });
        id
    }

    async fn completion(&mut self) -> (EffectId, EffectOutcome) {
        let completion = self.completions.recv().await.unwrap();
        (completion.id, completion.outcome)
    }

    /// The outcome of an effect on pod `p` that is alone.
    async fn outcome(&mut self, action: EffectAction) -> EffectOutcome {
        let id = self.submit("p", action);
        let (completed, outcome) = self.completion().await;
        assert_eq!(completed, id);
        outcome
    }

    fn elapsed(&self) -> Duration {
        self.clock.now() - self.started
    }
}

fn bind(node: &str) -> EffectAction {
    EffectAction::Bind { node: node.into() }
}

fn condition(message: &str) -> EffectAction {
    let condition = ConditionPatch {
        reason: "Unschedulable",
        message: message.to_owned(),
        observed_generation: 3,
        is_new: true,
    };
    EffectAction::PatchStatus(StatusPatch {
        condition: Some(condition),
        nominated_node: None,
    })
}

fn nomination(node: &str) -> EffectAction {
    EffectAction::PatchStatus(StatusPatch {
        condition: None,
        nominated_node: Some(Arc::from(node)),
    })
}

/// The kind of a failure; everything else is a failed test.
fn failure(outcome: EffectOutcome) -> FailureKind {
    match outcome {
        EffectOutcome::Failed(failure) => failure.kind,
        other => panic!("a failure was expected, not {other:?}"),
    }
}

fn message(outcome: EffectOutcome) -> String {
    match outcome {
        EffectOutcome::Failed(failure) => failure.message,
        other => panic!("a failure was expected, not {other:?}"),
    }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
