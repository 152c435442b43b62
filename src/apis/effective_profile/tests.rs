//! From a profile as written to the profile as it runs.

use serde_json::{Value, json};

use super::*;
use crate::apis::extension_point::ExtensionPoint::{
    Bind, Filter, PreEnqueue, QueueSort, Reserve, Score,
};
use crate::apis::plugin_catalog::tests::TestCatalog;

fn parse(mut spec: Value) -> SchedulerProfileSpec {
    spec["schedulerName"] = json!("bayplan");
    serde_json::from_value(spec).unwrap()
}

fn resolve(spec: Value) -> Result<EffectiveProfile, Vec<ProfileProblem>> {
    EffectiveProfile::try_new(&parse(spec), &TestCatalog)
}

fn names(profile: &EffectiveProfile, point: ExtensionPoint) -> Vec<&str> {
    profile
        .plugins_at(point)
        .iter()
        .map(|plugin| plugin.name.as_str())
        .collect()
}

/// The only problem of `spec`, as (reason, text).
fn problem(spec: Value) -> (ProblemReason, String) {
    let problems = resolve(spec).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    (problems[0].reason, problems[0].to_string())
}

#[test]
fn default_profile_runs_what_exists_in_upstream_order_with_upstream_weights() {
    let profile = resolve(json!({})).unwrap();
    assert_eq!(names(&profile, PreEnqueue), ["SchedulingGates"]);
    assert_eq!(names(&profile, QueueSort), ["PrioritySort"]);
    assert_eq!(
        names(&profile, Filter),
        [
            "NodeName",
            "NodeUnschedulable",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit"
        ]
    );
    let scores: Vec<_> = profile
        .plugins_at(Score)
        .iter()
        .map(|plugin| (&*plugin.name, plugin.weight))
        .collect();
    assert_eq!(
        scores,
        [
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodeResourcesFit", 1),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1)
        ]
    );
    assert_eq!(names(&profile, Bind), ["DefaultBinder"]);
    assert_eq!(names(&profile, Reserve), [""; 0]);
    assert_eq!(profile.percentage_of_nodes_to_score, 100);
}

#[test]
fn missing_default_plugins_are_remembered_with_the_points_where_they_would_run() {
    let profile = resolve(json!({})).unwrap();
    assert!(profile.misses("InterPodAffinity", Filter));
    assert!(profile.misses("VolumeBinding", Reserve));
    assert!(!profile.misses("NodeResourcesFit", Filter));
    assert_eq!(profile.disabled_missing().count(), 0);

    let profile = resolve(json!({"plugins": {
        "multiPoint": {"disabled": [{"name": "InterPodAffinity"}]},
        "filter": {"disabled": [{"name": "PodTopologySpread"}]},
        "preFilter": {"disabled": [{"name": "PodTopologySpread"}]},
    }}))
    .unwrap();
    assert!(!profile.misses("InterPodAffinity", Filter));
    assert!(!profile.misses("PodTopologySpread", Filter));
    assert!(profile.misses("PodTopologySpread", Score));
    assert_eq!(
        profile.disabled_missing().collect::<Vec<_>>(),
        ["InterPodAffinity"]
    );
}

#[test]
fn disabling_all_defaults_disables_the_missing_ones_too() {
    let profile = resolve(json!({"plugins": {"multiPoint": {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}],
    }}}))
    .unwrap();
    assert_eq!(profile.disabled_missing().count(), 9);
    assert_eq!(
        profile.plugin_names().into_iter().collect::<Vec<_>>(),
        ["DefaultBinder", "PrioritySort"]
    );
}

#[test]
fn enabling_a_plugin_that_is_not_implemented_is_refused_by_name() {
    assert_eq!(
        problem(json!({"plugins": {"score": {"enabled": [{"name": "InterPodAffinity"}]}}})),
        (
            ProblemReason::PluginNotImplemented,
            "spec.plugins.score.enabled[0].name: the plugin InterPodAffinity of kube-scheduler is \
             not implemented yet; remove it, or schedule the pods that need it with kube-scheduler"
                .to_owned()
        )
    );
    let (reason, text) = problem(json!({"pluginConfig": {"podTopologySpread": {}}}));
    assert_eq!(reason, ProblemReason::PluginNotImplemented);
    assert!(text.starts_with("spec.pluginConfig.podTopologySpread: the plugin PodTopologySpread"));
    let gang = json!({"plugins": {"multiPoint": {"enabled": [{"name": "GangScheduling"}]}}});
    assert_eq!(problem(gang).0, ProblemReason::PluginNotImplemented);
}

