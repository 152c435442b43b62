//! From flags and file to the configuration that a process runs with: [`Options`] (flags) →
//! [`Config`] (file and flags, checked) → the completed configuration, to which the live part adds
//! clients, identity and clock.
//!
//! Flags go before the file, the file before the defaults. The flags are kube-scheduler's where
//! the meaning exists (`PARITY` 5.3); there the file goes before most of them.

mod feature_gates;
mod flags;

use std::time::Duration;

use crate::apis::bayplan_configuration::{BayplanConfiguration, ConfigurationProblem, TieBreaking};
use crate::engine::EngineConfig;
use crate::engine::cache::tie_break::TieBreak;
use crate::engine::queue::{BackoffPolicy, QueueConfig};

pub use feature_gates::{FEATURE_GATES, FeatureGate, FeatureGateError, FeatureGateState};
pub use flags::Options;

/// What a process runs with, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Every setting, the defaults included.
    pub settings: BayplanConfiguration,
    /// The address of the API server that goes before the one in the kubeconfig.
    pub master: Option<String>,
    /// What a person should know about the flags, a sentence each, to be logged at start.
    pub warnings: Vec<String>,
}

/// A limit on requests to the API server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Requests a second, above 0.
    pub qps: f64,
    /// Requests that may exceed it for a moment, 1 or more.
    pub burst: u32,
}

/// What keeps flags and file from being a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A setting without a valid value.
    #[error(transparent)]
    Setting(#[from] ConfigurationProblem),
    /// A feature gate that cannot be set as it was.
    #[error("--feature-gates or featureGates: {0}")]
    FeatureGate(#[from] FeatureGateError),
    /// Profiles of the process were asked for.
    #[error("--{0}: Bayplan serves no /debug/pprof; remove the flag or set it to false")]
    Profiling(&'static str),
}

impl OptionsError {
    /// For an error that a file can have: the path of the field, and the error in words that suit
    /// a file, without the name of a flag.
    pub fn in_file(&self) -> Option<(String, String)> {
        match self {
            Self::Setting(problem) => {
                let message = format!("{}; {}", problem.message, problem.remedy);
                Some((problem.field.to_owned(), message))
            }
            Self::FeatureGate(error) => {
                let field = format!("featureGates.{}", error.name());
                Some((field, error.to_string()))
            }
            Self::Profiling(_) => None,
        }
    }
}

// === impl Options ===

impl Options {
    /// Puts the flags over `file` and checks the result.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn config(&self, file: Option<BayplanConfiguration>) -> Result<Config, Vec<OptionsError>> {
        Config::try_new(file, &[self])
    }
}

// === impl Config ===

impl Config {
    /// Puts `flags` over `file`, the later ones over the earlier ones, and checks the result.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn try_new(
        file: Option<BayplanConfiguration>,
        flags: &[&Options],
    ) -> Result<Self, Vec<OptionsError>> {
        let mut settings = file.unwrap_or_default();
        for options in flags {
            options.apply_to(&mut settings);
        }
        let mut errors = check(&settings);
        errors.extend(check_profiling(flags));
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut given = flags
            .iter()
            .map(|options| options.pod_max_in_unschedulable_pods_duration);
        let deprecated = given.any(|duration| duration.is_some()).then(|| {
            "the flag --pod-max-in-unschedulable-pods-duration is deprecated: set \
             scheduling.podMaxInUnschedulablePodsDuration in the configuration file"
                .to_owned()
        });
        Ok(Self {
            settings,
            master: flags
                .iter()
                .rev()
                .find_map(|options| options.master.clone()),
            warnings: deprecated.into_iter().collect(),
        })
    }

    /// What the engine is made with; the seed is the caller's.
    pub fn engine(&self, seed: u64) -> EngineConfig {
        let scheduling = &self.settings.scheduling;
        EngineConfig {
            seed,
            tie_break: match scheduling.tie_break {
                TieBreaking::Seeded => TieBreak::Seeded,
                TieBreaking::Name => TieBreak::Name,
            },
            queue: QueueConfig {
                backoff: BackoffPolicy {
                    initial: Duration::from_secs(scheduling.pod_initial_backoff_seconds.into()),
                    max: Duration::from_secs(scheduling.pod_max_backoff_seconds.into()),
                },
                max_in_unschedulable: scheduling.pod_max_in_unschedulable_pods_duration.into(),
            },
            only_notes_evictions: false,
        }
    }

    /// The limit on requests to the API server, if there is one.
    pub fn rate_limit(&self) -> Option<RateLimit> {
        let client = &self.settings.client_connection;
        (client.qps > 0.0).then_some(RateLimit {
            qps: client.qps,
            burst: client.burst,
        })
    }
}

/// Everything that is wrong with `settings`, wherever they come from.
pub fn check(settings: &BayplanConfiguration) -> Vec<OptionsError> {
    let problems = settings.problems().into_iter().map(OptionsError::from);
    let gates = settings
        .feature_gates
        .iter()
        .filter_map(|(name, value)| feature_gates::check(name, *value).err())
        .map(OptionsError::from);
    problems.chain(gates).collect()
}

fn check_profiling(flags: &[&Options]) -> Vec<OptionsError> {
    let asks = |flag: fn(&Options) -> Option<bool>| {
        let last = flags.iter().rev().find_map(|options| flag(options));
        last == Some(true)
    };
    [
        (asks(|options| options.profiling), "profiling"),
        (
            asks(|options| options.contention_profiling),
            "contention-profiling",
        ),
    ]
    .into_iter()
    .filter(|(asked, _)| *asked)
    .map(|(_, flag)| OptionsError::Profiling(flag))
    .collect()
}

#[cfg(test)]
mod tests;
