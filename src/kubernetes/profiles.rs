//! `SchedulerProfile` objects: validation, last known good, activation, status.
//!
//! The objects are reconciled as a set, since two of them may claim one `schedulerName`; the older
//! one wins. A kube-runtime `Controller` would not tell of deletions, as profiles have no
//! finaliser (deleting one must never block), so the set is fed from the same kind of watch as
//! nodes and pods.

mod conditions;
mod status;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::apis::effective_profile::EffectiveProfile;
use crate::apis::profile_problem::{ProblemReason, ProfileProblem};
use crate::apis::scheduler_profile::SchedulerProfile;
use crate::engine::cache::listers::ObjectEvent;
use crate::model::symbols::Symbols;
use crate::plugins::registry::Registry;

pub use status::StatusWriter;

/// Profiles that run at most: their names are labels of metrics.
const PROFILES_MAX: usize = 64;

/// A profile that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningProfile {
    /// The name of the object.
    pub name: String,
    /// The generation that runs; older than the object's if that one is not valid.
    pub generation: i64,
    /// What it says.
    pub effective: EffectiveProfile,
}

/// What is thought of one object.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The object.
    pub object: Arc<SchedulerProfile>,
    /// What is wrong with its newest generation.
    pub problems: Vec<ProfileProblem>,
    /// What of it runs.
    pub running: Option<RunningProfile>,
}

/// All objects, judged.
pub type JudgedProfiles = BTreeMap<String, Judged>;

/// The set of profiles.
#[derive(Debug, Default)]
pub struct ProfileSet {
    objects: BTreeMap<String, Arc<SchedulerProfile>>,
    last_good: BTreeMap<String, LastGood>,
}

/// The newest valid generation of an object; kept by UID, since another object of the same name
/// owes nothing to it.
#[derive(Debug)]
struct LastGood {
    uid: Option<String>,
    generation: i64,
    effective: EffectiveProfile,
}

impl ProfileSet {
    /// Takes in what happened.
    pub fn apply(&mut self, event: ObjectEvent<SchedulerProfile>) {
        match event {
            ObjectEvent::Applied(profile) => {
                self.objects.insert(name(&profile), profile);
            }
            ObjectEvent::Deleted(profile) => {
                self.objects.remove(&name(&profile));
            }
            ObjectEvent::Resynced(profiles) => {
                self.objects = profiles.into_iter().map(|p| (name(&p), p)).collect();
            }
        }
        let objects = &self.objects;
        self.last_good.retain(|name, good| {
            objects
                .get(name)
                .is_some_and(|object| object.metadata.uid == good.uid)
        });
    }

    /// Judges all objects, the oldest first: it has the right to its `schedulerName`.
    pub fn judge(&mut self) -> JudgedProfiles {
        let mut order: Vec<_> = self
            .objects
            .iter()
            .map(|(n, o)| (n.clone(), Arc::clone(o)))
            .collect();
        order.sort_by_key(|(name, object)| {
            (
                object
                    .metadata
                    .creation_timestamp
                    .as_ref()
                    .map(|time| time.0),
                name.clone(),
            )
        });
        let mut judged = JudgedProfiles::new();
        let mut running: Vec<RunningProfile> = Vec::new();
        for (name, object) in order {
            let (problems, profile) = self.judge_one(&name, &object, &running);
            running.extend(profile.clone());
            judged.insert(
                name,
                Judged {
                    object,
                    problems,
                    running: profile,
                },
            );
        }
        judged
    }

    fn judge_one(
        &mut self,
        name: &str,
        object: &SchedulerProfile,
        others: &[RunningProfile],
    ) -> (Vec<ProfileProblem>, Option<RunningProfile>) {
        let generation = object.metadata.generation.unwrap_or(0);
        let conflicts = |effective: &EffectiveProfile| {
            effective.conflicts_with(others.iter().map(|o| (o.name.as_str(), &o.effective)))
        };
        let problems = match EffectiveProfile::try_new(&object.spec, &Registry) {
            Err(problems) => problems,
            Ok(effective) => {
                let mut problems = conflicts(&effective);
                problems.extend(build_problem(&effective, generation));
                problems.extend(too_many(others.len()));
                if problems.is_empty() {
                    let uid = object.metadata.uid.clone();
                    let good = LastGood {
                        uid,
                        generation,
                        effective,
                    };
                    self.last_good.insert(name.to_owned(), good);
                }
                problems
            }
        };
        let good = self
            .last_good
            .get(name)
            .filter(|good| conflicts(&good.effective).is_empty());
        let running = good.map(|good| RunningProfile {
            name: name.to_owned(),
            generation: good.generation,
            effective: good.effective.clone(),
        });
        (problems, running)
    }
}

/// Arguments can be well-formed and yet give no plugin.
fn build_problem(effective: &EffectiveProfile, generation: i64) -> Option<ProfileProblem> {
    let mut scratch = Symbols::new(0);
    let error = Registry.build(effective, generation, &mut scratch).err()?;
    Some(ProfileProblem::new(
        ProblemReason::InvalidPluginArgs,
        format!("spec.pluginConfig ({})", error.plugin),
        error.reason,
        "correct the arguments of the plugin",
    ))
}

