//! The flags of `bayplan run`, named and explained as kube-scheduler's where they mean the same.

#![expect(
    clippy::doc_markdown,
    reason = "bayplan run --help prints the comments as they are"
)]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};

use crate::apis::bayplan_configuration::{BayplanConfiguration, LogFormat, TieBreaking};
use crate::apis::go_duration::GoDuration;

/// The flags as they were given; `None` leaves a setting to the file or the default.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Path of the configuration file.
    ///
    /// It holds a BayplanConfiguration. Flags go before what it says.
    #[arg(long, value_name = "FILE", help_heading = "Misc flags")]
    pub config: Option<PathBuf>,

    /// Write the configuration that results from file and flags to this file and exit.
    #[arg(long, value_name = "FILE", help_heading = "Misc flags")]
    pub write_config_to: Option<PathBuf>,

    /// Address of the API server, in place of the one in the kubeconfig.
    #[arg(long, value_name = "URL", help_heading = "Misc flags")]
    pub master: Option<String>,

    /// Path of a kubeconfig file [default: the pod's service account, else $KUBECONFIG, else
    /// ~/.kube/config].
    #[arg(long, value_name = "FILE", help_heading = "Client flags")]
    pub kubeconfig: Option<String>,

    /// Requests a second to the API server; 0 sets no limit [default: 0].
    #[arg(
        long,
        value_name = "NUMBER",
        help_heading = "Client flags",
        allow_negative_numbers = true
    )]
    pub kube_api_qps: Option<f64>,

    /// Requests that may exceed --kube-api-qps for a moment [default: 100].
    #[arg(long, value_name = "NUMBER", help_heading = "Client flags")]
    pub kube_api_burst: Option<u32>,

    /// Content type of requests [default: application/json, the only one].
    #[arg(long, value_name = "TYPE", help_heading = "Client flags")]
    pub kube_api_content_type: Option<String>,

    /// How long a watch lasts before it is opened anew [default: 3m20s].
    #[arg(long, value_name = "DURATION", help_heading = "Client flags")]
    pub watch_timeout: Option<GoDuration>,

    /// Elect a leader before scheduling, so that several replicas can run [default: true].
    #[arg(
        long,
        value_name = "BOOL",
        help_heading = "Leader election flags",
        value_parser = go_bool,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub leader_elect: Option<bool>,

    /// How long the others wait for a leader that does not renew its lease [default: 15s].
    #[arg(long, value_name = "DURATION", help_heading = "Leader election flags")]
    pub leader_elect_lease_duration: Option<GoDuration>,

    /// How long a leader tries to renew its lease before it gives up [default: 10s].
    #[arg(long, value_name = "DURATION", help_heading = "Leader election flags")]
    pub leader_elect_renew_deadline: Option<GoDuration>,

    /// How long to wait between two tries to acquire or renew the lease [default: 2s].
    #[arg(long, value_name = "DURATION", help_heading = "Leader election flags")]
    pub leader_elect_retry_period: Option<GoDuration>,

    /// Kind of object that is the lock [default: leases, the only one].
    #[arg(long, value_name = "KIND", help_heading = "Leader election flags")]
    pub leader_elect_resource_lock: Option<String>,

    /// Name of the lease [default: bayplan].
    #[arg(long, value_name = "NAME", help_heading = "Leader election flags")]
    pub leader_elect_resource_name: Option<String>,

    /// Namespace of the lease [default: kube-system].
    #[arg(long, value_name = "NAME", help_heading = "Leader election flags")]
    pub leader_elect_resource_namespace: Option<String>,

    /// IP address to serve HTTPS on [default: 0.0.0.0].
    #[arg(long, value_name = "IP", help_heading = "Secure serving flags")]
    pub bind_address: Option<IpAddr>,

    /// Port to serve HTTPS on; 0 serves nothing [default: 10259].
    #[arg(long, value_name = "PORT", help_heading = "Secure serving flags")]
    pub secure_port: Option<u16>,

    /// Certificate of the server with its chain, PEM [default: a self-signed one].
    #[arg(long, value_name = "FILE", help_heading = "Secure serving flags")]
    pub tls_cert_file: Option<String>,

    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", help_heading = "Secure serving flags")]
    pub tls_private_key_file: Option<String>,

    /// Kubeconfig for checking the tokens of clients [default: as for everything else].
    #[arg(long, value_name = "FILE", help_heading = "Secure serving flags")]
    pub authentication_kubeconfig: Option<String>,

    /// Kubeconfig for checking the rights of clients [default: as for everything else].
    #[arg(long, value_name = "FILE", help_heading = "Secure serving flags")]
    pub authorization_kubeconfig: Option<String>,

    /// Paths that everybody may read, separated by commas [default: /healthz,/readyz,/livez].
    #[arg(
        long,
        value_name = "PATHS",
        help_heading = "Secure serving flags",
        value_delimiter = ','
    )]
    pub authorization_always_allow_paths: Option<Vec<String>>,

    /// Which of equally good nodes is taken: seeded spreads pods over them, name takes the first
    /// by name [default: seeded].
    #[arg(
        long,
        value_name = "RULE",
        help_heading = "Scheduling flags",
        value_parser = PossibleValuesParser::new(["seeded", "name"]).map(|word| tie_breaking(&word)),
        hide_possible_values = true
    )]
    pub tie_break: Option<TieBreaking>,

    /// Feature gates of kube-scheduler, for example PodLevelResources=true.
    ///
    /// Gates of features that Bayplan does not have can only be set to false.
    #[arg(
        long,
        value_name = "NAME=BOOL,...",
        help_heading = "Scheduling flags",
        value_delimiter = ',',
        value_parser = feature_gate
    )]
    pub feature_gates: Vec<(String, bool)>,

    /// Form of log lines: text or json [default: text].
    #[arg(
        long,
        value_name = "FORMAT",
        help_heading = "Logs flags",
        value_parser = PossibleValuesParser::new(["text", "json"]).map(|word| log_format(&word)),
        hide_possible_values = true
    )]
    pub logging_format: Option<LogFormat>,

    /// How much is logged: 0 to 10 [default: 0].
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        help_heading = "Logs flags",
        action = ArgAction::Set
    )]
    pub verbosity: Option<u8>,

    /// DEPRECATED: longest time that a pod which fits nowhere waits for a change [default: 5m].
    #[arg(long, value_name = "DURATION", help_heading = "Deprecated flags")]
    pub pod_max_in_unschedulable_pods_duration: Option<GoDuration>,

    /// DEPRECATED: only false is accepted, there is no /debug/pprof.
    #[arg(
        long,
        value_name = "BOOL",
        help_heading = "Deprecated flags",
        value_parser = go_bool,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub profiling: Option<bool>,

    /// DEPRECATED: only false is accepted, there is no /debug/pprof.
    #[arg(
        long,
        value_name = "BOOL",
        help_heading = "Deprecated flags",
        value_parser = go_bool,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub contention_profiling: Option<bool>,
}

