//! Where a script has left its pods, and what they were told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;

use crate::harness::wait;
use crate::stage::{PATIENCE, SCOUT, Stage};

/// Events of one pod are written side by side, by both schedulers: what was said before may come
/// after. Nothing new for this long is taken for the end.
const QUIET: Duration = Duration::from_millis(500);

/// An ending that is not as expected may be one that is not there yet, on a busy machine.
const LATE: Duration = Duration::from_secs(10);

/// The end of a script. Names of schedulers and UIDs of pods are left out: they must differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pods: BTreeMap<String, PodEnding>,
    /// Pod, reason and note of what the scheduler said. Of what it said of a pod that did not fit,
    /// the first: how often it looks again, and when, is its own affair.
    events: BTreeSet<[String; 3]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PodEnding {
    node: Option<String>,
    nominated: Option<String>,
    is_leaving: bool,
    /// Type, status, reason and message of those that a scheduler sets.
    conditions: BTreeSet<[String; 4]>,
}

impl Ending {
    /// As it is once every placement has been told and nothing more is said.
    pub(crate) async fn read(stage: &Stage) -> anyhow::Result<Self> {
        let mut last = None;
        let mut since = tokio::time::Instant::now();
        wait::until("events of all placements", PATIENCE, async || {
            let ending = Self::read_now(stage).await?;
            if last.as_ref() != Some(&ending) {
                last = Some(ending.clone());
                since = tokio::time::Instant::now();
            }
            let is_whole = ending.tells_all_placements() && since.elapsed() >= QUIET;
            Ok(is_whole.then_some(ending))
        })
        .await
    }

    /// As it is once it is as expected, or else once nothing more is said.
    pub(crate) async fn read_expecting(stage: &Stage, expected: &Self) -> anyhow::Result<Self> {
        let mut ending = Self::read(stage).await?;
        let late = tokio::time::Instant::now() + LATE;
        while !expected.differences(&ending).is_empty() && tokio::time::Instant::now() < late {
            ending = Self::read(stage).await?;
        }
        Ok(ending)
    }

    fn tells_all_placements(&self) -> bool {
        let mut placed = self.pods.iter().filter(|(_, pod)| pod.is_placed());
        placed.all(|(name, _)| {
            let mut told = self.events.iter();
            told.any(|[pod, reason, _]| pod == name && reason == "Scheduled")
        })
    }

    async fn read_now(stage: &Stage) -> anyhow::Result<Self> {
        let pods = stage.api::<Pod>().list(&ListParams::default()).await?;
        let events = stage.api::<Event>().list(&ListParams::default()).await?;
        let mut said = events.items;
        said.retain(|event| event.reporting_controller.as_deref() == Some(stage.scheduler));
        said.sort_by_key(|event| event.event_time.clone());
        let mut refused = BTreeSet::new();
        let said = said.into_iter().filter_map(|event| {
            let pod = event.regarding.and_then(|regarding| regarding.name)?;
            let reason = event.reason.filter(|_| !pod.starts_with(SCOUT))?;
            let is_new = reason != "FailedScheduling" || refused.insert(pod.clone());
            let note = without_uids(&event.note.unwrap_or_default());
            is_new.then_some([pod, reason, note])
        });
        Ok(Self {
            events: said.collect(),
            pods: pods
                .items
                .into_iter()
                .map(|pod| (pod.name_any(), of(pod, stage)))
                .collect(),
        })
    }

    /// What differs, a line each.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let names: BTreeSet<_> = self.pods.keys().chain(other.pods.keys()).collect();
        for name in names {
            let (one, two) = (self.pods.get(name), other.pods.get(name));
            if one != two {
                lines.push(format!("{name}: kube-scheduler {one:?}, Bayplan {two:?}"));
            }
        }
        for event in self.events.difference(&other.events) {
            lines.push(format!("only kube-scheduler says {event:?}"));
        }
        for event in other.events.difference(&self.events) {
            lines.push(format!("only Bayplan says {event:?}"));
        }
        lines
    }
}

impl PodEnding {
    /// By a scheduler: pods that were created on their nodes have no such condition.
    fn is_placed(&self) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|[kind, status, ..]| kind == "PodScheduled" && status == "True")
    }
}

fn of(pod: Pod, stage: &Stage) -> PodEnding {
    let is_leaving = pod.metadata.deletion_timestamp.is_some();
    let status = pod.status.unwrap_or_default();
    let conditions = status.conditions.into_iter().flatten();
    let ours = conditions.filter(|c| ["PodScheduled", "DisruptionTarget"].contains(&&*c.type_));
    PodEnding {
        node: pod.spec.and_then(|spec| spec.node_name),
        nominated: status.nominated_node_name,
        is_leaving,
        conditions: ours.map(|condition| text(condition, stage)).collect(),
    }
}

fn text(condition: PodCondition, stage: &Stage) -> [String; 4] {
    let message = condition.message.unwrap_or_default();
    [
        condition.type_,
        condition.status,
        condition.reason.unwrap_or_default(),
        message.replace(stage.scheduler, "SCHEDULER"),
    ]
}

/// A word of 36 letters with four dashes is a UID.
fn without_uids(note: &str) -> String {
    let words = note.split(' ').map(|word| {
        let is_uid = word.len() == 36 && word.matches('-').count() == 4;
        if is_uid { "UID" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}
