//! What makes a configuration valid, whether its values come from the file or from flags.

use std::time::Duration;

use super::{BayplanConfiguration, CONTENT_TYPE_JSON, LeaderElection};
use crate::apis::label_syntax;

/// client-go adds up to 20 percent to the retry period (`JitterFactor`), so a renewal can be that
/// late.
const JITTER_FACTOR: f64 = 1.2;
/// A lease that outlives this leaves the cluster without a scheduler for too long.
const MAX_LEASE_DURATION: Duration = Duration::from_hours(1);
/// The API server and kube-runtime end a watch after at most 295 seconds.
const MAX_WATCH_TIMEOUT: Duration = Duration::from_secs(294);

/// A setting without a valid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{field}: {message}; {remedy}", .flag.map(|flag| format!("--{flag} or ")).unwrap_or_default())]
pub struct ConfigurationProblem {
    /// The path of the field in the file.
    pub field: &'static str,
    /// The flag that sets the field, if there is one, without its dashes.
    pub flag: Option<&'static str>,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What to do about it, without a full stop.
    pub remedy: String,
}

/// Collects problems.
#[derive(Debug, Default)]
struct Problems(Vec<ConfigurationProblem>);

impl Problems {
    fn add(
        &mut self,
        field: &'static str,
        flag: impl Into<Option<&'static str>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.0.push(ConfigurationProblem {
            field,
            flag: flag.into(),
            message: message.into(),
            remedy: remedy.into(),
        });
    }
}

impl BayplanConfiguration {
    /// Everything that is wrong with the values. Feature gates are checked elsewhere: which ones
    /// exist is no matter of the format.
    pub fn problems(&self) -> Vec<ConfigurationProblem> {
        let mut problems = Problems::default();
        self.check_client_connection(&mut problems);
        if self.leader_election.leader_elect {
            self.leader_election.check(&mut problems);
        }
        self.check_serving(&mut problems);
        self.check_scheduling(&mut problems);
        if self.logging.verbosity > 10 {
            let message = format!("{} is out of range", self.logging.verbosity);
            problems.add(
                "logging.verbosity",
                "v",
                message,
                "use a number from 0 to 10",
            );
        }
        problems.0
    }

    fn check_client_connection(&self, problems: &mut Problems) {
        let client = &self.client_connection;
        if client.content_type != CONTENT_TYPE_JSON {
            problems.add(
                "clientConnection.contentType",
                "kube-api-content-type",
                format!("Bayplan does not speak {:?}", client.content_type),
                format!("use {CONTENT_TYPE_JSON} or leave it out"),
            );
        }
        if !client.qps.is_finite() {
            let message = format!("{} is not a number of requests a second", client.qps);
            problems.add(
                "clientConnection.qps",
                "kube-api-qps",
                message,
                "use 0 for no limit",
            );
        }
        if client.qps > 0.0 && client.burst == 0 {
            problems.add(
                "clientConnection.burst",
                "kube-api-burst",
                "no request would ever be sent",
                "use 1 or more together with a limit on requests a second",
            );
        }
    }

    fn check_serving(&self, problems: &mut Problems) {
        let serving = &self.serving;
        let (cert, key) = (&serving.tls_cert_file, &serving.tls_private_key_file);
        if cert.is_empty() && !key.is_empty() {
            problems.add(
                "serving.tlsCertFile",
                "tls-cert-file",
                "the private key has no certificate",
                "give both or neither",
            );
        }
        if key.is_empty() && !cert.is_empty() {
            problems.add(
                "serving.tlsPrivateKeyFile",
                "tls-private-key-file",
                "the certificate has no private key",
                "give both or neither",
            );
        }
        let relative = |path: &&String| !path.starts_with('/');
        if let Some(path) = serving
            .authorization_always_allow_paths
            .iter()
            .find(relative)
        {
            problems.add(
                "serving.authorizationAlwaysAllowPaths",
                "authorization-always-allow-paths",
                format!("{path:?} is not the path of a URL"),
                "begin it with a slash, for example /metrics",
            );
        }
    }