impl Options {
    /// Overwrites the settings for which a flag was given.
    pub(super) fn apply_to(&self, settings: &mut BayplanConfiguration) {
        let client = &mut settings.client_connection;
        set(&mut client.kubeconfig, self.kubeconfig.as_ref());
        set(&mut client.qps, self.kube_api_qps.as_ref());
        set(&mut client.burst, self.kube_api_burst.as_ref());
        set(
            &mut client.content_type,
            self.kube_api_content_type.as_ref(),
        );

        let election = &mut settings.leader_election;
        set(&mut election.leader_elect, self.leader_elect.as_ref());
        set(
            &mut election.lease_duration,
            self.leader_elect_lease_duration.as_ref(),
        );
        set(
            &mut election.renew_deadline,
            self.leader_elect_renew_deadline.as_ref(),
        );
        set(
            &mut election.retry_period,
            self.leader_elect_retry_period.as_ref(),
        );
        set(
            &mut election.resource_lock,
            self.leader_elect_resource_lock.as_ref(),
        );
        set(
            &mut election.resource_name,
            self.leader_elect_resource_name.as_ref(),
        );
        set(
            &mut election.resource_namespace,
            self.leader_elect_resource_namespace.as_ref(),
        );

        let serving = &mut settings.serving;
        set(&mut serving.bind_address, self.bind_address.as_ref());
        set(&mut serving.secure_port, self.secure_port.as_ref());
        set(&mut serving.tls_cert_file, self.tls_cert_file.as_ref());
        set(
            &mut serving.tls_private_key_file,
            self.tls_private_key_file.as_ref(),
        );
        set(
            &mut serving.authentication_kubeconfig,
            self.authentication_kubeconfig.as_ref(),
        );
        set(
            &mut serving.authorization_kubeconfig,
            self.authorization_kubeconfig.as_ref(),
        );
        let paths = self.authorization_always_allow_paths.as_ref();
        set(&mut serving.authorization_always_allow_paths, paths);

        let scheduling = &mut settings.scheduling;
        set(&mut scheduling.watch_timeout, self.watch_timeout.as_ref());
        set(&mut scheduling.tie_break, self.tie_break.as_ref());
        let parked = self.pod_max_in_unschedulable_pods_duration.as_ref();
        set(
            &mut scheduling.pod_max_in_unschedulable_pods_duration,
            parked,
        );

        set(&mut settings.logging.format, self.logging_format.as_ref());
        set(&mut settings.logging.verbosity, self.verbosity.as_ref());
        let gates: BTreeMap<_, _> = self.feature_gates.iter().cloned().collect();
        settings.feature_gates.extend(gates);
    }
}

fn set<T: Clone>(setting: &mut T, flag: Option<&T>) {
    if let Some(value) = flag {
        *setting = value.clone();
    }
}

/// The words that Go's `strconv.ParseBool` takes.
fn go_bool(word: &str) -> Result<bool, String> {
    match word {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

fn feature_gate(pair: &str) -> Result<(String, bool), String> {
    let Some((name, value)) = pair.split_once('=') else {
        return Err(format!(
            "{pair:?} has no value, write {pair}=true or {pair}=false"
        ));
    };
    let value = go_bool(value.trim()).map_err(|_| format!("set {name} to true or false"))?;
    Ok((name.trim().to_owned(), value))
}

fn tie_breaking(word: &str) -> TieBreaking {
    match word {
        "name" => TieBreaking::Name,
        _ => TieBreaking::Seeded,
    }
}

fn log_format(word: &str) -> LogFormat {
    match word {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    }
}
