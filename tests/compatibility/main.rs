//! The table of what is supported, field by field: complete, and the one of the page.
//!
//! The truth is `bayplan::plugins::support`; here it is held against the registry, the schema of
//! the arguments and the fields that the model deserialises. `UPDATE=1` rewrites the page.

mod arguments;
mod fields;
mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::{DEFAULT_PLUGINS, OPTIONAL_PLUGINS};
use bayplan::model::objects;
use bayplan::plugins::registry::Registry;
use bayplan::plugins::support::{ENGINE, Field, PLUGINS, Since, UNREAD};

/// The paths that each kind of the model deserialises.
fn deserialised() -> BTreeMap<&'static str, BTreeSet<String>> {
    BTreeMap::from([
        ("Pod", fields::read_by::<objects::Pod>()),
        ("Node", fields::read_by::<objects::Node>()),
        ("Namespace", fields::read_by::<objects::Namespace>()),
        ("Service", fields::read_by::<objects::Service>()),
        (
            "ReplicationController",
            fields::read_by::<objects::ReplicationController>(),
        ),
        ("ReplicaSet", fields::read_by::<objects::ReplicaSet>()),
        ("StatefulSet", fields::read_by::<objects::StatefulSet>()),
        (
            "PersistentVolume",
            fields::read_by::<objects::PersistentVolume>(),
        ),
        (
            "PersistentVolumeClaim",
            fields::read_by::<objects::PersistentVolumeClaim>(),
        ),
        ("StorageClass", fields::read_by::<objects::StorageClass>()),
        ("CSINode", fields::read_by::<objects::CsiNode>()),
        ("CSIDriver", fields::read_by::<objects::CsiDriver>()),
        (
            "CSIStorageCapacity",
            fields::read_by::<objects::CsiStorageCapacity>(),
        ),
        (
            "VolumeAttachment",
            fields::read_by::<objects::VolumeAttachment>(),
        ),
        (
            "PodDisruptionBudget",
            fields::read_by::<objects::PodDisruptionBudget>(),
        ),
    ])
}

/// Whether a row about `row_path` of `row_kind` is about `path` of `kind`.
fn covers((row_kind, row_path): (&str, &str), kind: &str, path: &str) -> bool {
    let row_path = row_path.split(" = ").next().unwrap_or_default();
    let is_path = match row_path.strip_suffix(".*") {
        Some(folder) => path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('.')),
        None => path == row_path,
    };
    is_path && (row_kind == "*" || row_kind == kind)
}

fn rows() -> impl Iterator<Item = &'static Field> {
    let of_plugins = PLUGINS.iter().flat_map(|plugin| plugin.fields);
    of_plugins.chain(&ENGINE)
}

#[test]
fn every_plugin_has_a_section_and_says_whether_it_is_registered() {
    let upstream = DEFAULT_PLUGINS.iter().chain(&OPTIONAL_PLUGINS);
    let upstream: Vec<&str> = upstream.map(|plugin| plugin.name).collect();
    let listed: Vec<&str> = PLUGINS.iter().map(|plugin| plugin.plugin).collect();
    assert_eq!(listed, upstream);
    for plugin in &PLUGINS {
        let is_there = Registry.names().contains(&plugin.plugin);
        assert_eq!(plugin.since != Since::No, is_there, "{}", plugin.plugin);
        let has_rows = !plugin.fields.is_empty();
        assert!(has_rows, "{} reads nothing?", plugin.plugin);
    }
}

#[test]
fn every_argument_of_the_schema_is_listed_and_no_other() {
    for plugin in &PLUGINS {
        let of_schema: BTreeSet<String> = arguments::of_plugin(plugin.plugin).into_keys().collect();
        let listed = plugin.arguments.iter();
        let listed: BTreeSet<String> = listed.map(|row| row.path.to_owned()).collect();
        assert_eq!(listed, of_schema, "arguments of {}", plugin.plugin);
    }
    for field in arguments::field_names() {
        let known = PLUGINS.iter();
        let mut known = known.map(|plugin| arguments::field_name(plugin.plugin));
        assert!(known.any(|name| name == field), "pluginConfig.{field}");
    }
}

#[test]
fn every_field_that_is_deserialised_is_listed() {
    let mut missing = Vec::new();
    for (kind, paths) in deserialised() {
        assert!(paths.len() > 5, "{kind} has only {} fields", paths.len());
        missing.extend(paths.into_iter().filter_map(|path| {
            let is_listed = rows().any(|row| covers((row.kind, row.path), kind, &path));
            let mut unread = UNREAD.iter();
            let is_unread = unread.any(|row| covers((row.kind, row.path), kind, &path));
            (!is_listed && !is_unread).then(|| format!("{kind} {path}"))
        }));
    }
    assert!(
        missing.is_empty(),
        "the model reads fields that no row of plugins::support names: {missing:#?}"
    );
}

#[test]
fn every_row_is_about_a_field_that_is_deserialised() {
    let read = deserialised();
    let exists = |row: (&str, &str)| {
        read.iter()
            .any(|(kind, paths)| paths.iter().any(|path| covers(row, kind, path)))
    };
    for row in rows().filter(|row| row.since != Since::No) {
        assert!(exists((row.kind, row.path)), "{} {}", row.kind, row.path);
    }
    for row in UNREAD {
        assert!(exists((row.kind, row.path)), "{} {}", row.kind, row.path);
    }
}

#[test]
fn no_row_promises_a_later_release() {
    let number = |version: &str| -> Vec<u32> {
        let parts = version.split('.');
        parts.map(|part| part.parse().unwrap()).collect()
    };
    let arguments = PLUGINS.iter().flat_map(|plugin| plugin.arguments);
    let sinces = rows().map(|row| row.since);
    for since in sinces.chain(arguments.map(|row| row.since)) {
        if let Since::Version(version) = since {
            assert_eq!(number(version).len(), 3, "{version}");
            assert!(
                number(version) <= number(env!("CARGO_PKG_VERSION")),
                "{version}"
            );
        }
    }
}

#[test]
fn the_page_has_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/compatibility.md");
    let found = fs::read_to_string(&path).unwrap();
    let wanted = page::with_table(&found).expect("the page must have a place for the table");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(
        found == wanted,
        "docs/compatibility.md is not what plugins::support says: run \
         'UPDATE=1 cargo test --test compatibility' and commit the result"
    );
}

#[test]
fn rows_cover_what_they_name() {
    let row = ("Pod", "spec.volumes[].iscsi.*");
    assert!(covers(row, "Pod", "spec.volumes[].iscsi.iqn"));
    assert!(!covers(row, "Pod", "spec.volumes[].iscsi"));
    assert!(!covers(row, "Node", "spec.volumes[].iscsi.iqn"));
    assert!(covers(("*", "metadata.name"), "Node", "metadata.name"));
    assert!(!covers(("*", "metadata.name"), "Node", "metadata.names"));
    assert!(covers(("Pod", "a[] = X, Y"), "Pod", "a[]"));
    let read = fields::read_by::<objects::Node>();
    assert!(read.contains("spec.taints[].key"));
    assert!(read.contains("status.allocatable"), "a map is one value");
    assert!(!read.contains("spec.podCIDR"));
}
