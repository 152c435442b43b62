//! The `KubeSchedulerConfiguration` that says what the `SchedulerProfile` objects of a cluster say,
//! less the plugins that are not compared.

use serde_json::{Map, Value, json};

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";

/// The configuration for the profiles among `objects`, upstream's default profile if there are
/// none, with `disabled` plugins.
pub(crate) fn configuration(objects: &[Value], disabled: &[&str]) -> Value {
    let given = objects
        .iter()
        .filter(|object| object["kind"] == "SchedulerProfile");
    let mut profiles: Vec<Value> = given
        .map(|profile| translated(&profile["spec"], disabled))
        .collect();
    if profiles.is_empty() {
        let default = json!({"schedulerName": "default-scheduler"});
        profiles.push(translated(&default, disabled));
    }
    json!({"apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration", "profiles": profiles})
}

fn translated(spec: &Value, disabled: &[&str]) -> Value {
    let mut plugins = spec["plugins"].clone();
    if !disabled.is_empty() {
        let mut before = plugins["multiPoint"]["disabled"].take();
        let before = before.as_array_mut().map(std::mem::take);
        let more = disabled.iter().map(|name| json!({"name": name}));
        plugins["multiPoint"]["disabled"] =
            before.unwrap_or_default().into_iter().chain(more).collect();
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
