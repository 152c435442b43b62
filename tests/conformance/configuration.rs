//! The `KubeSchedulerConfiguration` that says what the `SchedulerProfile` objects of a cluster say,
//! less the plugins that Bayplan does not have.

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use serde_json::{Map, Value, json};

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";

/// The configuration for the profiles among `objects`, upstream's default profile if there are
/// none.
pub(crate) fn configuration(objects: &[Value]) -> Value {
    let given = objects
        .iter()
        .filter(|object| object["kind"] == "SchedulerProfile");
    let mut profiles: Vec<Value> = given.map(|profile| translated(&profile["spec"])).collect();
    if profiles.is_empty() {
        profiles.push(translated(&json!({"schedulerName": "default-scheduler"})));
    }
    json!({"apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration", "profiles": profiles})
}

fn translated(spec: &Value) -> Value {
    let mut plugins = spec["plugins"].clone();
    let missing = missing();
    if !missing.is_empty() {
        let mut disabled = plugins["multiPoint"]["disabled"].take();
        let list = match disabled.as_array_mut() {
            Some(list) => std::mem::take(list),
            None => Vec::new(),
        };
        let missing = missing.iter().map(|name| json!({"name": name}));
        plugins["multiPoint"]["disabled"] = list.into_iter().chain(missing).collect();
    }
    let percentage = spec["percentageOfNodesToScore"].as_i64().unwrap_or(100);
    let config = spec["pluginConfig"].as_object();
    let args: Vec<Value> = config.into_iter().flatten().map(plugin_config).collect();
    json!({"schedulerName": spec["schedulerName"], "percentageOfNodesToScore": percentage,
        "plugins": plugins, "pluginConfig": args})
}

/// The field of a plugin is its name with a small first letter.
fn plugin_config((field, args): (&String, &Value)) -> Value {
    let mut letters = field.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let name: String = first.into_iter().chain(letters).collect();
    let mut typed = Map::new();
    typed.insert("apiVersion".to_owned(), API_VERSION.into());
    typed.insert("kind".to_owned(), format!("{name}Args").into());
    typed.extend(args.as_object().cloned().unwrap_or_default());
    json!({"name": name, "args": typed})
}

/// Upstream's default plugins that this build lacks.
fn missing() -> Vec<&'static str> {
    let registered = Registry.names();
    let names = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    names.filter(|name| !registered.contains(name)).collect()
}
