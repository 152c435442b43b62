//! Arguments of the plugin DynamicResources.

use std::time::Duration;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;
use crate::apis::go_duration::GoDuration;

/// How long DynamicResources may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicResourcesArgs {
    /// Longest time to search devices on one node, a duration such as 10s; 0s means no limit.
    /// Default 10s.
    #[serde(default = "ten_seconds")]
    #[x_kube(validation = kube::core::Rule::new("self >= duration('0s')")
        .message("must be 0s or longer"))]
    pub filter_timeout: GoDuration,

    /// Longest time to wait until the devices of a pod are ready, a duration of 1s or more.
    /// Default 10m0s.
    #[serde(default = "ten_minutes")]
    #[x_kube(validation = kube::core::Rule::new("self >= duration('1s')")
        .message("must be 1s or longer"))]
    pub binding_timeout: GoDuration,
}

const fn ten_seconds() -> GoDuration {
    GoDuration::from_secs(10)
}

const fn ten_minutes() -> GoDuration {
    GoDuration::from_secs(600)
}

impl Default for DynamicResourcesArgs {
    fn default() -> Self {
        Self {
            filter_timeout: ten_seconds(),
            binding_timeout: ten_minutes(),
        }
    }
}

impl DynamicResourcesArgs {
    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        if self.binding_timeout.0 < Duration::from_secs(1) {
            problems.add(
                format!("{path}.bindingTimeout"),
                format!("{} is too short", self.binding_timeout),
                "use a duration of 1s or longer",
            );
        }
    }
}