fn too_many(running: usize) -> Option<ProfileProblem> {
    (running >= PROFILES_MAX).then(|| {
        ProfileProblem::new(
            ProblemReason::InvalidSpec,
            "metadata.name",
            format!("{PROFILES_MAX} profiles run already"),
            "delete profiles that are no longer used",
        )
    })
}

fn name(profile: &SchedulerProfile) -> String {
    profile.metadata.name.clone().unwrap_or_default()
}

/// Judges the set after every change and publishes what is to run, until `cancel`.
pub async fn reconcile(
    mut events: mpsc::Receiver<ObjectEvent<SchedulerProfile>>,
    judged: watch::Sender<Arc<JudgedProfiles>>,
    running: watch::Sender<Option<Arc<Vec<RunningProfile>>>>,
    cancel: CancellationToken,
) {
    let mut set = ProfileSet::default();
    let mut synced = false;
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = cancel.cancelled() => return,
        };
        let Some(event) = event else { return };
        synced |= matches!(event, ObjectEvent::Resynced(_));
        set.apply(event);
        if !synced {
            continue;
        }
        let profiles = set.judge();
        let to_run: Vec<RunningProfile> = profiles
            .values()
            .filter_map(|profile| profile.running.clone())
            .collect();
        log(&judged.borrow(), &profiles);
        running.send_if_modified(|before| {
            let changed = before.as_deref() != Some(&to_run);
            if changed {
                *before = Some(Arc::new(to_run));
            }
            changed
        });
        judged.send_replace(Arc::new(profiles));
    }
}

/// Says once what is wrong with a profile, and that it is right again.
fn log(before: &JudgedProfiles, now: &JudgedProfiles) {
    for (name, profile) in now {
        let earlier = before.get(name).map(|earlier| &earlier.problems);
        if earlier == Some(&profile.problems) {
            continue;
        }
        match (&profile.running, profile.problems.first()) {
            (_, None) => info!(profile = %name, "profile is accepted"),
            (None, Some(problem)) => warn!(profile = %name, %problem, "profile does not run"),
            (Some(running), Some(problem)) => warn!(
                profile = %name,
                generation = running.generation,
                %problem,
                "profile is not valid: its last valid generation goes on running"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn profile(name: &str, generation: i64, created: i64, spec: &Value) -> Arc<SchedulerProfile> {
        let object = json!({
            "apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
            "metadata": {"name": name, "uid": name, "generation": generation,
                "creationTimestamp": format!("2026-01-01T00:00:{created:02}Z")},
            "spec": spec,
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn good(scheduler: &str) -> Value {
        json!({"schedulerName": scheduler})
    }

    fn bad(scheduler: &str, plugin: &str) -> Value {
        json!({"schedulerName": scheduler,
            "plugins": {"filter": {"enabled": [{"name": plugin}]}}})
    }

    #[test]
    fn a_bad_edit_keeps_the_last_good_generation_running() {
        let mut set = ProfileSet::default();
        set.apply(ObjectEvent::Resynced(vec![profile("a", 1, 1, &good("a"))]));
        assert_eq!(set.judge()["a"].running.as_ref().unwrap().generation, 1);
        set.apply(ObjectEvent::Applied(profile(
            "a",
            2,
            1,
            &bad("a", "DynamicResources"),
        )));
        let judged = set.judge();
        assert_eq!(judged["a"].running.as_ref().unwrap().generation, 1);
        assert_eq!(
            judged["a"].problems[0].reason.as_str(),
            "PluginNotImplemented"
        );
        set.apply(ObjectEvent::Applied(profile("a", 3, 1, &good("a"))));
        let judged = set.judge();
        assert_eq!(judged["a"].running.as_ref().unwrap().generation, 3);
        assert!(judged["a"].problems.is_empty());
    }

    #[test]
    fn the_older_of_two_profiles_with_one_scheduler_name_runs() {
        let mut set = ProfileSet::default();
        set.apply(ObjectEvent::Resynced(vec![
            profile("a", 1, 9, &good("same")),
            profile("b", 1, 1, &good("same")),
        ]));
        let judged = set.judge();
        assert!(judged["a"].running.is_none() && judged["b"].running.is_some());
        assert_eq!(
            judged["a"].problems[0].reason.as_str(),
            "SchedulerNameTaken"
        );
        set.apply(ObjectEvent::Deleted(profile("b", 1, 1, &good("same"))));
        assert!(set.judge()["a"].running.is_some());
    }

    #[test]
    fn a_new_object_of_the_same_name_has_no_past() {
        let mut set = ProfileSet::default();
        set.apply(ObjectEvent::Resynced(vec![profile("a", 1, 1, &good("a"))]));
        set.judge();
        let mut other = (*profile("a", 1, 1, &bad("a", "Nonsense"))).clone();
        other.metadata.uid = Some("other".into());
        set.apply(ObjectEvent::Applied(Arc::new(other)));
        let judged = set.judge();
        assert!(judged["a"].running.is_none());
        assert_eq!(judged["a"].problems[0].reason.as_str(), "UnknownPlugin");
    }
}
