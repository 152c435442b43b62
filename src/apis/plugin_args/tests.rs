//! Defaults and validation of arguments, with upstream's cases.

use serde_json::{Value, json};

use super::*;

fn check(config: Value) -> Vec<String> {
    let config: PluginConfig = serde_json::from_value(config).unwrap();
    match EffectivePluginArgs::try_new(&config, "args") {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn complete(config: Value) -> Value {
    let config: PluginConfig = serde_json::from_value(config).unwrap();
    serde_json::to_value(EffectivePluginArgs::try_new(&config, "args").unwrap()).unwrap()
}

#[test]
fn defaults_are_upstreams_except_that_preemption_tries_every_node() {
    let cpu_and_memory = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
    let defaults = json!({
        "defaultPreemption": {},
        "dynamicResources": {"filterTimeout": "10s", "bindingTimeout": "10m0s"},
        "interPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": false},
        "nodeAffinity": {},
        "nodeResourcesBalancedAllocation": {"resources": cpu_and_memory},
        "nodeResourcesFit": {
            "scoringStrategy": {"type": "LeastAllocated", "resources": cpu_and_memory},
        },
        "podTopologySpread": {"defaultingType": "System"},
        "volumeBinding": {
            "bindTimeoutSeconds": 600,
            "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
        },
    });
    assert_eq!(complete(json!({})), defaults);
    // Naming a plugin without saying anything is the same as not naming it.
    let named = json!({"defaultPreemption": {}, "dynamicResources": {}, "interPodAffinity": {},
        "nodeAffinity": {}, "nodeResourcesBalancedAllocation": {}, "podTopologySpread": {},
        "nodeResourcesFit": {"scoringStrategy": {"resources": []}}, "volumeBinding": {"shape": []}});
    assert_eq!(complete(named), defaults);
}

#[test]
fn weight_zero_of_a_resource_becomes_one() {
    let args = complete(json!({"nodeResourcesFit": {
        "scoringStrategy": {"resources": [{"name": "nvidia.com/gpu", "weight": 0}]}
    }}));
    assert_eq!(
        args["nodeResourcesFit"]["scoringStrategy"]["resources"],
        json!([{"name": "nvidia.com/gpu", "weight": 1}])
    );
}

#[test]
fn valid_arguments_pass() {
    for config in [
        json!({"nodeResourcesFit": {"ignoredResources": ["example.com/foo"],
            "ignoredResourceGroups": ["example.org"],
            "scoringStrategy": {"type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": 100, "score": 10}]},
                "resources": [{"name": "cpu", "weight": 100}]}}}),
        json!({"podTopologySpread": {"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}}),
        json!({"nodeAffinity": {"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["7"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference":
                {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}]}}}),
    ] {
        assert_eq!(check(config), [""; 0]);
    }
}

