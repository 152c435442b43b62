//! After a panic in a cycle or in taking in an object: one object is set aside and the engine is
//! rebuilt from the stores. A second panic within a minute ends the process.

use std::any::Any;
use std::time::Duration;

use tokio::time::timeout;
use tracing::error;

use crate::engine::effect::{EventKind, EventRecord};
use crate::engine::event::ClusterEvent;
use crate::kubernetes::driver::{Driver, Phase};
use crate::kubernetes::events::PodEvent;

/// Two panics within this time end the process.
const PANIC_WINDOW: Duration = Duration::from_mins(1);
/// Bindings that are under way get this long to end before the engine is rebuilt: it would not know
/// of the room they take. No call takes longer than its own limit of 4 s.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);

impl Driver {
    /// Tells whether the loop may go on.
    pub(super) async fn recover(&mut self, text: String) -> bool {
        let now = self.config.clock.now();
        let again = self
            .last_panic
            .is_some_and(|last| now.duration_since(last) < PANIC_WINDOW);
        self.last_panic = Some(now);
        let culprit = self.engine.current_attempt().cloned();
        let pod = culprit
            .as_ref()
            .map(|(key, _)| key.to_string())
            .unwrap_or_default();
        if again {
            error!(%pod, panic = %text, "second panic within a minute: ending the process");
            return false;
        }
        error!(%pod, panic = %text, "a cycle panicked: the pod is set aside and the engine rebuilt");
        self.config.metrics.engine_restarted();
        if let Some((pod, uid)) = culprit {
            self.set_aside.insert(uid.clone());
            let record = EventRecord {
                kind: EventKind::Warning,
                reason: "FailedScheduling",
                action: "Scheduling",
                note: format!(
                    "scheduling this pod made the scheduler panic ({text}); it is not tried again \
                     until it is created anew: please report this"
                ),
                reporting_controller: "bayplan".into(),
            };
            self.config.events.record(PodEvent { pod, uid, record });
        }
        let _ = timeout(SETTLE_LIMIT, self.config.dispatcher.wait_until_idle()).await;
        self.engine = self.engine.successor();
        self.phase = Phase::Standby;
        self.engine
            .handle(ClusterEvent::NodesResynced(self.inputs.all_nodes()));
        let profiles = std::sync::Arc::clone(&self.profiles);
        self.apply_profiles(profiles);
        true
    }
}

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
        .chars()
        .take(256)
        .collect()
}
