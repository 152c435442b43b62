//! `bayplan validate`: are profiles and configuration files valid? Needs no cluster.

use std::path::PathBuf;

use clap::Args;
use kube::ResourceExt;
use serde_json::Value;

use crate::apis::effective_profile::EffectiveProfile;
use crate::apis::scheduler_profile::SchedulerProfile;
use crate::cli::configuration_file::{self, wrong_type};
use crate::cli::finding::{Finding, Subject};
use crate::cli::{Exit, Failure, Output, input, yaml};
use crate::options;
use crate::plugins::registry::Registry;

mod schema;

/// The kind of a profile.
const PROFILE: &str = "SchedulerProfile";

/// Check files that hold SchedulerProfiles or a BayplanConfiguration.
///
/// Every problem is one line with file, line and field. Ends with 0 if everything is valid, with 1
/// if not, with 2 if a file cannot be read.
#[derive(Args, Debug)]
pub(super) struct ValidateArgs {
    /// Files to check, YAML or JSON; - reads standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(super) fn run(arguments: &ValidateArgs, output: &mut Output<'_>) -> Result<Exit, Failure> {
    let mut validation = Validation::default();
    for path in &arguments.files {
        validation.check_file(&input::name(path), &input::read(path)?);
    }
    for finding in &validation.findings {
        output.line(finding)?;
    }
    match validation.findings.len() {
        0 => {
            output.line(format_args!(
                "{} valid",
                count(validation.objects, "object")
            ))?;
            Ok(Exit::Success)
        }
        problems => {
            output.note(format_args!(
                "{} in {}",
                count(problems, "problem"),
                count(validation.objects, "object")
            ));
            Ok(Exit::No)
        }
    }
}

fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// What was seen so far.
#[derive(Debug, Default)]
struct Validation {
    objects: usize,
    findings: Vec<Finding>,
    /// The valid profiles by name, for conflicts between them.
    profiles: Vec<(String, EffectiveProfile)>,
}

impl Validation {
    fn check_file(&mut self, file: &str, text: &str) {
        let documents = match yaml::documents(text) {
            Ok(documents) => documents,
            Err(error) => {
                self.findings.push(Finding::unreadable(file, error));
                return;
            }
        };
        if documents.is_empty() {
            self.findings.push(Finding {
                file: file.to_owned(),
                place: None,
                object: String::new(),
                field: String::new(),
                message: "the file is empty; give a SchedulerProfile or a BayplanConfiguration"
                    .to_owned(),
            });
        }
        for document in &documents {
            for (path, value) in document.objects() {
                self.objects += 1;
                let kind = value["kind"].as_str().unwrap_or_default();
                let object = match value["metadata"]["name"].as_str() {
                    Some(name) => format!("{kind} {name:?}"),
                    None => kind.to_owned(),
                };
                let subject = Subject {
                    file,
                    document,
                    path: &path,
                    object: &object,
                };
                if kind == configuration_file::KIND {
                    self.check_configuration(subject, value);
                } else {
                    self.check_profile(subject, value);
                }
            }
        }
    }

    fn check_configuration(&mut self, subject: Subject<'_>, value: &Value) {
        match configuration_file::settings(subject, value) {
            Err(finding) => self.findings.push(finding),
            Ok(settings) => {
                let errors = options::check(&settings);
                let in_file = errors.iter().filter_map(options::OptionsError::in_file);
                self.findings
                    .extend(in_file.map(|(field, message)| subject.finding(&field, message)));
            }
        }
    }

    fn check_profile(&mut self, subject: Subject<'_>, value: &Value) {
        if let Some(finding) = wrong_type(subject, value, PROFILE) {
            self.findings.push(finding);
            return;
        }
        let found_before = self.findings.len();
        self.findings.extend(schema::check(subject, value));
        let profile = match subject
            .document
            .parse::<SchedulerProfile>(value, subject.path)
        {
            Ok(profile) => profile,
            Err(error) => {
                self.findings.push(subject.mistyped(error));
                return;
            }
        };
        let effective = match EffectiveProfile::try_new(&profile.spec, &Registry) {
            Ok(effective) => effective,
            Err(problems) => {
                self.findings.extend(problems.iter().map(|problem| {
                    let message = format!("{}; {}", problem.message, problem.remedy);
                    subject.finding(&problem.field, message)
                }));
                return;
            }
        };
        let others = self
            .profiles
            .iter()
            .map(|(name, other)| (name.as_str(), other));
        for problem in effective.conflicts_with(others) {
            let message = format!("{}; {}", problem.message, problem.remedy);
            self.findings.push(subject.finding(&problem.field, message));
        }
        if self.findings.len() == found_before {
            self.profiles.push((profile.name_any(), effective));
        }
    }
}

#[cfg(test)]
mod tests;
