//! Which fields have a value in at least one object.

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields that are named in objects but never have a value. The slim objects name all that
/// they have.
pub(crate) fn unseen(objects: &[Value]) -> Vec<String> {
    let mut fields = BTreeMap::new();
    for object in objects {
        visit(object, "", &mut fields);
    }
    let unseen = fields.into_iter().filter(|(_, has_value)| !has_value);
    unseen.map(|(field, _)| field).collect()
}

fn visit(value: &Value, path: &str, fields: &mut BTreeMap<String, bool>) {
    let has_value = match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        // Labels with this name have no value on purpose.
        Value::String(text) => !text.is_empty() || path.rsplit('.').next() == Some("empty"),
        Value::Array(items) => {
            for item in items {
                visit(item, path, fields);
            }
            !items.is_empty()
        }
        Value::Object(entries) => {
            for (name, value) in entries {
                visit(value, &format!("{path}.{}", alike(name)), fields);
            }
            // Of some sources only the presence matters.
            !entries.is_empty() || path.ends_with(".ephemeral")
        }
    };
    *fields.entry(path.to_owned()).or_default() |= has_value;
}

/// Fields that hold the same message: not every field of it is allowed in each.
fn alike(name: &str) -> &str {
    match name {
        "initContainers" | "ephemeralContainers" => "containers",
        "initContainerStatuses" => "containerStatuses",
        _ => name,
    }
}
