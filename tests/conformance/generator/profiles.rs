//! Scheduler profiles with other plugins, weights and arguments.

use serde_json::{Value, json};

use crate::generator::families::Family;
use crate::generator::{Plan, containers, node_affinity};

const SCORERS: [&str; 7] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "PodTopologySpread",
];

/// Those that score without having prepared anything.
const STATELESS_SCORERS: [&str; 3] = [
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
];

/// Plugins that can be left out at all extension points.
const OPTIONAL: [&str; 9] = [
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "InterPodAffinity",
    "PodTopologySpread",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
];

/// The profiles of the cluster, often none; `plan` learns their names.
pub(super) fn profiles(plan: &mut Plan) -> Vec<Value> {
    if !plan.families.has(Family::Profiles) {
        return Vec::new();
    }
    let names: &[&str] = if plan.dice.chance(50) {
        &["default-scheduler"]
    } else {
        &["default-scheduler", "second"]
    };
    plan.schedulers = names.iter().map(|name| (*name).to_owned()).collect();
    names.iter().map(|name| profile(plan, name)).collect()
}

fn profile(plan: &mut Plan, name: &str) -> Value {
    let mut spec = json!({"schedulerName": name});
    if plan.dice.chance(70) {
        spec["plugins"] = plugins(plan);
    }
    spec["pluginConfig"] = plugin_config(plan);
    json!({"apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
        "metadata": {"name": name}, "spec": spec})
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

fn plugins(plan: &mut Plan) -> Value {
    let known = |names: &[&'static str]| -> Vec<&'static str> {
        let is_known = |name: &&&'static str| plan.plugins.contains(*name);
        names.iter().filter(is_known).copied().collect()
    };
    let (mut scorers, optional) = (known(&SCORERS), known(&OPTIONAL));
    let mut filters = vec!["NodeResourcesFit", "NodePorts", "NodeAffinity"];
    let dice = &mut plan.dice;
    let mut plugins = json!({});
    if dice.chance(35) {
        let left_out = dice.hand(&optional, 1);
        // Upstream's attempts fail when a plugin runs without what it prepares earlier.
        filters.retain(|name| !left_out.contains(name));
        scorers.retain(|name| !left_out.contains(name) || STATELESS_SCORERS.contains(name));
        plugins["multiPoint"]["disabled"] = named(&left_out);
    }
    if dice.chance(25) {
        let some = ["NodePorts", "NodeResourcesFit", "TaintToleration"];
        plugins["filter"]["disabled"] = named(&dice.hand(&some, 1));
    }
    if dice.chance(25) {
        plugins["score"]["disabled"] = named(&dice.hand(&scorers, 2));
    } else if dice.chance(40) {
        let count = dice.between(1, 3);
        let enabled: Vec<_> = dice
            .hand(&scorers, count)
            .into_iter()
            .map(|name| match dice.below(5) {
                0 => json!({"name": name}),
                _ => json!({"name": name, "weight": dice.between(1, 10)}),
            })
            .collect();
        plugins["score"]["enabled"] = enabled.into();
        if dice.chance(30) {
            plugins["score"]["disabled"] = named(&["*"]);
        }
    }
    if dice.chance(10) {
        plugins["postFilter"]["disabled"] = named(&["DefaultPreemption"]);
    }
    if dice.chance(15) {
        // Another order: what is enabled at the point itself goes first.
        plugins["filter"]["enabled"] = named(&dice.hand(&filters, 2));
    }
    plugins
}

fn plugin_config(plan: &mut Plan) -> Value {
    let mut config = json!({});
    if plan.dice.chance(50) {
        config["nodeResourcesFit"] = fit(plan);
    }
    if plan.dice.chance(30) {
        let names = ["cpu", "memory", "ephemeral-storage", containers::GPU];
        let count = plan.dice.between(1, 4);
        config["nodeResourcesBalancedAllocation"]["resources"] =
            named(&plan.dice.hand(&names, count));
    }
    if plan.dice.chance(30) {
        config["nodeAffinity"]["addedAffinity"] = node_affinity::affinity(plan);
    }
    if plan.plugins.contains(&"InterPodAffinity") && plan.dice.chance(40) {
        config["interPodAffinity"] = json!({
            "hardPodAffinityWeight": plan.dice.between(0, 100),
            "ignorePreferredTermsOfExistingPods": plan.dice.chance(50)});
    }
    if plan.plugins.contains(&"PodTopologySpread") && plan.dice.chance(30) {
        config["podTopologySpread"] = default_spread(plan);
    }
    if plan.plugins.contains(&"DefaultPreemption") && plan.dice.chance(40) {
        // The number of candidates does not matter: both look at all.
        config["defaultPreemption"] = json!({
            "minCandidateNodesPercentage": plan.dice.between(0, 100),
            "minCandidateNodesAbsolute": plan.dice.between(1, 20)});
    }
    if plan.plugins.contains(&"VolumeBinding") && plan.dice.chance(40) {
        config["volumeBinding"]["shape"] = match plan.dice.below(3) {
            0 => json!([{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]),
            1 => json!([{"utilization": 0, "score": 10}, {"utilization": 5, "score": 2},
                {"utilization": 40, "score": 9}, {"utilization": 100, "score": 1}]),
            _ => json!([{"utilization": 30, "score": 4}]),
        };
    }
    config
}

fn fit(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    let mut args = json!({});
    if dice.chance(25) {
        args["ignoredResources"] = json!([containers::GPU]);
    }
    if dice.chance(20) {
        args["ignoredResourceGroups"] = json!(["example.com"]);
    }
    if dice.chance(80) {
        let names = ["cpu", "memory", "ephemeral-storage", containers::GPU];
        let count = dice.between(1, 4);
        let resources: Vec<_> = dice
            .hand(&names, count)
            .into_iter()
            .map(|name| json!({"name": name, "weight": dice.between(1, 5)}))
            .collect();
        args["scoringStrategy"] = match dice.below(3) {
            0 => json!({"type": "LeastAllocated", "resources": resources}),
            1 => json!({"type": "MostAllocated", "resources": resources}),
            _ => {
                let shape = match dice.below(3) {
                    0 => json!([{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]),
                    1 => json!([{"utilization": 0, "score": 10}, {"utilization": 33, "score": 3},
                        {"utilization": 100, "score": 7}]),
                    _ => json!([{"utilization": 50, "score": 9}]),
                };
                json!({"type": "RequestedToCapacityRatio", "resources": resources,
                    "requestedToCapacityRatio": {"shape": shape}})
            }
        };
    }
    args
}

fn default_spread(plan: &mut Plan) -> Value {
    let dice = &mut plan.dice;
    let constraints = [
        json!({"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway"}),
        json!({"maxSkew": 2, "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule"}),
        json!({"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}),
    ];
    let count = dice.between(0, 3);
    json!({"defaultingType": "List", "defaultConstraints": dice.hand(&constraints, count)})
}
