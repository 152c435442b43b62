//! What can be wrong with a simulation's input.

use thiserror::Error;

use crate::apis::profile_problem::ProfileProblem;
use crate::sim::document::Place;

/// Why there is no simulation.
#[derive(Debug, Error)]
pub enum SimError {
    /// A document cannot be used.
    #[error("{place}: {problem}; {remedy}")]
    Document {
        /// Where it is.
        place: Place,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// A profile is refused.
    #[error("{place}: profile {name:?} is not valid: {}", list(.problems))]
    Profile {
        /// Where it is.
        place: Place,
        /// The name of the object.
        name: String,
        /// Everything that is wrong with it.
        problems: Vec<ProfileProblem>,
    },
    /// The profile that was asked for is not there.
    #[error("the files hold no profile {name:?}: {}", known_profiles(.known))]
    NoSuchProfile {
        /// The name that was given.
        name: String,
        /// The names of the objects that are there.
        known: Vec<String>,
    },
    /// Profiles are there, pending pods too, and none is meant for another.
    #[error(
        "no pending pod names one of the profiles in the files ({}): pod {pod:?} has the \
         schedulerName {scheduler_name:?}; correct it, or choose a profile for all pods with \
         --profile NAME", .known.join(", ")
    )]
    NoPodOfAnyProfile {
        /// The first of the pods, as `ns/name`.
        pod: String,
        /// What it names.
        scheduler_name: String,
        /// The scheduler names that the profiles answer to.
        known: Vec<String>,
    },
    /// The default profile cannot be built.
    #[error("the profile {name:?} cannot be made: {problem}")]
    Build {
        /// The `schedulerName`.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

impl SimError {
    /// The document at `place` cannot be used.
    pub(super) fn document(
        place: Place,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Document {
            place,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

fn list(problems: &[ProfileProblem]) -> String {
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}

fn known_profiles(names: &[String]) -> String {
    if names.is_empty() {
        "they hold none at all; add a SchedulerProfile, or leave the name out to use upstream's \
         default profile"
            .to_owned()
    } else {
        format!("use one of {}", names.join(", "))
    }
}
