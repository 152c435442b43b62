//! The `BayplanConfiguration` file of `--config`: the settings of a process.
//!
//! What pods see is configured by `SchedulerProfile` objects instead. Fields have the names of
//! kube-scheduler's `KubeSchedulerConfiguration` where that has them (`PARITY` 5.1); unknown fields
//! are refused.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::apis::go_duration::GoDuration;

/// The `apiVersion` of the file.
pub const API_VERSION: &str = "bayplan.dev/v1alpha1";
/// The `kind` of the file.
pub const KIND: &str = "BayplanConfiguration";

/// The settings of a process, complete: fields that a file leaves out have their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BayplanConfiguration {
    /// `bayplan.dev/v1alpha1`.
    pub api_version: String,
    /// `BayplanConfiguration`.
    pub kind: String,
    /// How one of several replicas comes to schedule.
    pub leader_election: LeaderElection,
    /// How the API server is reached.
    pub client_connection: ClientConnection,
    /// Where health and metrics are served.
    pub secure_serving: SecureServing,
    /// Who asks for them.
    pub authentication: Authentication,
    /// What those who ask may see.
    pub authorization: Authorization,
    /// First waiting time of a pod whose attempt failed, in seconds: 1 or more. It doubles with
    /// every further failure.
    pub pod_initial_backoff_seconds: i64,
    /// Longest such waiting time, in seconds.
    pub pod_max_backoff_seconds: i64,
    /// Longest time that a pod which fits nowhere waits for a change in the cluster before it is
    /// tried again anyway.
    pub pod_max_in_unschedulable_pods_duration: GoDuration,
    /// Which of equally good nodes gets a pod.
    pub tie_break: TieBreak,
    /// kube-scheduler's feature gates by name.
    pub feature_gates: BTreeMap<String, bool>,
    /// What is logged, and how.
    pub logging: Logging,
}

/// How one of several replicas comes to schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeaderElection {
    /// Lead before scheduling; without it there must be one replica only.
    pub leader_elect: bool,
    /// How long the others wait after the last sign of life of a leader.
    pub lease_duration: GoDuration,
    /// How long a leader tries to renew before it gives up; less than `lease_duration`.
    pub renew_deadline: GoDuration,
    /// Time between two tries to lead or to renew; less than `renew_deadline` / 1.2.
    pub retry_period: GoDuration,
    /// The kind of lock; `leases` is the only one.
    pub resource_lock: String,
    /// Name of the Lease.
    pub resource_name: String,
    /// Namespace of the Lease.
    pub resource_namespace: String,
}

/// How the API server is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClientConnection {
    /// Path of a kubeconfig file. Empty: the pod's service account, else the user's kubeconfig.
    #[serde(skip_serializing_if = "is_empty_path")]
    pub kubeconfig: PathBuf,
    /// The form of requests and answers; `application/json` is the only one.
    pub content_type: String,
    /// Requests a second; 0: no limit, the API server's priority and fairness does that.
    pub qps: f32,
    /// Requests at once above `qps`; 0: twice `qps`.
    pub burst: i32,
    /// How long one watch request lasts before it is opened again.
    pub watch_timeout: GoDuration,
}

/// Where health and metrics are served, over HTTPS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecureServing {
    /// The address to listen on.
    pub bind_address: IpAddr,
    /// The port to listen on; 0: nothing is served.
    pub secure_port: u16,
    /// Certificate, with its intermediates, as PEM. Empty: one is made at start.
    #[serde(skip_serializing_if = "is_empty_path")]
    pub tls_cert_file: PathBuf,
    /// Private key of the certificate, as PEM.
    #[serde(skip_serializing_if = "is_empty_path")]
    pub tls_private_key_file: PathBuf,
}

/// Who asks for metrics: the API server is asked about their tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Authentication {
    /// Path of a kubeconfig file for the review of tokens. Empty: as in `clientConnection`.
    #[serde(skip_serializing_if = "is_empty_path")]
    pub kubeconfig: PathBuf,
}

/// What those who ask may see: the API server is asked about their rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Authorization {
    /// Path of a kubeconfig file for the review of access. Empty: as in `clientConnection`.
    #[serde(skip_serializing_if = "is_empty_path")]
    pub kubeconfig: PathBuf,
    /// Paths that everybody may read.
    pub always_allow_paths: Vec<String>,
}

/// Which of equally good nodes gets a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TieBreak {
    /// One that follows from a seed: pods spread evenly.
    #[default]
    Seeded,
    /// The one whose name comes first.
    Name,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Logging {
    /// The form of a log line.
    pub format: LogFormat,
    /// How much is logged: 0 what operators must know, 2 the usual, 4 every attempt, 6 every node.
    pub verbosity: u8,
}

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

fn is_empty_path(path: &PathBuf) -> bool {
    path.as_os_str().is_empty()
}

// === impl BayplanConfiguration ===

impl Default for BayplanConfiguration {
    /// kube-scheduler's defaults; the lease has our own name, and clients have no rate limit.
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            leader_election: LeaderElection::default(),
            client_connection: ClientConnection::default(),
            secure_serving: SecureServing::default(),
            authentication: Authentication::default(),
            authorization: Authorization::default(),
            pod_initial_backoff_seconds: 1,
            pod_max_backoff_seconds: 10,
            pod_max_in_unschedulable_pods_duration: GoDuration::from_secs(300),
            tie_break: TieBreak::default(),
            feature_gates: BTreeMap::new(),
            logging: Logging::default(),
        }
    }
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

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            kubeconfig: PathBuf::new(),
            content_type: "application/json".to_owned(),
            qps: 0.0,
            burst: 0,
            // Below the 290 s after which a watch of kube-runtime would no longer be safe.
            watch_timeout: GoDuration::from_secs(200),
        }
    }
}

impl Default for SecureServing {
    fn default() -> Self {
        Self {
            bind_address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            secure_port: 10259,
            tls_cert_file: PathBuf::new(),
            tls_private_key_file: PathBuf::new(),
        }
    }
}

impl Default for Authorization {
    fn default() -> Self {
        Self {
            kubeconfig: PathBuf::new(),
            always_allow_paths: ["/healthz", "/readyz", "/livez"]
                .map(str::to_owned)
                .into(),
        }
    }
}

#[cfg(test)]
mod tests;
