//! The rights are the calls of the program, no more and no fewer.
//!
//! `tests/golden/rbac.txt` lists the calls and the module that makes each. That the table is
//! true is checked against a live API server elsewhere; here the chart is held to the table.

use std::collections::BTreeSet;
use std::fs;

use serde_yaml::Value;

use crate::helm::{objects, of_kind, root, try_template};

/// One call: where it is granted, API group, resource, object name and verb.
pub(crate) type Grant = [String; 5];

/// The words of a list, or "*" for a list that is not there.
fn words(list: &Value) -> Vec<String> {
    let words = list.as_sequence().map(|words| {
        words
            .iter()
            .map(|word| word.as_str().expect("rules must hold strings").to_owned())
    });
    words.map_or_else(|| vec!["*".to_owned()], Iterator::collect)
}

/// Every single right of a role's rules.
fn grants(scope: &str, role: &Value) -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    for rule in role["rules"].as_sequence().expect("a role must have rules") {
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                for name in words(&rule["resourceNames"]) {
                    for verb in words(&rule["verbs"]) {
                        let group = if group.is_empty() { "core" } else { &group };
                        grants.insert([scope, group, &resource, &name, &verb].map(String::from));
                    }
                }
            }
        }
    }
    grants
}

/// What the program's `ServiceAccount` is granted in a rendered release.
fn granted(args: &[&str]) -> BTreeSet<Grant> {
    let objects = objects(&try_template("scheduling", args).expect("the chart must render"));
    let mut all = BTreeSet::new();
    for (binding, role, scope) in [
        ("ClusterRoleBinding", "ClusterRole", "cluster"),
        ("RoleBinding", "Role", "lease-namespace"),
    ] {
        for binding in of_kind(&objects, binding) {
            assert_eq!(binding["subjects"][0]["name"].as_str(), Some("bayplan"));
            assert_eq!(
                binding["subjects"][0]["namespace"].as_str(),
                Some("scheduling")
            );
            let bound = of_kind(&objects, role);
            let bound = bound
                .iter()
                .find(|role| role["metadata"]["name"] == binding["roleRef"]["name"]);
            all.extend(grants(
                scope,
                bound.expect("a binding must name a role of the release"),
            ));
        }
    }
    all
}

/// The table of calls, with the module that makes each.
pub(crate) fn calls() -> Vec<(Grant, String)> {
    let path = root().join("tests/golden/rbac.txt");
    let table = fs::read_to_string(path).expect("the table must exist");
    let rows = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<String> = row.split_whitespace().map(String::from).collect();
        let [scope, group, resource, name, verb, module] =
            <[String; 6]>::try_from(cells).expect("a row must have six cells");
        ([scope, group, resource, name, verb], module)
    })
    .collect()
}

#[test]
fn rights_are_exactly_the_calls_in_the_table() {
    let calls: BTreeSet<Grant> = calls().into_iter().map(|(call, _)| call).collect();
    let granted = granted(&[]);
    let unused: Vec<_> = granted.difference(&calls).collect();
    let missing: Vec<_> = calls.difference(&granted).collect();
    assert!(
        unused.is_empty(),
        "granted, but not in the table: {unused:?}"
    );
    assert!(
        missing.is_empty(),
        "in the table, but not granted: {missing:?}"
    );
}

#[test]
fn every_call_in_the_table_is_made_by_a_module_that_exists() {
    let calls = calls();
    assert!(!calls.is_empty());
    for (call, module) in calls {
        assert!(root().join(&module).is_file(), "{call:?}: {module}");
    }
}

#[test]
fn reviews_are_granted_only_for_the_authorization_of_metrics() {
    let reviews: BTreeSet<Grant> = granted(&[])
        .difference(&granted(&["--set", "metrics.auth=false"]))
        .cloned()
        .collect();
    let resources: Vec<&str> = reviews.iter().map(|grant| grant[2].as_str()).collect();
    assert_eq!(resources, ["tokenreviews", "subjectaccessreviews"]);
}

#[test]
fn without_an_election_no_right_to_leases_is_granted() {
    let granted = granted(&["--set", "leaderElection.enabled=false,replicaCount=1"]);
    assert!(granted.iter().all(|grant| grant[2] != "leases"));
    assert!(!granted.is_empty());
}

#[test]
fn without_rbac_no_role_is_rendered() {
    let manifest = try_template("scheduling", &["--set", "rbac.create=false"]);
    let objects = objects(&manifest.expect("the chart must render"));
    for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
        assert!(of_kind(&objects, kind).is_empty(), "{kind}");
    }
}
