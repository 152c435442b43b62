//! The file's form and its defaults.

use serde_json::json;

use super::*;

#[test]
fn what_a_file_leaves_out_has_its_default() {
    let file = json!({"leaderElection": {"leaseDuration": "30s"}, "logging": {"format": "json"}});
    let config: BayplanConfiguration = serde_json::from_value(file).unwrap();
    let mut expected = BayplanConfiguration::default();
    expected.leader_election.lease_duration = GoDuration::from_secs(30);
    expected.logging.format = LogFormat::Json;
    assert_eq!(config, expected);
    assert_eq!(config.leader_election.resource_name, "bayplan");
    assert_eq!(config.secure_serving.secure_port, 10259);
}

#[test]
fn unknown_fields_are_refused_at_every_level() {
    for (file, field) in [
        (json!({"parallelism": 16}), "parallelism"),
        (json!({"leaderElection": {"leaseduration": "30s"}}), "leaseduration"),
        (json!({"logging": {"level": 3}}), "level"),
    ] {
        let error = serde_json::from_value::<BayplanConfiguration>(file).unwrap_err();
        let expected = format!("unknown field `{field}`");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn written_configuration_reads_back_the_same() {
    let mut config = BayplanConfiguration::default();
    config.client_connection.kubeconfig = "/etc/bayplan/kubeconfig".into();
    config.feature_gates.insert("PodLevelResources".into(), true);
    let written = serde_json::to_value(&config).unwrap();
    assert_eq!(written["leaderElection"]["renewDeadline"], "10s");
    assert_eq!(written["secureServing"]["bindAddress"], "0.0.0.0");
    assert_eq!(serde_json::from_value::<BayplanConfiguration>(written).unwrap(), config);
}
