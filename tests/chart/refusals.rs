//! Values that are refused, and the sentence that says why.

use crate::helm::try_template;

/// Renders with `--set VALUES` and returns what helm says, or "rendered".
fn refusal(values: &str) -> String {
    match try_template("kube-system", &["--set", values]) {
        Ok(_) => "rendered".to_owned(),
        Err(message) => message,
    }
}

#[test]
fn mistyped_and_ill_typed_values_are_refused_by_the_schema() {
    for (values, want) in [
        (
            "replicaCont=1",
            "additional properties 'replicaCont' not allowed",
        ),
        (
            "image.tga=1",
            "at '/image': additional properties 'tga' not allowed",
        ),
        (
            "leaderElection.leaseDuraton=1s",
            "additional properties 'leaseDuraton' not allowed",
        ),
        (
            "profiles[0].nme=a",
            "additional properties 'nme' not allowed",
        ),
        (
            "profiles[0].name=a,profiles[0].spec.plugins=x",
            "missing property 'schedulerName'",
        ),
        (
            "replicaCount=two",
            "at '/replicaCount': got string, want integer",
        ),
        (
            "leaderElection.leaseDuration=soon",
            "'soon' does not match pattern",
        ),
        ("image.digest=latest", "'latest' does not match pattern"),
        ("logging.format=xml", "value must be one of 'json', 'text'"),
        (
            "podDisruptionBudget.maxUnavailable=half",
            "'half' does not match pattern",
        ),
        (
            "bindAddress=localhost",
            "'localhost' does not match pattern",
        ),
        ("extraArgs[0]=run", "'run' does not match pattern"),
    ] {
        let message = refusal(values);
        assert!(
            message.contains(want),
            "{values}: expected {want:?} in: {message}"
        );
    }
}

#[test]
fn values_of_a_parent_chart_are_accepted() {
    assert_eq!(
        refusal("global.registry=example.org,enabled=true"),
        "rendered"
    );
}

#[test]
fn unsafe_combinations_are_refused_with_the_remedy() {
    for (values, want) in [
        (
            "schedulerName=bayplan",
            "let another scheduler place them, or set allowSelfScheduling",
        ),
        (
            "profiles[0].name=main,profiles[0].spec.schedulerName=default-scheduler",
            "schedulerName: \"default-scheduler\" is a profile of this release",
        ),
        (
            "podDisruptionBudget.minAvailable=1,podDisruptionBudget.maxUnavailable=0",
            "minAvailable and maxUnavailable are both set",
        ),
        (
            "leaderElection.leaseDuration=10s",
            "leaseDuration (10s) must be longer than renewDeadline",
        ),
        (
            "leaderElection.leaseDuration=9999ms",
            "leaseDuration (9999ms) must be longer than",
        ),
        (
            "leaderElection.renewDeadline=2400ms",
            "must be longer than 1.2 times retryPeriod (2s)",
        ),
        (
            "leaderElection.retryPeriod=0s",
            "retryPeriod must be longer than 0",
        ),
        (
            "leaderElection.enabled=false",
            "set replicaCount=1 or leaderElection.enabled=true",
        ),
        (
            "serviceAccount.create=false",
            "name an existing ServiceAccount",
        ),
        (
            "profiles[0].name=a,profiles[0].spec.schedulerName=x,\
             profiles[1].name=a,profiles[1].spec.schedulerName=y",
            "two of them are called \"a\"",
        ),
        (
            "profiles[0].name=a,profiles[0].spec.schedulerName=x,\
             profiles[1].name=b,profiles[1].spec.schedulerName=x",
            "two of them have the schedulerName \"x\"",
        ),
    ] {
        let message = refusal(values);
        assert!(
            message.contains(want),
            "{values}: expected {want:?} in: {message}"
        );
    }
}

#[test]
fn neighbours_of_the_refused_combinations_are_accepted() {
    for values in [
        "schedulerName=bayplan,allowSelfScheduling=true",
        "podDisruptionBudget.minAvailable=1",
        "podDisruptionBudget.maxUnavailable=0",
        "leaderElection.leaseDuration=10001ms",
        "leaderElection.leaseDuration=1m1s,leaderElection.renewDeadline=1m",
        "leaderElection.renewDeadline=2401ms",
        "leaderElection.enabled=false,replicaCount=1",
        "serviceAccount.create=false,serviceAccount.name=scheduler",
    ] {
        assert_eq!(refusal(values), "rendered", "{values}");
    }
}
