//! What is found in files, and where.

use super::*;

/// The findings about `text` as lines.
fn findings(text: &str) -> Vec<String> {
    let mut validation = Validation::default();
    validation.check_file("f.yaml", text);
    validation
        .findings
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// A profile with `spec`, whose lines are indented by two blanks.
fn profile(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: bayplan.dev/v1alpha1\nkind: SchedulerProfile\nmetadata:\n  name: {name}\n\
         spec:\n{spec}"
    )
}

#[test]
fn valid_profiles_and_configurations_have_no_findings() {
    let text = format!(
        "{}---\n{}---\napiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\n",
        profile("a", "  schedulerName: a\n"),
        profile(
            "b",
            "  schedulerName: b\n  plugins:\n    score:\n      disabled: [{name: ImageLocality}]\n"
        )
    );
    assert_eq!(findings(&text), [""; 0]);
}

#[test]
fn problems_have_the_line_of_their_field() {
    let spec =
        "  schedulerName: a\n  plugins:\n    filter:\n      enabled:\n      - name: NodeNam\n";
    assert_eq!(
        findings(&format!("# a comment\n---\n{}", profile("a", spec))),
        [
            "f.yaml:12:15: SchedulerProfile \"a\": spec.plugins.filter.enabled[0].name: there is no \
          plugin \"NodeNam\"; did you mean NodeName?"
        ]
    );
}

#[test]
fn fields_that_do_not_exist_are_found_although_the_type_ignores_them() {
    let text = profile("a", "  schedulerName: a\n  plugin: {}\n") + "extra: 1\n";
    assert_eq!(
        findings(&text),
        [
            "f.yaml:8:8: SchedulerProfile \"a\": extra: there is no such field; remove it",
            "f.yaml:7:11: SchedulerProfile \"a\": spec.plugin: there is no such field; did you mean \
             plugins?",
        ]
    );
}

#[test]
fn values_of_another_type_are_found() {
    assert_eq!(
        findings(&profile("a", "  schedulerName: 5\n")),
        [
            "f.yaml:6:18: SchedulerProfile \"a\": spec.schedulerName: invalid type: integer `5`, \
          expected a string"
        ]
    );
}

#[test]
fn texts_that_are_too_long_are_found() {
    let found = findings(&profile(
        "a",
        &format!("  schedulerName: {}\n", "x".repeat(254)),
    ));
    assert!(
        found[0].ends_with("254 characters are too many; use at most 253"),
        "{found:?}"
    );
}

#[test]
fn two_profiles_with_one_scheduler_name_conflict() {
    let text =
        profile("a", "  schedulerName: x\n") + "---\n" + &profile("b", "  schedulerName: x\n");
    assert_eq!(
        findings(&text),
        [
            "f.yaml:13:18: SchedulerProfile \"b\": spec.schedulerName: the profile \"a\" already \
          answers to \"x\"; use another schedulerName or delete one of the two profiles"
        ]
    );
}

#[test]
fn items_of_a_list_are_checked_with_paths_of_their_own() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: bayplan.dev/v1alpha1\n  \
                kind: SchedulerProfile\n  metadata: {name: a}\n  spec: {schedulerName: ''}\n";
    assert_eq!(
        findings(text),
        [
            "f.yaml:7:25: SchedulerProfile \"a\": spec.schedulerName: the name is empty; give the \
          name that pods put in spec.schedulerName"
        ]
    );
}

#[test]
fn other_kinds_and_versions_are_refused() {
    let object = |version: &str, kind: &str| format!("apiVersion: {version}\nkind: {kind}\n");
    assert_eq!(
        findings(&object("v1", "Pod")),
        ["f.yaml:2:7: Pod: kind: Pod is not expected here; give a SchedulerProfile"]
    );
    assert_eq!(
        findings(&object("bayplan.dev/v1", "SchedulerProfile")),
        [
            "f.yaml:1:13: SchedulerProfile: apiVersion: \"bayplan.dev/v1\" is no version of \
          SchedulerProfile; use bayplan.dev/v1alpha1"
        ]
    );
    let upstream = object(
        "kubescheduler.config.k8s.io/v1",
        "KubeSchedulerConfiguration",
    );
    assert!(findings(&upstream)[0].contains("this is kube-scheduler's configuration"));
    assert_eq!(
        findings("a: 1\n"),
        ["f.yaml:1:1: kind: the kind is missing; write kind: SchedulerProfile"]
    );
    assert!(findings("")[0].starts_with("f.yaml: the file is empty"));
}

#[test]
fn configurations_are_read_strictly_and_checked() {
    let text = |rest: &str| {
        format!("apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\n{rest}")
    };
    assert_eq!(
        findings(&text("leaderElection:\n  leaseDuration: 15\n")),
        [
            "f.yaml:4:18: BayplanConfiguration: leaderElection.leaseDuration: invalid type: integer \
          `15`, expected a string"
        ]
    );
    let unknown = findings(&text("leaderElection:\n  leaseduration: 15s\n"));
    assert!(
        unknown[0].starts_with(
            "f.yaml:4:18: BayplanConfiguration: leaderElection.leaseduration: unknown field"
        ),
        "{unknown:?}"
    );
    assert_eq!(
        findings(&text(
            "leaderElection:\n  leaseDuration: 5s\nfeatureGates: {GenericWorkload: true}\n"
        )),
        [
            "f.yaml:4:18: BayplanConfiguration: leaderElection.leaseDuration: 5s is not longer than \
             the renew deadline, 10s; make the lease longer or the deadline shorter, for example \
             15s and 10s",
            "f.yaml:5:33: BayplanConfiguration: featureGates.GenericWorkload: Bayplan does not have \
             the feature gate GenericWorkload yet; remove it or set it to false",
        ]
    );
}
