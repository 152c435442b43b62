//! The table of `docs/compatibility.md`, as it follows from the code.

use std::fmt::Write as _;

use bayplan::apis::extension_point::ExtensionPoint;
use bayplan::apis::upstream_plugins;
use bayplan::plugins::support::{ENGINE, Field, Level, PLUGINS, PluginSupport, Since};

use crate::arguments;

/// The lines between which the table stands.
const BEGIN: &str =
    "<!-- Made by tests/compatibility: UPDATE=1 cargo test --test compatibility -->\n";
const END: &str = "<!-- End of what tests/compatibility makes. -->\n";

const HEAD: &str = "| of | field | default | upstream | here |\n|---|---|---|---|---|\n";

/// `page` with the table as it ought to be; `None` if the page has no place for it.
pub(crate) fn with_table(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", table()))
}

fn table() -> String {
    let mut text = String::new();
    for plugin in &PLUGINS {
        section(&mut text, plugin);
    }
    let _ = write!(text, "### The scheduler itself\n\n{HEAD}");
    for field in &ENGINE {
        row(&mut text, field);
    }
    text.trim_end().to_owned() + "\n"
}

fn section(text: &mut String, plugin: &PluginSupport) {
    let points = upstream_plugins::find(plugin.plugin).map(|upstream| upstream.points);
    let points: Vec<&str> = points
        .iter()
        .flat_map(|points| points.iter())
        .map(ExtensionPoint::name)
        .collect();
    let _ = write!(text, "### {}\n\n", plugin.plugin);
    let at = if points.is_empty() {
        "placements of pod groups".to_owned()
    } else {
        points.join(", ")
    };
    let _ = write!(
        text,
        "At {at}. Upstream: {}. Here: {}.\n\n{HEAD}",
        level(plugin.level),
        since(plugin.since)
    );
    let defaults = arguments::of_plugin(plugin.plugin);
    for argument in plugin.arguments {
        let default = defaults
            .get(argument.path)
            .filter(|default| !default.is_empty());
        let _ = writeln!(
            text,
            "| argument | `{}` |{} | {} | {} |",
            argument.path,
            default
                .map(|default| format!(" `{default}`"))
                .unwrap_or_default(),
            level(argument.level),
            since(argument.since)
        );
    }
    for field in plugin.fields {
        row(text, field);
    }
    text.push('\n');
}

fn row(text: &mut String, field: &Field) {
    let kind = if field.kind == "*" {
        "any kind"
    } else {
        field.kind
    };
    let _ = writeln!(
        text,
        "| {kind} | `{}` | | {} | {} |",
        field.path,
        level(field.level),
        since(field.since)
    );
}

fn level(level: Level) -> String {
    match level {
        Level::Ungated => "stable".to_owned(),
        Level::Stable(version) => format!("stable {version}"),
        Level::Beta(version) => format!("beta {version}"),
        Level::Alpha(version) => format!("alpha {version}"),
    }
}

fn since(since: Since) -> &'static str {
    match since {
        Since::Version(version) => version,
        Since::No => "no",
    }
}
