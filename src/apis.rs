//! What users write: the `SchedulerProfile` object and the `BayplanConfiguration` file, with the
//! rules that turn a profile into the plugins that run.

#![expect(
    unreachable_pub,
    reason = "KubeSchema repeats each struct inside a function"
)]
#![expect(
    clippy::doc_markdown,
    reason = "kubectl explain prints the comments as they are"
)]
#![expect(
    clippy::duplicated_attributes,
    reason = "two print columns may have the same type"
)]

pub mod bayplan_configuration;
pub mod effective_profile;
pub mod extender;
pub mod extension_point;
pub mod go_duration;
mod label_syntax;
pub mod plugin_args;
pub mod plugin_catalog;
mod plugin_sets;
pub mod profile_problem;
pub mod scheduler_profile;
pub mod upstream_plugins;
