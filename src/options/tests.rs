//! Flags over file over defaults, and what is refused.

use clap::{Args, Command, FromArgMatches};
use serde_json::json;

use super::*;
use crate::apis::bayplan_configuration::{LogFormat, TieBreaking};
use crate::apis::go_duration::GoDuration;

fn parse(flags: &[&str]) -> Result<Options, clap::Error> {
    let command = Options::augment_args(Command::new("run").no_binary_name(true));
    let matches = command.try_get_matches_from(flags)?;
    Options::from_arg_matches(&matches)
}

fn settings(flags: &[&str]) -> BayplanConfiguration {
    parse(flags).unwrap().config(None).unwrap().settings
}

/// The only sentence that refuses `flags`.
fn refusal(flags: &[&str]) -> String {
    let errors = parse(flags).unwrap().config(None).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].to_string()
}

#[test]
fn no_flags_are_the_defaults() {
    assert_eq!(settings(&[]), BayplanConfiguration::default());
}

#[test]
fn flags_go_before_the_file_and_the_file_before_the_defaults() {
    let file: BayplanConfiguration = serde_json::from_value(json!({
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "BayplanConfiguration",
        "leaderElection": {"resourceName": "from-file", "leaseDuration": "30s"},
        "featureGates": {"PodLevelResources": true, "GenericWorkload": false},
    }))
    .unwrap();
    let options = parse(&["--leader-elect-resource-name=from-flag"]).unwrap();
    let election = options.config(Some(file)).unwrap().settings.leader_election;
    assert_eq!(election.resource_name, "from-flag");
    assert_eq!(election.lease_duration, GoDuration::from_secs(30));
    assert_eq!(election.renew_deadline, GoDuration::from_secs(10));
}

#[test]
fn later_flags_go_before_earlier_ones() {
    let before = parse(&["--secure-port=1", "--master=https://a", "--profiling"]).unwrap();
    let after = parse(&["--secure-port=2", "--profiling=false", "--tie-break=name"]).unwrap();
    let config = Config::try_new(None, &[&before, &after]).unwrap();
    assert_eq!(config.settings.serving.secure_port, 2);
    assert_eq!(config.master.as_deref(), Some("https://a"));
    assert_eq!(config.engine(7).tie_break, TieBreak::Name);
    assert_eq!(config.engine(7).queue, QueueConfig::default());
}

#[test]
fn requests_are_limited_only_when_asked_for() {
    let limit = |flags: &[&str]| parse(flags).unwrap().config(None).unwrap().rate_limit();
    assert_eq!(limit(&[]), None);
    assert_eq!(limit(&["--kube-api-qps=-1"]), None);
    let want = RateLimit {
        qps: 20.0,
        burst: 100,
    };
    assert_eq!(limit(&["--kube-api-qps=20"]), Some(want));
}

#[test]
fn every_flag_reaches_its_setting() {
    let config = parse(&[
        "--master=https://10.0.0.1:6443",
        "--kubeconfig=/k",
        "--kube-api-qps=5.5",
        "--kube-api-burst=7",
        "--kube-api-content-type=application/json",
        "--watch-timeout=1m",
        "--leader-elect=false",
        "--leader-elect-lease-duration=1m",
        "--leader-elect-renew-deadline=40s",
        "--leader-elect-retry-period=500ms",
        "--leader-elect-resource-lock=leases",
        "--leader-elect-resource-name=n",
        "--leader-elect-resource-namespace=ns",
        "--bind-address=::1",
        "--secure-port=0",
        "--tls-cert-file=/c",
        "--tls-private-key-file=/p",
        "--authentication-kubeconfig=/a",
        "--authorization-kubeconfig=/z",
        "--authorization-always-allow-paths=/healthz,/metrics",
        "--tie-break=name",
        "--feature-gates=PodLevelResources=true,GenericWorkload=false",
        "--logging-format=json",
        "-v=4",
        "--pod-max-in-unschedulable-pods-duration=90s",
    ])
    .unwrap()
    .config(None)
    .unwrap();
    assert_eq!(config.master.as_deref(), Some("https://10.0.0.1:6443"));
    let want: BayplanConfiguration = serde_json::from_value(json!({
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "BayplanConfiguration",
        "clientConnection": {
            "kubeconfig": "/k", "contentType": "application/json", "qps": 5.5, "burst": 7,
        },
        "leaderElection": {
            "leaderElect": false, "leaseDuration": "1m", "renewDeadline": "40s",
            "retryPeriod": "500ms", "resourceName": "n", "resourceNamespace": "ns",
        },
        "serving": {
            "bindAddress": "::1", "securePort": 0, "tlsCertFile": "/c",
            "tlsPrivateKeyFile": "/p", "authenticationKubeconfig": "/a",
            "authorizationKubeconfig": "/z",
            "authorizationAlwaysAllowPaths": ["/healthz", "/metrics"],
        },
        "scheduling": {
            "podMaxInUnschedulablePodsDuration": "90s", "watchTimeout": "1m", "tieBreak": "name",
        },
        "logging": {"format": "json", "verbosity": 4},
        "featureGates": {"PodLevelResources": true, "GenericWorkload": false},
    }))
    .unwrap();
    assert_eq!(config.settings, want);
    assert_eq!(
        config.warnings,
        [
            "the flag --pod-max-in-unschedulable-pods-duration is deprecated: set \
          scheduling.podMaxInUnschedulablePodsDuration in the configuration file"
        ]
    );
}

