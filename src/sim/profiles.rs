//! Which profile decides for which pod.

use crate::apis::effective_profile::EffectiveProfile;
use crate::apis::scheduler_profile::{SchedulerProfile, SchedulerProfileSpec};
use crate::model::pod_info::DEFAULT_SCHEDULER_NAME;
use crate::plugins::registry::Registry;
use crate::sim::cluster::Given;
use crate::sim::error::SimError;

/// The profiles of a simulation.
#[derive(Debug)]
pub(super) enum Choice {
    /// One decides for every pending pod, whatever it names.
    One(Box<EffectiveProfile>),
    /// Each decides for the pods that name it.
    ByName(Vec<EffectiveProfile>),
}

impl Choice {
    /// The profile called `name`; all profiles if there is no name; upstream's default one if
    /// there are no profiles either.
    pub(super) fn among(
        given: &[Given<SchedulerProfile>],
        name: Option<&str>,
    ) -> Result<Self, SimError> {
        let profiles = check(given)?;
        if let Some(name) = name {
            return choose(given, profiles, name);
        }
        if profiles.is_empty() {
            return upstream_default().map(|profile| Self::One(Box::new(profile)));
        }
        Ok(Self::ByName(profiles))
    }

    /// The profiles that run.
    pub(super) fn profiles(&self) -> &[EffectiveProfile] {
        match self {
            Self::One(profile) => std::slice::from_ref(profile),
            Self::ByName(profiles) => profiles,
        }
    }

    /// The `schedulerName` under which a pod that names `scheduler` is decided, if it is.
    pub(super) fn answers_for(&self, scheduler: &str) -> Option<&str> {
        match self {
            Self::One(profile) => Some(&profile.scheduler_name),
            Self::ByName(profiles) => profiles
                .iter()
                .map(|profile| profile.scheduler_name.as_str())
                .find(|name| *name == scheduler),
        }
    }
}

/// Every profile must be valid, also one that is not chosen.
fn check(given: &[Given<SchedulerProfile>]) -> Result<Vec<EffectiveProfile>, SimError> {
    let mut profiles = Vec::<EffectiveProfile>::new();
    for profile in given {
        let refused = |problems| SimError::Profile {
            place: profile.place.clone(),
            name: object_name(profile).to_owned(),
            problems,
        };
        let effective =
            EffectiveProfile::try_new(&profile.object.spec, &Registry).map_err(refused)?;
        let earlier = given.iter().map(object_name).zip(&profiles);
        let conflicts = effective.conflicts_with(earlier);
        if !conflicts.is_empty() {
            return Err(refused(conflicts));
        }
        profiles.push(effective);
    }
    Ok(profiles)
}

fn choose(
    given: &[Given<SchedulerProfile>],
    profiles: Vec<EffectiveProfile>,
    name: &str,
) -> Result<Choice, SimError> {
    let by_object = given.iter().position(|given| object_name(given) == name);
    let chosen = by_object.or_else(|| profiles.iter().position(|p| p.scheduler_name == name));
    chosen
        .and_then(|index| profiles.into_iter().nth(index))
        .map(|profile| Choice::One(Box::new(profile)))
        .ok_or_else(|| SimError::NoSuchProfile {
            name: name.to_owned(),
            known: given
                .iter()
                .map(|given| object_name(given).to_owned())
                .collect(),
        })
}

fn object_name(given: &Given<SchedulerProfile>) -> &str {
    given.object.metadata.name.as_deref().unwrap_or_default()
}

/// What kube-scheduler runs without a configuration.
fn upstream_default() -> Result<EffectiveProfile, SimError> {
    let build = |problem: String| SimError::Build {
        name: DEFAULT_SCHEDULER_NAME.to_owned(),
        problem,
    };
    let spec = serde_json::json!({"schedulerName": DEFAULT_SCHEDULER_NAME});
    let spec: SchedulerProfileSpec =
        serde_json::from_value(spec).map_err(|error| build(error.to_string()))?;
    EffectiveProfile::try_new(&spec, &Registry).map_err(|problems| {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        build(problems.join("; "))
    })
}