#[test]
fn unknown_plugin_is_refused_with_a_suggestion() {
    assert_eq!(
        problem(json!({"plugins": {"filter": {"enabled": [{"name": "NodeResourceFit"}]}}})),
        (
            ProblemReason::UnknownPlugin,
            "spec.plugins.filter.enabled[0].name: there is no plugin \"NodeResourceFit\"; did you \
             mean NodeResourcesFit?"
                .to_owned()
        )
    );
    let (reason, text) =
        problem(json!({"plugins": {"multiPoint": {"disabled": [{"name": "Coffee"}]}}}));
    assert_eq!(reason, ProblemReason::UnknownPlugin);
    assert!(
        text.contains("use one of SchedulingGates, PrioritySort"),
        "{text}"
    );
    let removed = json!({"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}});
    assert!(
        problem(removed)
            .1
            .contains("no longer has the plugin EBSLimits")
    );
}

#[test]
fn queue_order_and_binding_are_required() {
    let disable = |point: &str| json!({"plugins": {point: {"disabled": [{"name": "*"}]}}});
    assert_eq!(
        problem(disable("queueSort")).1,
        "spec.plugins.queueSort: exactly one plugin must sort the queue, not 0; enable \
         PrioritySort and no other one"
    );
    assert_eq!(
        problem(disable("bind")),
        (
            ProblemReason::InvalidPluginSet,
            "spec.plugins.bind: no plugin binds pods; enable DefaultBinder".to_owned()
        )
    );
}

#[test]
fn weights_are_checked() {
    let weighted = |point: &str, weight: i32| json!({"plugins": {point: {"enabled": [{"name": "NodeAffinity", "weight": weight}]}}});
    assert!(problem(weighted("score", -1)).1.contains("-1 is negative"));
    assert!(
        problem(weighted("filter", 2))
            .1
            .starts_with("spec.plugins.filter.enabled[0].weight")
    );
    assert!(resolve(weighted("score", i32::MAX)).is_ok());
}

#[test]
fn all_problems_are_reported_at_once() {
    let problems = resolve(json!({
        "percentageOfNodesToScore": 101,
        "plugins": {"score": {"enabled": [{"name": "Nope"}], "disabled": [{"name": "Neither"}]}},
        "pluginConfig": {"nodeResourcesFit": {"ignoredResourceGroups": ["a/b"]}},
    }))
    .unwrap_err();
    let fields: Vec<_> = problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "spec.percentageOfNodesToScore",
            "spec.plugins.score.enabled[0].name",
            "spec.plugins.score.disabled[0].name",
            "spec.pluginConfig.nodeResourcesFit.ignoredResourceGroups[0]",
        ]
    );
}

#[test]
fn two_profiles_may_not_share_a_scheduler_name() {
    let first = resolve(json!({})).unwrap();
    let problems = first.conflicts_with([("main", &first)]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].reason, ProblemReason::SchedulerNameTaken);
    let mut other = first.clone();
    other.scheduler_name = "batch".to_owned();
    assert_eq!(first.conflicts_with([("batch", &other)]), []);
}

#[test]
fn all_profiles_sort_the_queue_with_one_plugin() {
    let first = resolve(json!({})).unwrap();
    let mut other = first.clone();
    other.scheduler_name = "batch".to_owned();
    let sorting = other.plugins.get_mut(&ExtensionPoint::QueueSort).unwrap();
    sorting[0].name = "Fifo".to_owned();
    let problems = other.conflicts_with([("main", &first)]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].reason, ProblemReason::QueueSortMismatch);
    assert_eq!(
        problems[0].message,
        r#"different queue sort plugins for profile "batch": "Fifo", first: "PrioritySort""#
    );
}