#[test]
fn booleans_are_written_as_go_writes_them() {
    assert!(settings(&["--leader-elect"]).leader_election.leader_elect);
    assert!(settings(&["--leader-elect=T"]).leader_election.leader_elect);
    assert!(!settings(&["--leader-elect=0"]).leader_election.leader_elect);
    assert!(
        !settings(&["--leader-elect=False"])
            .leader_election
            .leader_elect
    );
    let error = parse(&["--leader-elect=maybe"]).unwrap_err().to_string();
    assert!(
        error.contains("'--leader-elect[=<BOOL>]': write true or false"),
        "{error}"
    );
    // As in Go, a word that follows is no value.
    assert!(parse(&["--leader-elect", "false"]).is_err());
}

#[test]
fn verbosity_is_written_short_long_and_with_or_without_equals() {
    for flags in [
        &["-v=3"][..],
        &["-v", "3"],
        &["-v3"],
        &["--v=3"],
        &["--v", "3"],
    ] {
        assert_eq!(settings(flags).logging.verbosity, 3, "{flags:?}");
    }
    assert_eq!(
        settings(&["--logging-format=text"]).logging.format,
        LogFormat::Text
    );
    assert_eq!(
        settings(&["--tie-break=seeded"]).scheduling.tie_break,
        TieBreaking::Seeded
    );
}

#[test]
fn values_that_are_no_values_are_refused_while_parsing() {
    for (flags, want) in [
        (
            &["--leader-elect-lease-duration=15"][..],
            "\"15\" has no unit, write for example 15s",
        ),
        (&["--secure-port=65536"], "65536 is not in 0..=65535"),
        (&["--bind-address=localhost"], "invalid IP address syntax"),
        (
            &["--feature-gates=PodLevelResources"],
            "write PodLevelResources=true",
        ),
        (
            &["--feature-gates=PodLevelResources=on"],
            "set PodLevelResources to true or false",
        ),
        (&["--logging-format=xml"], "[possible values: text, json]"),
        (
            &["--leader-elct=true"],
            "tip: a similar argument exists: '--leader-elect'",
        ),
    ] {
        let error = parse(flags).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn what_bayplan_does_not_offer_is_refused_by_name() {
    assert_eq!(
        refusal(&["--profiling"]),
        "--profiling: Bayplan serves no /debug/pprof; remove the flag or set it to false"
    );
    assert!(refusal(&["--contention-profiling=true"]).starts_with("--contention-profiling:"));
    assert!(parse(&["--profiling=false"]).unwrap().config(None).is_ok());
    assert_eq!(
        refusal(&["--kube-api-content-type=application/vnd.kubernetes.protobuf"]),
        "--kube-api-content-type or clientConnection.contentType: Bayplan does not speak \
         \"application/vnd.kubernetes.protobuf\"; use application/json or leave it out"
    );
}

#[test]
fn feature_gates_are_accepted_if_they_ask_for_what_is_done_anyway() {
    for flag in [
        "DynamicResourceAllocation=true",
        "PodLevelResources=1",
        "GenericWorkload=false",
    ] {
        assert!(
            parse(&["--feature-gates", flag])
                .unwrap()
                .config(None)
                .is_ok(),
            "{flag}"
        );
    }
    let gate = |flag: &str| refusal(&["--feature-gates", flag]);
    assert_eq!(
        gate("GenericWorkload=true"),
        "--feature-gates or featureGates: Bayplan does not have the feature gate GenericWorkload \
         yet; remove it or set it to false"
    );
    assert_eq!(
        gate("InPlacePodVerticalScaling=false"),
        "--feature-gates or featureGates: the feature gate InPlacePodVerticalScaling cannot be \
         switched off; remove it or set it to true"
    );
    assert_eq!(
        gate("PodLevelResource=true"),
        "--feature-gates or featureGates: kube-scheduler 1.37 has no feature gate \
         \"PodLevelResource\"; did you mean PodLevelResources?"
    );
}

#[test]
fn feature_gates_are_listed_once_and_by_name() {
    assert!(FEATURE_GATES.is_sorted_by(|a, b| a.name < b.name));
}

#[test]
fn infinite_rates_are_refused() {
    assert!(refusal(&["--kube-api-qps=inf"]).contains("inf is not a number of requests a second"));
    assert!(settings(&["--kube-api-qps=-1"]).client_connection.qps < 0.0);
}
