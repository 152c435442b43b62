//! After a panic in a cycle or in taking in an object: one object is set aside, and a new engine is
//! told everything again, from new lists. A second panic within a minute ends the process.
//!
//! The new engine does not know of the room that bindings under way take, and ignores their
//! completions. So it decides nothing before the dispatcher has nothing left to do and the watches
//! have caught up, as after a change of the leader.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tracing::error;

use crate::engine::Activity;
use crate::engine::effect::{EventKind, EventRecord};
use crate::engine::event::ClusterEvent;
use crate::kubernetes::driver::{Driver, Phase};
use crate::kubernetes::events::PodEvent;
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::{PodKey, PodUid};

/// Two panics within this time end the process.
const PANIC_WINDOW: Duration = Duration::from_mins(1);
/// Characters that are kept of what a panic says: the note of an event holds 1024 bytes.
const TEXT_MAX: usize = 200;

/// Two panics within a minute: the state cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{culprit} made the scheduler panic ({panic}), less than a minute after another panic: please \
     report this, and delete or change the object if the scheduler does not come up again"
)]
pub struct SecondPanic {
    /// The object that was being worked on: `pod NAMESPACE/NAME` or `node NAME`.
    pub culprit: String,
    /// What the panic says.
    pub panic: String,
}

/// An object that the engine is told of.
#[derive(Debug)]
pub(super) enum ToldObject {
    Pod(Arc<Pod>),
    Node(Arc<Node>),
}

impl ToldObject {
    /// The object of an event, if it has one.
    pub(super) fn of(event: &ClusterEvent) -> Option<Self> {
        match event {
            ClusterEvent::PodApplied(pod) | ClusterEvent::PodDeleted(pod) => {
                Some(Self::Pod(Arc::clone(pod)))
            }
            ClusterEvent::NodeApplied(node) | ClusterEvent::NodeDeleted(node) => {
                Some(Self::Node(Arc::clone(node)))
            }
            _ => None,
        }
    }
}

impl Driver {
    /// Goes on after a panic, if it is the first within a minute.
    pub(super) fn recover(&mut self, panic: &(dyn Any + Send)) -> Result<(), SecondPanic> {
        let (activity, panic) = (self.engine.activity(), panic_text(panic));
        let culprit = activity.as_ref().map_or_else(
            || "something other than a single object".to_owned(),
            culprit_text,
        );
        let now = self.config.clock.now();
        let last = self.last_panic.replace(now);
        if last.is_some_and(|last| now.duration_since(last) < PANIC_WINDOW) {
            return Err(SecondPanic { culprit, panic });
        }
        error!(
            culprit,
            panic, "panic: the object is set aside and the engine rebuilt"
        );
        self.config.metrics.engine_restarted();
        if let Some(activity) = activity {
            self.set_aside(activity, &panic);
        }
        catch_unwind(AssertUnwindSafe(|| self.rebuild())).or_else(|panic| self.recover(&*panic))
    }

    fn set_aside(&mut self, activity: Activity, panic: &str) {
        match activity {
            Activity::TakingInNode(_) => {
                if let Some(ToldObject::Node(node)) = &self.told {
                    self.set_aside.put_node(node);
                }
            }
            Activity::TakingInPod(key, uid) => {
                if let Some(ToldObject::Pod(pod)) = &self.told {
                    self.set_aside.put_pod(pod);
                }
                self.tell_of_panic(key, uid, panic);
            }
            Activity::Deciding(key, uid) => {
                if let Some(pod) = self.inputs.unbound_pods().get(&key, &uid) {
                    self.set_aside.put_undecidable(pod);
                }
                self.tell_of_panic(key, uid, panic);
            }
        }
    }

    fn tell_of_panic(&self, pod: PodKey, uid: PodUid, panic: &str) {
        let record = EventRecord {
            related: None,
            kind: EventKind::Warning,
            reason: "FailedScheduling",
            action: "Scheduling",
            note: format!(
                "this pod made the scheduler panic ({panic}); it is not tried again until it is \
                 changed: please report this"
            ),
            reporting_controller: "bayplan".into(),
        };
        self.config.events.record(PodEvent { pod, uid, record });
    }

    fn rebuild(&mut self) {
        self.engine = self.engine.successor();
        self.engine.tick(self.config.clock.timestamp());
        self.phase = Phase::Syncing;
        self.inputs.ask_for_lists();
        self.apply_profiles(Arc::clone(&self.profiles));
    }
}

fn culprit_text(activity: &Activity) -> String {
    match activity {
        Activity::TakingInNode(name) => format!("node {name}"),
        Activity::TakingInPod(key, _) | Activity::Deciding(key, _) => format!("pod {key}"),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
        .chars()
        .take(TEXT_MAX)
        .collect()
}
