//! `BayplanConfiguration`: the file behind `--config`, with the settings of the process.
//!
//! What concerns the placement of pods is in `SchedulerProfile` objects; here are clients, leases,
//! ports, logs and the timing of the queue. Field names follow `KubeSchedulerConfiguration` where
//! the meaning is the same (`PARITY` 5.1). Unknown fields are refused.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apis::go_duration::GoDuration;

mod validation;

pub use validation::ConfigurationProblem;

/// The settings of a Bayplan process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BayplanConfiguration {
    /// Version of the format: bayplan.dev/v1alpha1.
    pub api_version: ConfigurationVersion,

    /// Kind of the document: BayplanConfiguration.
    pub kind: ConfigurationKind,

    /// How to reach the API server.
    #[serde(default)]
    pub client_connection: ClientConnection,

    /// How one of several replicas is chosen to schedule.
    #[serde(default)]
    pub leader_election: LeaderElection,

    /// The HTTPS port for health, metrics and configuration.
    #[serde(default)]
    pub serving: Serving,

    /// When pods are tried again, and how ties are broken.
    #[serde(default)]
    pub scheduling: Scheduling,

    /// What is logged, and how.
    #[serde(default)]
    pub logging: Logging,

    /// Feature gates of kube-scheduler by name. Those that Bayplan does not have can only be false.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
}

/// The versions of the file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConfigurationVersion {
    /// The first one.
    #[default]
    #[serde(rename = "bayplan.dev/v1alpha1")]
    V1Alpha1,
}

/// The kind that the file declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConfigurationKind {
    /// The only one.
    #[default]
    BayplanConfiguration,
}

/// How to reach the API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClientConnection {
    /// Path of a kubeconfig file. Empty: the service account of the pod, else `$KUBECONFIG` and
    /// `~/.kube/config`.
    pub kubeconfig: String,

    /// Content type of requests. Bayplan speaks application/json only.
    pub content_type: String,

    /// Requests a second to the API server. 0 or less, the default, sets no limit and leaves it to
    /// the API server's priority and fairness.
    pub qps: f64,

    /// Requests that may exceed `qps` for a moment. Default 100; without `qps` it has no meaning.
    pub burst: u32,
}

/// What Bayplan sends and accepts.
pub(crate) const CONTENT_TYPE_JSON: &str = "application/json";

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            content_type: CONTENT_TYPE_JSON.to_owned(),
            qps: 0.0,
            burst: 100,
        }
    }
}

/// How one of several replicas is chosen to schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeaderElection {
    /// Whether replicas elect a leader. Default true; with false the process schedules at once, and
    /// no second one may run.
    pub leader_elect: bool,

    /// How long the others wait for a leader that does not renew its lease. Default 15s.
    pub lease_duration: GoDuration,

    /// How long a leader tries to renew its lease before it gives up. Default 10s; shorter than
    /// `leaseDuration`.
    pub renew_deadline: GoDuration,

    /// How long to wait between two tries to acquire or renew. Default 2s; less than 5/6 of
    /// `renewDeadline`.
    pub retry_period: GoDuration,

    /// Kind of object that is the lock. Only leases exist.
    pub resource_lock: String,

    /// Name of the lease. Default bayplan.
    pub resource_name: String,

    /// Namespace of the lease. Default kube-system.
    pub resource_namespace: String,
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            leader_elect: true,
            lease_duration: GoDuration::from_secs(15),
            renew_deadline: GoDuration::from_secs(10),
            retry_period: GoDuration::from_secs(2),
            resource_lock: "leases".to_owned(),
            resource_name: "bayplan".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }
}

/// The HTTPS port for health, metrics and configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Serving {
    /// IP address to listen on. Default 0.0.0.0: all interfaces.
    pub bind_address: IpAddr,

    /// Port to listen on. Default 10259; 0 serves nothing.
    pub secure_port: u16,

    /// Path of the server's certificate with its chain, PEM. Empty: a self-signed one is made.
    pub tls_cert_file: String,

    /// Path of the certificate's private key, PEM.
    pub tls_private_key_file: String,

    /// Path of a kubeconfig file for checking the tokens of clients. Empty: as for everything else.
    pub authentication_kubeconfig: String,

    /// Path of a kubeconfig file for checking the rights of clients. Empty: as for everything else.
    pub authorization_kubeconfig: String,

    /// Paths that everybody may read without a token. A trailing * matches any rest. Default
    /// /healthz, /readyz and /livez.
    pub authorization_always_allow_paths: Vec<String>,
}

/// kube-scheduler's port (`DefaultKubeSchedulerPort`).
const SECURE_PORT: u16 = 10259;

impl Default for Serving {
    fn default() -> Self {
        Self {
            bind_address: Ipv4Addr::UNSPECIFIED.into(),
            secure_port: SECURE_PORT,
            tls_cert_file: String::new(),
            tls_private_key_file: String::new(),
            authentication_kubeconfig: String::new(),
            authorization_kubeconfig: String::new(),
            authorization_always_allow_paths: ["/healthz", "/readyz", "/livez"]
                .map(str::to_owned)
                .into(),
        }
    }
}

/// When pods are tried again, and how ties are broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scheduling {
    /// Seconds that a pod waits after its first failed attempt. Default 1; doubles with every
    /// further one.
    pub pod_initial_backoff_seconds: u32,

    /// Most seconds that a pod waits between two attempts. Default 10.
    pub pod_max_backoff_seconds: u32,

    /// Longest time that a pod which fits nowhere waits for a change in the cluster before it is
    /// tried again anyway. Default 5m0s.
    pub pod_max_in_unschedulable_pods_duration: GoDuration,

    /// How long a watch lasts before it is opened anew: 1s to 294s, default 3m20s.
    pub watch_timeout: GoDuration,

    /// Which of equally good nodes is taken: seeded (default) spreads pods over them, name takes
    /// the first by name.
    pub tie_break: TieBreaking,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            pod_initial_backoff_seconds: 1,
            pod_max_backoff_seconds: 10,
            pod_max_in_unschedulable_pods_duration: GoDuration::from_secs(5 * 60),
            watch_timeout: GoDuration::from_secs(200),
            tie_break: TieBreaking::default(),
        }
    }
}

/// Which of equally good nodes is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TieBreaking {
    /// The one that a seed and the pod pick: pods spread over equal nodes.
    #[default]
    Seeded,
    /// The first by name: the same choice in every process.
    Name,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Logging {
    /// text (default) for people, json for machines.
    pub format: LogFormat,

    /// How much is logged: 0 (default) errors, warnings and changes of state, 4 every attempt of
    /// a pod, 5 or more every node that was looked at.
    #[schemars(range(max = 10))]
    pub verbosity: u8,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line an entry.
    #[default]
    Text,
    /// One JSON object an entry.
    Json,
}

#[cfg(test)]
mod tests;
