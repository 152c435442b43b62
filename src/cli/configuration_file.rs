//! The file of `--config`, read strictly.

use serde_json::Value;

use crate::apis::bayplan_configuration::BayplanConfiguration;
use crate::cli::finding::{Finding, Subject};
use crate::cli::yaml;
use crate::options::{self, OptionsError};

/// The `kind` of the file.
pub(super) const KIND: &str = "BayplanConfiguration";
/// The only version of our kinds.
pub(super) const API_VERSION: &str = "bayplan.dev/v1alpha1";
/// kube-scheduler's kind, which people may have at hand.
const UPSTREAM_KIND: &str = "KubeSchedulerConfiguration";

/// A configuration with the file that it comes from, to tell where its values stand.
#[derive(Debug)]
pub(super) struct ConfigurationFile {
    name: String,
    document: yaml::Document,
    /// What the file says.
    pub(super) settings: BayplanConfiguration,
}

impl ConfigurationFile {
    /// Reads the one document of `text`. Whether its values are valid shows once the flags are
    /// applied.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, Finding> {
        let whole_file = |message: &str| Finding {
            file: name.to_owned(),
            place: None,
            object: String::new(),
            field: String::new(),
            message: message.to_owned(),
        };
        let mut documents =
            yaml::documents(text).map_err(|error| Finding::unreadable(name, error))?;
        let document = match (documents.pop(), documents.len()) {
            (Some(document), 0) => document,
            (None, _) => return Err(whole_file("the file is empty; give a BayplanConfiguration")),
            (Some(_), _) => {
                let message = "the file has several documents; give one BayplanConfiguration";
                return Err(whole_file(message));
            }
        };
        let subject = Subject {
            file: name,
            document: &document,
            path: "",
            object: "",
        };
        let settings = settings(subject, &document.value)?;
        Ok(Self {
            name: name.to_owned(),
            document,
            settings,
        })
    }

    /// Says an error where it can be mended: in the file, if that has it without any flag.
    pub(super) fn place(&self, error: &OptionsError) -> String {
        let subject = Subject {
            file: &self.name,
            document: &self.document,
            path: "",
            object: "",
        };
        match error.in_file() {
            Some((field, message)) if options::check(&self.settings).contains(error) => {
                subject.finding(&field, message).to_string()
            }
            _ => error.to_string(),
        }
    }
}

/// The settings that `value` holds.
pub(super) fn settings(
    subject: Subject<'_>,
    value: &Value,
) -> Result<BayplanConfiguration, Finding> {
    if let Some(finding) = wrong_type(subject, value, KIND) {
        return Err(finding);
    }
    subject
        .document
        .parse(value, subject.path)
        .map_err(|error| subject.mistyped(error))
}

/// What is wrong with `apiVersion` and `kind` of an object that should be of `kind`.
pub(super) fn wrong_type(subject: Subject<'_>, value: &Value, kind: &str) -> Option<Finding> {
    let found_kind = value["kind"].as_str().unwrap_or_default();
    let version = value["apiVersion"].as_str().unwrap_or_default();
    let (field, message) = if found_kind == UPSTREAM_KIND {
        let message = "this is kube-scheduler's configuration; write its profiles as \
                       SchedulerProfile objects and the rest as a BayplanConfiguration";
        ("kind", message.to_owned())
    } else if found_kind.is_empty() {
        ("kind", format!("the kind is missing; write kind: {kind}"))
    } else if found_kind != kind {
        let message = format!("{found_kind} is not expected here; give a {kind}");
        ("kind", message)
    } else if version != API_VERSION {
        let message = format!("{version:?} is no version of {kind}; use {API_VERSION}");
        ("apiVersion", message)
    } else {
        return None;
    };
    Some(subject.finding(field, message))
}