#[test]
fn invalid_arguments_are_named_with_their_field() {
    let shape = |points: Value| {
        json!({"nodeResourcesFit": {"scoringStrategy": {"type": "RequestedToCapacityRatio",
            "requestedToCapacityRatio": {"shape": points}}}})
    };
    let point = |utilization: i32, score: i32| json!({"utilization": utilization, "score": score});
    let fit = "args.nodeResourcesFit.scoringStrategy";
    let ratio = format!("{fit}.requestedToCapacityRatio");
    let cases = [
        (json!({"defaultPreemption": {"minCandidateNodesPercentage": 101}}),
            "args.defaultPreemption.minCandidateNodesPercentage: 101 is out of range".to_owned()),
        (json!({"defaultPreemption":
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}}),
            "args.defaultPreemption: no node would be looked at".to_owned()),
        (json!({"dynamicResources": {"bindingTimeout": "900ms"}}),
            "args.dynamicResources.bindingTimeout: 900ms is too short".to_owned()),
        (json!({"interPodAffinity": {"hardPodAffinityWeight": -1}}),
            "args.interPodAffinity.hardPodAffinityWeight: -1 is out of range".to_owned()),
        (json!({"volumeBinding": {"bindTimeoutSeconds": -1}}),
            "args.volumeBinding.bindTimeoutSeconds: -1 is out of range".to_owned()),
        (json!({"nodeResourcesFit": {"ignoredResources": ["a b"]}}),
            "args.nodeResourcesFit.ignoredResources[0]: \"a b\" is not a label key".to_owned()),
        (json!({"nodeResourcesFit": {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}}}),
            format!("{fit}.resources[0].weight: 101 is out of range")),
        (json!({"nodeResourcesFit": {"scoringStrategy": {"type": "RequestedToCapacityRatio"}}}),
            format!("{ratio}: the strategy RequestedToCapacityRatio needs a shape")),
        (json!({"nodeResourcesFit": {"scoringStrategy": {"requestedToCapacityRatio": {"shape": []}}}}),
            format!("{ratio}: only the strategy RequestedToCapacityRatio takes a shape")),
        (shape(json!([])), format!("{ratio}.shape: the shape has no point")),
        (shape(json!([point(50, 1), point(50, 2)])),
            format!("{ratio}.shape[1].utilization: 50 does not rise above the point before")),
        (shape(json!([point(0, 11)])), format!("{ratio}.shape[0].score: 11 is out of range")),
        (json!({"nodeResourcesBalancedAllocation": {"resources": [{"name": "cpu", "weight": 2}]}}),
            "args.nodeResourcesBalancedAllocation.resources[0].weight: 2 is not 1".to_owned()),
        (json!({"nodeResourcesBalancedAllocation": {"resources": [{"name": "cpu"}, {"name": "cpu"}]}}),
            "args.nodeResourcesBalancedAllocation.resources[1].name: \"cpu\" is listed twice".to_owned()),
        (json!({"podTopologySpread": {"defaultConstraints":
            [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]}}),
            "args.podTopologySpread.defaultingType: System leaves defaultConstraints unused".to_owned()),
        (json!({"podTopologySpread": {"defaultingType": "List", "defaultConstraints":
            [{"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]}}),
            "args.podTopologySpread.defaultConstraints[0].maxSkew: 0 is out of range".to_owned()),
        (json!({"podTopologySpread": {"defaultingType": "List", "defaultConstraints":
            [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"},
             {"maxSkew": 2, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]}}),
            "args.podTopologySpread.defaultConstraints[1]: topologyKey and whenUnsatisfiable repeat".to_owned()),
    ];
    for (config, want) in cases {
        let problems = check(config);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with(&want),
            "{}\nis not\n{want}",
            problems[0]
        );
    }
}

#[test]
fn added_affinity_is_judged_as_upstream_judges_it() {
    let check_one = |field: &str, requirement: Value| {
        check(json!({"nodeAffinity": {"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{field: [requirement]}]}}}}))
    };
    for (field, requirement, want) in [
        (
            "matchExpressions",
            json!({"key": "a", "operator": "In"}),
            "In and NotIn need values",
        ),
        (
            "matchExpressions",
            json!({"key": "a", "operator": "Exists", "values": ["x"]}),
            "Exists and DoesNotExist take no values",
        ),
        (
            "matchExpressions",
            json!({"key": "a", "operator": "Lt", "values": ["x"]}),
            "Gt and Lt take one whole number",
        ),
        (
            "matchExpressions",
            json!({"key": "a", "operator": "Near"}),
            "\"Near\" is not an operator",
        ),
        (
            "matchExpressions",
            json!({"key": "a b", "operator": "Exists"}),
            "not a label key",
        ),
        (
            "matchExpressions",
            json!({"key": "a", "operator": "In", "values": ["x y"]}),
            "not a label value",
        ),
        (
            "matchFields",
            json!({"key": "metadata.name", "operator": "Exists"}),
            "\"Exists\" is no operator for fields",
        ),
        (
            "matchFields",
            json!({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}),
            "a field takes exactly one value",
        ),
    ] {
        let problems = check_one(field, requirement);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(want), "{}", problems[0]);
        assert!(problems[0].contains(&format!("nodeSelectorTerms[0].{field}[0]")));
    }
}