    fn check_scheduling(&self, problems: &mut Problems) {
        let scheduling = &self.scheduling;
        let initial = scheduling.pod_initial_backoff_seconds;
        if initial == 0 {
            problems.add(
                "scheduling.podInitialBackoffSeconds",
                None,
                "a pod that cannot be placed would be tried without a pause",
                "use 1 or more",
            );
        }
        if scheduling.pod_max_backoff_seconds < initial {
            let max = scheduling.pod_max_backoff_seconds;
            problems.add(
                "scheduling.podMaxBackoffSeconds",
                None,
                format!("{max} is less than podInitialBackoffSeconds, {initial}"),
                "use the same or a larger number",
            );
        }
        if scheduling
            .pod_max_in_unschedulable_pods_duration
            .0
            .is_zero()
        {
            problems.add(
                "scheduling.podMaxInUnschedulablePodsDuration",
                "pod-max-in-unschedulable-pods-duration",
                "pods that fit nowhere would be tried without a pause",
                "use a duration such as 5m",
            );
        }
        let timeout = scheduling.watch_timeout;
        if !(Duration::from_secs(1)..=MAX_WATCH_TIMEOUT).contains(&timeout.0) {
            problems.add(
                "scheduling.watchTimeout",
                "watch-timeout",
                format!("{timeout} is out of range"),
                "use a duration from 1s to 294s",
            );
        }
    }
}

impl LeaderElection {
    /// `ValidateLeaderElectionConfiguration` of upstream and `NewLeaderElector` of client-go.
    fn check(&self, problems: &mut Problems) {
        const LEASE: (&str, &str) = (
            "leaderElection.leaseDuration",
            "leader-elect-lease-duration",
        );
        const RENEW: (&str, &str) = (
            "leaderElection.renewDeadline",
            "leader-elect-renew-deadline",
        );
        let (lease, renew, retry) = (self.lease_duration, self.renew_deadline, self.retry_period);
        if lease.0 < Duration::from_secs(1) || lease.0 > MAX_LEASE_DURATION {
            let message = format!("{lease} is out of range");
            problems.add(LEASE.0, LEASE.1, message, "use a duration from 1s to 1h");
        } else if lease <= renew {
            problems.add(
                LEASE.0,
                LEASE.1,
                format!("{lease} is not longer than the renew deadline, {renew}"),
                "make the lease longer or the deadline shorter, for example 15s and 10s",
            );
        }
        if retry.0.is_zero() {
            problems.add(
                "leaderElection.retryPeriod",
                "leader-elect-retry-period",
                "replicas would ask for the lease without a pause",
                "use a duration such as 2s",
            );
        } else if renew.0.as_secs_f64() <= retry.0.as_secs_f64() * JITTER_FACTOR {
            problems.add(
                RENEW.0,
                RENEW.1,
                format!("{renew} is not longer than 1.2 times the retry period, {retry}"),
                "make the deadline longer or the period shorter, for example 10s and 2s",
            );
        }
        if self.resource_lock != "leases" {
            problems.add(
                "leaderElection.resourceLock",
                "leader-elect-resource-lock",
                format!("there is no lock of kind {:?}", self.resource_lock),
                "use leases or leave it out",
            );
        }
        for (field, flag, name) in [
            (
                "leaderElection.resourceName",
                "leader-elect-resource-name",
                &self.resource_name,
            ),
            (
                "leaderElection.resourceNamespace",
                "leader-elect-resource-namespace",
                &self.resource_namespace,
            ),
        ] {
            if !label_syntax::is_dns_subdomain(name) {
                problems.add(
                    field,
                    flag,
                    format!("{name:?} is not the name of an object"),
                    "use small letters, digits, '-' and '.'",
                );
            }
        }
    }
}
