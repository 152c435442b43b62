//! The profile's JSON form and the definition that the API server gets.

use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::*;

/// The definition, and every schema in it with its path.
fn schemas() -> Vec<(String, Value)> {
    fn walk(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
        found.push((path.to_owned(), schema.clone()));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{name}"), property, found);
        }
        if schema["items"].is_object() {
            walk(&format!("{path}[]"), &schema["items"], found);
        }
    }
    let crd = serde_json::to_value(SchedulerProfile::crd()).unwrap();
    let mut found = Vec::new();
    walk(
        "",
        &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
        &mut found,
    );
    found
}

#[test]
fn a_minimal_profile_shows_its_defaults_only_where_they_say_something() {
    let spec: SchedulerProfileSpec =
        serde_json::from_value(json!({"schedulerName": "bayplan"})).unwrap();
    assert_eq!(spec, SchedulerProfileSpec::with_defaults("bayplan"));
    assert_eq!(
        serde_json::to_value(spec).unwrap(),
        json!({"schedulerName": "bayplan", "percentageOfNodesToScore": 100})
    );
}

#[test]
fn every_list_and_text_that_users_write_is_bounded() {
    let schemas = schemas();
    assert!(
        schemas.len() > 100,
        "only {} schemas were looked at",
        schemas.len()
    );
    for (path, schema) in schemas.iter().filter(|(path, _)| path.starts_with(".spec")) {
        match schema["type"].as_str() {
            Some("array") => assert!(schema["maxItems"].is_u64(), "{path} has no maxItems"),
            Some("string") => assert!(
                schema["maxLength"].is_u64() || schema["enum"].is_array(),
                "{path} has no maxLength"
            ),
            _ => assert!(
                schema["additionalProperties"].is_null(),
                "{path} is an open map"
            ),
        }
    }
}

#[test]
fn every_field_is_explained() {
    for (path, schema) in schemas() {
        let plain = [".apiVersion", ".kind", ".metadata", ".status"].contains(&&*path);
        let item_of_names = path.ends_with("[]") && schema["type"] == "string";
        assert!(
            plain
                || item_of_names
                || schema["description"]
                    .as_str()
                    .is_some_and(|d| !d.is_empty()),
            "{path} has no description"
        );
    }
}

#[test]
fn the_api_server_gets_defaults_rules_and_list_kinds() {
    let schemas = schemas();
    let at = |path: &str| &schemas.iter().find(|(at, _)| at == path).unwrap().1;
    assert_eq!(at(".spec.percentageOfNodesToScore")["default"], json!(100));
    assert_eq!(
        at(".spec.schedulerName")["x-kubernetes-validations"][0]["rule"],
        "self == oldSelf"
    );
    assert_eq!(
        at(".spec.plugins.filter.enabled")["x-kubernetes-list-type"],
        "atomic"
    );
    assert_eq!(
        at(".status.conditions")["x-kubernetes-list-map-keys"],
        json!(["type"])
    );
    assert!(at(".spec.plugins.score")["x-kubernetes-validations"].is_null());
    assert!(at(".spec.plugins.bind")["x-kubernetes-validations"].is_array());
}

#[test]
fn plugin_sets_are_found_under_the_field_name_of_their_point() {
    for point in ExtensionPoint::ALL {
        let plugins: Plugins =
            serde_json::from_value(json!({point.field_name(): {"disabled": [{"name": "*"}]}}))
                .unwrap();
        assert!(plugins.at(point).disables("anything"), "{point}");
        assert!(plugins.multi_point.is_empty());
    }
}
