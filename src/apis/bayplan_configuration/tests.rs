//! Defaults, strictness and validation of the configuration file.

use serde_json::{Value, json};

use super::*;

fn parse(mut document: Value) -> Result<BayplanConfiguration, serde_json::Error> {
    document["apiVersion"] = json!("bayplan.dev/v1alpha1");
    document["kind"] = json!("BayplanConfiguration");
    serde_json::from_value(document)
}

fn problems(document: Value) -> Vec<String> {
    let configuration = parse(document).unwrap();
    configuration
        .problems()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn an_empty_file_has_the_defaults_and_they_are_valid() {
    let configuration = parse(json!({})).unwrap();
    assert_eq!(configuration, BayplanConfiguration::default());
    assert_eq!(configuration.problems(), []);
    assert_eq!(
        serde_json::to_value(&configuration).unwrap(),
        json!({
            "apiVersion": "bayplan.dev/v1alpha1",
            "kind": "BayplanConfiguration",
            "clientConnection": {
                "kubeconfig": "", "contentType": "application/json", "qps": 0.0, "burst": 100,
            },
            "leaderElection": {
                "leaderElect": true, "leaseDuration": "15s", "renewDeadline": "10s",
                "retryPeriod": "2s", "resourceLock": "leases", "resourceName": "bayplan",
                "resourceNamespace": "kube-system",
            },
            "serving": {
                "bindAddress": "0.0.0.0", "securePort": 10259, "tlsCertFile": "",
                "tlsPrivateKeyFile": "", "authenticationKubeconfig": "",
                "authorizationKubeconfig": "",
                "authorizationAlwaysAllowPaths": ["/healthz", "/readyz", "/livez"],
            },
            "scheduling": {
                "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 10,
                "podMaxInUnschedulablePodsDuration": "5m0s", "watchTimeout": "3m20s",
                "tieBreak": "seeded",
            },
            "logging": {"format": "text", "verbosity": 0},
        })
    );
}

#[test]
fn unknown_fields_versions_and_kinds_are_refused() {
    for document in [
        json!({"leaderElect": true}),
        json!({"leaderElection": {"leasDuration": "15s"}}),
        json!({"clientConnection": {"Kubeconfig": ""}}),
    ] {
        assert!(
            parse(document)
                .unwrap_err()
                .to_string()
                .starts_with("unknown field")
        );
    }
    let other =
        json!({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "BayplanConfiguration"});
    assert!(serde_json::from_value::<BayplanConfiguration>(other).is_err());
}

#[test]
fn values_that_contradict_each_other_are_named_with_flag_and_field() {
    let election = |fields: Value| json!({"leaderElection": fields});
    let cases = [
        (
            election(json!({"leaseDuration": "10s"})),
            "--leader-elect-lease-duration or leaderElection.leaseDuration: 10s is not longer than \
             the renew deadline, 10s",
        ),
        (
            election(json!({"leaseDuration": "2h"})),
            "--leader-elect-lease-duration or leaderElection.leaseDuration: 2h0m0s is out of range",
        ),
        (
            election(json!({"retryPeriod": "9s"})),
            "--leader-elect-renew-deadline or leaderElection.renewDeadline: 10s is not longer than \
             1.2 times the retry period, 9s",
        ),
        (
            election(json!({"retryPeriod": "0s"})),
            "--leader-elect-retry-period or leaderElection.retryPeriod: replicas would ask",
        ),
        (
            election(json!({"resourceLock": "endpoints"})),
            "--leader-elect-resource-lock or leaderElection.resourceLock: there is no lock of kind",
        ),
        (
            election(json!({"resourceName": ""})),
            "--leader-elect-resource-name or leaderElection.resourceName: \"\" is not the name",
        ),
        (
            json!({"clientConnection": {"contentType": "application/vnd.kubernetes.protobuf"}}),
            "--kube-api-content-type or clientConnection.contentType: Bayplan does not speak",
        ),
        (
            json!({"clientConnection": {"qps": 5, "burst": 0}}),
            "--kube-api-burst or clientConnection.burst: no request would ever be sent",
        ),
        (
            json!({"serving": {"tlsCertFile": "a.pem"}}),
            "--tls-private-key-file or serving.tlsPrivateKeyFile: the certificate has no private key",
        ),
        (
            json!({"serving": {"authorizationAlwaysAllowPaths": ["metrics"]}}),
            "--authorization-always-allow-paths or serving.authorizationAlwaysAllowPaths: \
             \"metrics\" is not the path of a URL",
        ),
        (
            json!({"scheduling": {"podInitialBackoffSeconds": 0}}),
            "scheduling.podInitialBackoffSeconds: a pod that cannot be placed",
        ),
        (
            json!({"scheduling": {"podInitialBackoffSeconds": 20}}),
            "scheduling.podMaxBackoffSeconds: 10 is less than podInitialBackoffSeconds, 20",
        ),
        (
            json!({"scheduling": {"watchTimeout": "295s"}}),
            "--watch-timeout or scheduling.watchTimeout: 4m55s is out of range",
        ),
        (
            json!({"logging": {"verbosity": 11}}),
            "--v or logging.verbosity: 11 is out of range",
        ),
    ];
    for (document, want) in cases {
        let found = problems(document);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(want), "{}\nis not\n{want}", found[0]);
    }
}

#[test]
fn leases_do_not_matter_without_an_election() {
    let document = json!({"leaderElection": {"leaderElect": false, "leaseDuration": "1s"}});
    assert_eq!(problems(document), [""; 0]);
}
