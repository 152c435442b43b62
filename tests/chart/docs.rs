//! Values, their schema and their table in the chart's README say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_yaml::Value;

use crate::goldens::assert_golden;
use crate::helm::{chart, root};

fn read(path: &str) -> String {
    fs::read_to_string(chart().join(path)).expect("the chart's files must be readable")
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).expect("the chart's files must be YAML")
}

/// The documented values in their order: path, default, description.
///
/// A description starts with `# --` above its key, and goes on over the next comment lines.
fn documented() -> Vec<(String, Value, String)> {
    let text = read("values.yaml");
    let values = yaml(&text);
    let mut rows = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut description: Option<String> = None;
    for line in text.lines() {
        let words = line.trim_start();
        if let Some(first) = words.strip_prefix("# -- ") {
            description = Some(first.to_owned());
        } else if let Some(next) = words.strip_prefix("# ") {
            if let Some(text) = &mut description {
                text.push(' ');
                text.push_str(next);
            }
        } else if let Some((key, _)) = words.split_once(':').filter(|_| !words.starts_with('-')) {
            path.truncate((line.len() - words.len()) / 2);
            path.push(key);
            if let Some(text) = description.take() {
                let value = path.iter().fold(&values, |value, key| &value[*key]);
                rows.push((path.join("."), value.clone(), text));
            }
        }
    }
    rows
}

/// The paths of all leaves; what is documented as a whole counts as a leaf.
fn leaves(prefix: &str, value: &Value, whole: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    match value.as_mapping() {
        Some(map) if !map.is_empty() && !whole.contains(prefix) => {
            for (key, value) in map {
                let key = key.as_str().expect("keys must be strings");
                let path = if prefix.is_empty() {
                    key.to_owned()
                } else {
                    format!("{prefix}.{key}")
                };
                leaves(&path, value, whole, found);
            }
        }
        _ => {
            found.insert(prefix.to_owned());
        }
    }
}

/// The table of the README.
fn table() -> String {
    let mut table = String::from("| Value | Default | Meaning |\n|---|---|---|\n");
    for (path, value, description) in documented() {
        let default = serde_json::to_string(&value).expect("values must be JSON");
        writeln!(table, "| `{path}` | `{default}` | {description} |")
            .expect("a string must be writable");
    }
    table
}

#[test]
fn every_value_has_a_description() {
    let rows = documented();
    let whole: BTreeSet<&str> = rows.iter().map(|(path, _, _)| path.as_str()).collect();
    let mut found = BTreeSet::new();
    leaves("", &yaml(&read("values.yaml")), &whole, &mut found);
    let missing: Vec<_> = found
        .iter()
        .filter(|path| !whole.contains(path.as_str()))
        .collect();
    assert!(missing.is_empty(), "no `# --` comment above: {missing:?}");
    assert!(whole.len() > 60, "values.yaml must have been read");
}

#[test]
fn readme_has_the_table_of_values() {
    let readme = read("README.md");
    let (start, end) = ("<!-- values: start -->\n", "<!-- values: end -->");
    let (before, rest) = readme
        .split_once(start)
        .expect("README.md must have the start mark");
    let (_, after) = rest
        .split_once(end)
        .expect("README.md must have the end mark");
    let text = format!("{before}{start}{}{end}{after}", table());
    assert_golden(&chart().join("README.md"), &text);
}

/// Every object of the schema: its path, and whether it takes any key.
fn schema_objects(path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
    let is_object = match &schema["type"] {
        Value::Sequence(types) => types.iter().any(|it| it == "object"),
        one => one == "object",
    };
    if is_object {
        found.insert(path.to_owned(), schema["additionalProperties"].clone());
    }
    for (key, property) in schema["properties"].as_mapping().into_iter().flatten() {
        let key = key.as_str().expect("keys must be strings");
        let path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        schema_objects(&path, property, found);
    }
    if schema.get("items").is_some() {
        schema_objects(&format!("{path}[]"), &schema["items"], found);
    }
}

#[test]
fn schema_is_closed_but_for_maps_of_strings_and_what_the_api_server_checks() {
    let mut found = BTreeMap::new();
    schema_objects("", &yaml(&read("values.schema.json")), &mut found);
    let open: Vec<&str> = found
        .iter()
        .filter(|(_, additional)| !matches!(additional, Value::Bool(false) | Value::Mapping(_)))
        .map(|(path, _)| path.as_str())
        .collect();
    let checked_by_the_api_server = [
        "affinity",
        "extraEnv[]",
        "extraObjects[]",
        "extraVolumeMounts[]",
        "extraVolumes[]",
        "global",
        "metrics.serviceMonitor.metricRelabelings[]",
        "metrics.serviceMonitor.relabelings[]",
        "metrics.serviceMonitor.tlsConfig",
        "networkPolicy.extraEgress[]",
        "networkPolicy.metricsFrom[]",
        "podSecurityContext",
        "profiles[].spec",
        "resources.claims[]",
        "securityContext",
        "tolerations[]",
        "topologySpreadConstraints[]",
    ];
    assert_eq!(open, checked_by_the_api_server);
}

#[test]
fn schema_knows_each_value_and_no_other() {
    let schema = yaml(&read("values.schema.json"));
    let values = yaml(&read("values.yaml"));
    let mut pairs = vec![(String::new(), &schema, &values)];
    while let Some((path, schema, values)) = pairs.pop() {
        let keys = |map: &Value| -> BTreeSet<String> {
            let keys = map.as_mapping().into_iter().flatten();
            keys.filter_map(|(key, _)| key.as_str().map(String::from))
                .collect()
        };
        let mut known = keys(&schema["properties"]);
        if path.is_empty() {
            known.retain(|key| key != "enabled" && key != "global");
        }
        if path == ".resources" {
            known.retain(|key| key != "claims");
        }
        assert_eq!(known, keys(values), "values{path}");
        for key in &known {
            let (schema, values) = (&schema["properties"][key], &values[key]);
            if schema["additionalProperties"] == false {
                pairs.push((format!("{path}.{key}"), schema, values));
            }
        }
    }
}

#[test]
fn everything_values_differ_from_every_default() {
    let rows = documented();
    let whole: BTreeSet<&str> = rows.iter().map(|(path, _, _)| path.as_str()).collect();
    let mut found = BTreeSet::new();
    leaves(
        "",
        &yaml(&read("ci/everything-values.yaml")),
        &whole,
        &mut found,
    );
    // Switches that are on by default, and the two values of which only one may be set.
    let same = [
        "leaderElection.enabled",
        "podDisruptionBudget.enabled",
        "podDisruptionBudget.minAvailable",
        "rbac.create",
        "serviceAccount.create",
    ];
    for (path, default, _) in &rows {
        let value = path
            .split('.')
            .fold(yaml(&read("ci/everything-values.yaml")), |value, key| {
                value.get(key).cloned().unwrap_or_default()
            });
        let differs = value != *default && !value.is_null();
        assert_eq!(differs, !same.contains(&path.as_str()), "{path}");
    }
    assert!(found.len() >= rows.len() - 1);
}

#[test]
fn chart_has_the_version_of_the_program() {
    let chart = yaml(&read("Chart.yaml"));
    for key in ["version", "appVersion"] {
        assert_eq!(
            chart[key].as_str(),
            Some(env!("CARGO_PKG_VERSION")),
            "{key}"
        );
    }
    assert!(
        root().join("LICENSE").is_file(),
        "the chart's annotation names the licence"
    );
}
