//! Which arguments plugins take, with their defaults: from the schema of `pluginConfig`.

use std::collections::BTreeMap;

use bayplan::apis::plugin_args::{EffectivePluginArgs, PluginConfig};
use serde_json::Value;

/// An object with exactly these members is one value to the reader: a requirement of labels.
const REQUIREMENT: [&str; 3] = ["key", "operator", "values"];

/// The arguments in the schema of the configuration: path below the plugin's field, and default.
pub(crate) fn of_plugin(plugin: &str) -> BTreeMap<String, String> {
    let schema = schemars::schema_for!(PluginConfig).to_value();
    let name = field_name(plugin);
    let Some(of_plugin) = schema.pointer(&format!("/properties/{name}")) else {
        return BTreeMap::new();
    };
    let mut arguments = BTreeMap::new();
    walk(&schema, of_plugin, "", &mut arguments);
    let effective = serde_json::to_value(EffectivePluginArgs::default())
        .expect("the arguments must be serialisable");
    for (path, default) in &mut arguments {
        let values = values_at(&effective[&name], path);
        if !values.is_empty() {
            *default = values.join(", ");
        }
    }
    arguments
}

/// The names of all plugins that have a field in `pluginConfig`, as the field is called.
pub(crate) fn field_names() -> Vec<String> {
    let schema = schemars::schema_for!(PluginConfig).to_value();
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

/// `NodeAffinity` is `nodeAffinity` in `pluginConfig`.
pub(crate) fn field_name(plugin: &str) -> String {
    let (first, rest) = plugin.split_at(1);
    first.to_lowercase() + rest
}

/// Collects the leaves below `schema`, each with the default that the schema gives.
fn walk(root: &Value, schema: &Value, path: &str, leaves: &mut BTreeMap<String, String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        let target = root
            .pointer(pointer)
            .expect("a reference must lead somewhere");
        return walk(root, target, path, leaves);
    }
    if let Some(inner) = schema["anyOf"].as_array().and_then(|either| either.first()) {
        return walk(root, inner, path, leaves);
    }
    if let Some(properties) = schema["properties"].as_object() {
        if !properties.keys().eq(&REQUIREMENT) {
            for (name, property) in properties {
                let below = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                walk(root, property, &below, leaves);
            }
            return;
        }
    } else if schema["items"].is_object() {
        return walk(root, &schema["items"], &format!("{path}[]"), leaves);
    }
    let default = &schema["default"];
    leaves.insert(path.to_owned(), text(default).unwrap_or_default());
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Array(_) | Value::Object(_) => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
    }
}

/// The values at `path`, those of all elements where it goes through a list.
fn values_at(value: &Value, path: &str) -> Vec<String> {
    let Some((name, rest)) = path.split_once('.').or(Some((path, ""))) else {
        return Vec::new();
    };
    let member = &value[name.trim_end_matches("[]")];
    let members = match member {
        Value::Array(elements) => elements.iter().collect(),
        _ => vec![member],
    };
    if rest.is_empty() {
        return members.into_iter().filter_map(text).collect();
    }
    members
        .into_iter()
        .flat_map(|member| values_at(member, rest))
        .collect()
}
