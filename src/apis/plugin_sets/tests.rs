//! Merge and expansion, with cases re-written from upstream's `TestMergePlugins` and
//! `TestNewFrameworkMultiPointExpansion`.

use serde_json::{Value, json};

use super::*;
use crate::apis::extension_point::ExtensionPoint::{Bind, Filter, PreFilter, Score};

/// A, B and C are the defaults; A filters, B scores and filters with weight 3, C scores.
const DEFAULTS: [UpstreamPlugin; 3] = [
    UpstreamPlugin {
        name: "A",
        weight: None,
        points: ExtensionPoints::new(&[Filter]),
    },
    UpstreamPlugin {
        name: "B",
        weight: Some(3),
        points: ExtensionPoints::new(&[Filter, Score]),
    },
    UpstreamPlugin {
        name: "C",
        weight: None,
        points: ExtensionPoints::new(&[Score]),
    },
];

/// X filters and scores; every other name does nothing.
fn points_of(name: &str) -> ExtensionPoints {
    match DEFAULTS.iter().find(|plugin| plugin.name == name) {
        Some(plugin) => plugin.points,
        None if name == "X" || name == "Y" => ExtensionPoints::new(&[Filter, Score]),
        None => ExtensionPoints::NONE,
    }
}

fn parse(plugins: &Value) -> Plugins {
    serde_json::from_value(plugins.clone()).unwrap()
}

/// Expands `plugins` at `point` and writes the result as `name` or `name=weight`.
fn expand(point: ExtensionPoint, plugins: &Value) -> Result<String, String> {
    let plugins = parse(plugins);
    let sets = PluginSets::new(&plugins, &DEFAULTS, points_of);
    let expanded = sets.expand(point).map_err(|problem| problem.to_string())?;
    let words: Vec<_> = expanded
        .iter()
        .map(|plugin| match plugin.weight {
            0 => plugin.name.to_owned(),
            weight => format!("{}={weight}", plugin.name),
        })
        .collect();
    Ok(words.join(" "))
}

#[test]
fn defaults_run_in_their_order_at_the_points_that_they_implement() {
    assert_eq!(expand(Filter, &json!({})).unwrap(), "A B");
    assert_eq!(expand(Score, &json!({})).unwrap(), "B=3 C=1");
    assert_eq!(expand(Bind, &json!({})).unwrap(), "");
}

fn assert_expansions(cases: &[(&str, Value, [&str; 2])]) {
    for (name, plugins, [filter, score]) in cases {
        assert_eq!(expand(Filter, plugins).as_deref(), Ok(*filter), "{name}");
        assert_eq!(expand(Score, plugins).as_deref(), Ok(*score), "{name}");
    }
}

#[test]
fn enabled_and_disabled_lists_follow_upstream() {
    let cases = [
        (
            "a custom multiPoint plugin follows the defaults",
            json!({"multiPoint": {"enabled": [{"name": "X", "weight": 7}]}}),
            ["A B X", "B=3 C=1 X=7"],
        ),
        (
            "a custom plugin of one point follows multiPoint",
            json!({"score": {"enabled": [{"name": "X", "weight": 7}]}}),
            ["A B", "B=3 C=1 X=7"],
        ),
        (
            "a default that is enabled again keeps its place and loses its default weight",
            json!({"multiPoint": {"enabled": [{"name": "X"}, {"name": "B"}]}}),
            ["A B X", "B=1 C=1 X=1"],
        ),
        (
            "a default that is enabled at a point goes before the other defaults there",
            json!({"score": {"enabled": [{"name": "X"}, {"name": "C", "weight": 5}]}}),
            ["A B", "C=5 B=3 X=1"],
        ),
        (
            "overriding plugins keep the order of the point's own list",
            json!({"score": {"enabled": [{"name": "C", "weight": 2}, {"name": "B", "weight": 4}]}}),
            ["A B", "C=2 B=4"],
        ),
        (
            "the weight of a point's own list counts even if it is left out",
            json!({"score": {"enabled": [{"name": "B"}]}}),
            ["A B", "B=1 C=1"],
        ),
        (
            "a weight of 0 counts as 1",
            json!({"score": {"enabled": [{"name": "B", "weight": 0}]}}),
            ["A B", "B=1 C=1"],
        ),
        (
            "multiPoint disables everywhere",
            json!({"multiPoint": {"disabled": [{"name": "B"}]}}),
            ["A", "C=1"],
        ),
        (
            "a point disables for itself alone",
            json!({"filter": {"disabled": [{"name": "B"}]}}),
            ["A", "B=3 C=1"],
        ),
    ];
    assert_expansions(&cases);
}

#[test]
fn stars_and_contradictions_follow_upstream() {
    let cases = [
        (
            "a star under multiPoint disables all defaults, not what is enabled beside it",
            json!({"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "B"}]}}),
            ["B", "B=1"],
        ),
        (
            "a star at a point stops the expansion there, not the point's own plugins",
            json!({"filter": {"disabled": [{"name": "*"}], "enabled": [{"name": "X"}]},
                   "multiPoint": {"enabled": [{"name": "Y"}]}}),
            ["X", "B=3 C=1 Y=1"],
        ),
        (
            "enabled beats disabled in one multiPoint set, and the plugin moves behind the defaults",
            json!({"multiPoint": {"disabled": [{"name": "A"}], "enabled": [{"name": "A"}]}}),
            ["B A", "B=3 C=1"],
        ),
        (
            "enabled beats disabled at one point, and the plugin does not override",
            json!({"score": {"disabled": [{"name": "B"}], "enabled": [{"name": "B", "weight": 9}]}}),
            ["A B", "C=1 B=9"],
        ),
        (
            "disabling a plugin that is not there changes nothing",
            json!({"score": {"disabled": [{"name": "A"}, {"name": "Z"}]}}),
            ["A B", "B=3 C=1"],
        ),
    ];
    assert_expansions(&cases);
}

#[test]
fn plugins_that_are_listed_twice_are_refused() {
    let twice = json!({"enabled": [{"name": "X"}, {"name": "X"}]});
    assert_eq!(
        expand(Score, &json!({"score": twice.clone()})).unwrap_err(),
        "spec.plugins.score.enabled: the plugin X is listed twice; list it once"
    );
    assert_eq!(
        expand(Score, &json!({"multiPoint": twice})).unwrap_err(),
        "spec.plugins.multiPoint.enabled: the plugin X is listed twice; list it once"
    );
    // The second one replaces the default, the first one is left over.
    let again = json!({"enabled": [{"name": "B"}, {"name": "B", "weight": 2}]});
    assert!(
        expand(Score, &json!({"multiPoint": again}))
            .unwrap_err()
            .contains("B is listed twice")
    );
}

#[test]
fn plugins_listed_twice_under_multi_point_are_overridden_by_the_point() {
    let plugins = json!({
        "multiPoint": {"enabled": [{"name": "X"}, {"name": "X"}]},
        "score": {"enabled": [{"name": "X", "weight": 2}]},
    });
    assert_eq!(expand(Score, &plugins).unwrap(), "X=2 B=3 C=1");
    assert!(expand(Filter, &plugins).is_err());
}

#[test]
fn plugin_at_a_point_that_it_does_not_implement_is_refused() {
    assert_eq!(
        expand(
            PreFilter,
            &json!({"preFilter": {"enabled": [{"name": "A"}]}})
        )
        .unwrap_err(),
        "spec.plugins.preFilter.enabled[0].name: the plugin A has no PreFilter; enable it where it \
         does something, or under multiPoint"
    );
}
