//! The profiles of a cluster, as each side and its judges are given them.

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use serde_json::{Value, json};

/// The plugins that decide in a real cluster.
pub(crate) fn live_plugins() -> Vec<&'static str> {
    let there = Registry.names();
    let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    default.filter(|name| there.contains(name)).collect()
}

/// What Bayplan calls upstream's profile `scheduler`: both run in one cluster.
pub(crate) fn name(scheduler: &str) -> String {
    match scheduler {
        "default-scheduler" => "bayplan".to_owned(),
        other => format!("bayplan-{other}"),
    }
}

/// The profiles under Bayplan's names.
pub(crate) fn renamed(given: &[&Value]) -> Vec<Value> {
    let renamed = given.iter().map(|profile| {
        let mut profile = (*profile).clone();
        let name = name(
            profile["spec"]["schedulerName"]
                .as_str()
                .unwrap_or_default(),
        );
        profile["metadata"]["name"] = name.as_str().into();
        profile["spec"]["schedulerName"] = name.into();
        profile
    });
    renamed.collect()
}

/// The profiles without the plugins that do not decide in a real cluster; upstream's default one if
/// there are none.
pub(crate) fn complete(given: &[&Value]) -> Vec<Value> {
    let default = json!({"apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
        "metadata": {"name": "default"}, "spec": {"schedulerName": "default-scheduler"}});
    let given = match given {
        [] => vec![default],
        some => some.iter().map(|profile| (*profile).clone()).collect(),
    };
    let there = live_plugins();
    let missing = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    let missing: Vec<_> = missing.filter(|name| !there.contains(name)).collect();
    let complete = given.into_iter().map(|mut profile| {
        let disabled = &mut profile["spec"]["plugins"]["multiPoint"]["disabled"];
        let before = disabled.as_array().cloned().unwrap_or_default();
        let more = missing.iter().map(|name| json!({"name": name}));
        *disabled = before.into_iter().chain(more).collect();
        profile
    });
    complete.collect()
}
