//! What is wrong with a profile, in a form that a condition, the command line and a test can use.

use std::fmt;

use serde::Serialize;

/// Why a profile is refused. The names are the reasons of the condition `Accepted=False`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ProblemReason {
    /// A field of the profile has no valid value.
    InvalidSpec,
    /// The lists of plugins contradict each other or lack something that must be there.
    InvalidPluginSet,
    /// A plugin's arguments are not valid.
    InvalidPluginArgs,
    /// An extender cannot be asked as it is written, or two of them contradict each other.
    InvalidExtender,
    /// kube-scheduler has the plugin, Bayplan does not have it yet.
    PluginNotImplemented,
    /// Nobody knows a plugin of this name.
    UnknownPlugin,
    /// Another profile already answers to the scheduler name.
    SchedulerNameTaken,
    /// All profiles share one queue and therefore one order.
    QueueSortMismatch,
}

impl ProblemReason {
    /// The reason as it stands in a condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSpec => "InvalidSpec",
            Self::InvalidPluginSet => "InvalidPluginSet",
            Self::InvalidPluginArgs => "InvalidPluginArgs",
            Self::InvalidExtender => "InvalidExtender",
            Self::PluginNotImplemented => "PluginNotImplemented",
            Self::UnknownPlugin => "UnknownPlugin",
            Self::SchedulerNameTaken => "SchedulerNameTaken",
            Self::QueueSortMismatch => "QueueSortMismatch",
        }
    }
}

impl fmt::Display for ProblemReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {message}; {remedy}")]
pub struct ProfileProblem {
    /// The kind of problem.
    pub reason: ProblemReason,
    /// Where it is, from the object's root: `spec.plugins.filter.enabled[0].name`.
    pub field: String,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What to do about it, without a full stop.
    pub remedy: String,
}

impl ProfileProblem {
    pub(crate) fn new(
        reason: ProblemReason,
        field: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            reason,
            field: field.into(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

/// The known word that `given` is most likely a misspelling of, if any is close enough.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Jaro-Winkler of 0.8 is what clap uses for flags; it tolerates about one slip in five letters.
    const CLOSE_ENOUGH: f64 = 0.8;
    known
        .into_iter()
        .map(|word| {
            (
                strsim::jaro_winkler(&given.to_lowercase(), &word.to_lowercase()),
                word,
            )
        })
        .filter(|(likeness, _)| *likeness > CLOSE_ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word)
}
