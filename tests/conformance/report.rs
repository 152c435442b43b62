//! What a difference looks like to a person.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value};

use crate::compare::Difference;

/// With more lines only those that differ are shown.
const LINES_MAX: usize = 60;

/// The cluster as a file, and both records line by line with the differing lines marked.
pub(crate) fn difference(objects: &[Value], difference: &Difference) -> String {
    let mut text = String::from("# The smallest cluster:\n");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        match serde_yaml::to_string(object) {
            Ok(yaml) => text.push_str(&yaml),
            Err(error) => text.push_str(&error.to_string()),
        }
    }
    let _ = writeln!(
        text,
        "\n# The field {:?} differs for the pod {:?}:",
        difference.field, difference.pod
    );
    text.push_str(&side_by_side(&difference.bayplan, &difference.upstream));
    text
}

/// Why one or both take no such cluster at all.
pub(crate) fn refusal(difference: &Difference) -> String {
    side_by_side(&difference.bayplan, &difference.upstream)
}

/// Every leaf of both records with its path, those that differ marked.
fn side_by_side(ours: &Value, theirs: &Value) -> String {
    let (mut left, mut right) = (Map::new(), Map::new());
    flatten("", ours, &mut left);
    flatten("", theirs, &mut right);
    let mut paths: BTreeSet<_> = left.keys().chain(right.keys()).collect();
    if paths.len() > LINES_MAX {
        paths.retain(|path| left.get(*path) != right.get(*path));
    }
    let mut text = String::new();
    for path in paths {
        let print =
            |side: &Map<String, Value>| side.get(path).map_or("-".to_owned(), ToString::to_string);
        if left.get(path) == right.get(path) {
            let _ = writeln!(text, "  {path} = {}", print(&left));
        } else {
            let _ = writeln!(text, "! {path}");
            let _ = writeln!(text, "      Bayplan  {}", print(&left));
            let _ = writeln!(text, "      upstream {}", print(&right));
        }
    }
    text
}

fn flatten(path: &str, value: &Value, leaves: &mut Map<String, Value>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(&below, member, leaves);
            }
        }
        leaf => {
            leaves.insert(path.to_owned(), leaf.clone());
        }
    }
}
