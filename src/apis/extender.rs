//! HTTP extenders of a profile: programs outside that narrow, weigh, bind or preempt. Fields,
//! defaults and checks are those of `Extender` in `KubeSchedulerConfiguration`.

mod validation;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::apis::go_duration::GoDuration;

pub(crate) use validation::check;

/// What a call may take if the profile says nothing (`DefaultExtenderTimeout`).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP extender: a program outside that is asked about pods. A verb that is empty is not asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = kube::core::Rule::new(
        "!has(self.prioritizeVerb) || self.prioritizeVerb == '' || (has(self.weight) && self.weight > 0)"
    ).message("an extender that prioritizes needs a weight of 1 or more")
)]
pub struct Extender {
    /// Address below which the verbs are, for example `http://extender.kube-system:8888/scheduler`.
    #[schemars(length(min = 1, max = 2048), regex(pattern = r"^https?://.+$"))]
    pub url_prefix: String,

    /// Verb that filters nodes; it is appended to urlPrefix. Example: filter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub filter_verb: String,

    /// Verb that says which evictions of a preemption will do. Example: preempt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub preempt_verb: String,

    /// Verb that scores nodes from 0 to 10. Example: prioritize.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub prioritize_verb: String,

    /// Weight of the scores that prioritizeVerb gives: 1 or more. A score counts ten times its
    /// weight, since extenders score to 10 and plugins to 100.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub weight: i64,

    /// Verb that binds pods. The extender is then the one that binds the pods it is interested in;
    /// only one extender of a profile may. Example: bind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub bind_verb: String,

    /// Do not check the certificate of the extender unless tlsConfig names who signed it. Whether
    /// HTTPS is spoken says the scheme of urlPrefix.
    #[serde(
        default,
        rename = "enableHTTPS",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub enable_https: bool,

    /// Certificates for HTTPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<ExtenderTlsConfig>,

    /// How long a call may take, for example 200ms. Default: 5s. A filter that takes longer fails
    /// the attempt, unless the extender is ignorable; a score that takes longer does not count.
    #[serde(default = "default_timeout")]
    #[schemars(length(max = 64))]
    pub http_timeout: GoDuration,

    /// The extender knows the nodes itself: it is sent their names instead of whole objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub node_cache_capable: bool,

    /// Extended resources that the extender manages: it is asked about the pods that request one of
    /// them only. Without any it is asked about every pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = kube::core::ListMerge::Atomic)]
    pub managed_resources: Vec<ExtenderManagedResource>,

    /// Scheduling goes on when the extender cannot be reached or answers with an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignorable: bool,
}

/// An extended resource that an extender manages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtenderManagedResource {
    /// Name of the extended resource, for example example.com/gpu.
    #[schemars(length(min = 1, max = 317))]
    pub name: String,

    /// Leave the resource to the extender: NodeResourcesFit does not check it. What the extenders of
    /// a profile name so takes the place of ignoredResources in its arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored_by_scheduler: bool,
}

/// Certificates for HTTPS with an extender. Files are those of the scheduler's own file system;
/// data is PEM in base64 and goes before the file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtenderTlsConfig {
    /// Do not check the certificate of the extender. For tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,

    /// Name that the certificate must have, instead of the host in urlPrefix.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub server_name: String,

    /// File with the certificate that the scheduler shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub cert_file: String,

    /// File with the key of that certificate.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub key_file: String,

    /// File with the certificates of those who sign for the extender.
    #[serde(default, rename = "caFile", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub ca_file: String,

    /// Certificate that the scheduler shows.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(with = "String", length(max = 65536), extend("format" = "byte"))]
    pub cert_data: ByteString,

    /// Key of that certificate. Everybody who may read the profile can read it: a file from a
    /// Secret, in keyFile, is the better place.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(with = "String", length(max = 65536), extend("format" = "byte"))]
    pub key_data: ByteString,

    /// Certificates of those who sign for the extender.
    #[serde(default, rename = "caData", skip_serializing_if = "is_empty")]
    #[schemars(with = "String", length(max = 262_144), extend("format" = "byte"))]
    pub ca_data: ByteString,
}

fn default_timeout() -> GoDuration {
    DEFAULT_TIMEOUT.into()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn is_empty(bytes: &ByteString) -> bool {
    bytes.0.is_empty()
}

// === impl Extender ===

impl Extender {
    /// How long a call may take; 0 stands for the default.
    pub fn timeout(&self) -> Duration {
        match self.http_timeout.0 {
            Duration::ZERO => DEFAULT_TIMEOUT,
            timeout => timeout,
        }
    }

    /// The address of a verb.
    pub fn url(&self, verb: &str) -> String {
        format!("{}/{verb}", self.url_prefix.trim_end_matches('/'))
    }
}

/// The extenders in the order in which they are asked: those that may be ignored come last
/// (`buildExtenders`).
pub(crate) fn in_order(extenders: &[Extender]) -> Vec<Arc<Extender>> {
    let (last, first): (Vec<_>, Vec<_>) = extenders.iter().partition(|e| e.ignorable);
    let all = first.into_iter().chain(last);
    all.map(|extender| Arc::new(extender.clone())).collect()
}

/// What the extenders leave to themselves; `None` if nothing.
pub(crate) fn ignored_resources(extenders: &[Extender]) -> Option<Vec<String>> {
    let managed = extenders
        .iter()
        .flat_map(|extender| &extender.managed_resources);
    let ignored = managed.filter(|resource| resource.ignored_by_scheduler);
    let names: Vec<String> = ignored.map(|resource| resource.name.clone()).collect();
    (!names.is_empty()).then_some(names)
}

// === impl ExtenderTlsConfig ===

/// Says what is set, never what is in it.
impl fmt::Debug for ExtenderTlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |bytes: &ByteString| if is_empty(bytes) { "unset" } else { "set" };
        f.debug_struct("ExtenderTlsConfig")
            .field("insecure", &self.insecure)
            .field("server_name", &self.server_name)
            .field("cert_file", &self.cert_file)
            .field("key_file", &self.key_file)
            .field("ca_file", &self.ca_file)
            .field("cert_data", &set(&self.cert_data))
            .field("key_data", &set(&self.key_data))
            .field("ca_data", &set(&self.ca_data))
            .finish()
    }
}

#[cfg(test)]
mod tests;
