//! The smallest cluster about which the two still disagree in the same way.

use serde_json::Value;

/// Fields without which an object is none.
const KEPT: [&str; 4] = ["apiVersion", "kind", "metadata", "name"];

/// Attempts after which what there is must do.
const ATTEMPTS_MAX: usize = 3000;

/// Removes objects, then fields, as long as `still` holds; the result is minimal unless the attempts
/// ran out.
///
/// # Errors
/// Whatever `still` fails with.
pub(crate) fn shrink<E>(
    objects: Vec<Value>,
    mut still: impl FnMut(&[Value]) -> Result<bool, E>,
) -> Result<Vec<Value>, E> {
    let mut left = ATTEMPTS_MAX;
    let mut test = |objects: &[Value]| {
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        still(objects)
    };
    let mut objects = remove_objects(objects, &mut test)?;
    loop {
        let before = objects.clone();
        for index in 0..objects.len() {
            remove_fields(&mut objects, index, "", &mut test)?;
        }
        objects = remove_objects(objects, &mut test)?;
        if objects == before {
            return Ok(objects);
        }
    }
}

/// Removes ranges of objects, first long ones and then shorter ones.
fn remove_objects<E>(
    mut objects: Vec<Value>,
    test: &mut impl FnMut(&[Value]) -> Result<bool, E>,
) -> Result<Vec<Value>, E> {
    let mut length = objects.len() / 2;
    while length > 0 {
        let mut start = 0;
        while start < objects.len() {
            let end = (start + length).min(objects.len());
            let mut fewer = objects.clone();
            fewer.drain(start..end);
            if test(&fewer)? {
                objects = fewer;
            } else {
                start = end;
            }
        }
        length /= 2;
    }
    Ok(objects)
}

/// Removes what is at or below `path` of an object: a whole member if that is possible, else
/// members of it.
fn remove_fields<E>(
    objects: &mut Vec<Value>,
    index: usize,
    path: &str,
    test: &mut impl FnMut(&[Value]) -> Result<bool, E>,
) -> Result<(), E> {
    let keys: Vec<String> = match objects[index].pointer(path) {
        Some(Value::Object(members)) => members.keys().cloned().collect(),
        // From the end, so that what is left keeps its place.
        Some(Value::Array(items)) => (0..items.len()).rev().map(|at| at.to_string()).collect(),
        _ => return Ok(()),
    };
    for key in keys {
        // Taking the node from a pod would leave one that waits with the status of one that runs.
        let is_kept = KEPT.contains(&key.as_str()) && (path.is_empty() || path == "/metadata")
            || key == "nodeName";
        if !is_kept {
            let mut fewer = objects.clone();
            if let Some(parent) = fewer[index].pointer_mut(path) {
                remove(parent, &key);
            }
            if test(&fewer)? {
                *objects = fewer;
                continue;
            }
        }
        let escaped = key.replace('~', "~0").replace('/', "~1");
        remove_fields(objects, index, &format!("{path}/{escaped}"), test)?;
    }
    Ok(())
}

fn remove(parent: &mut Value, key: &str) {
    match parent {
        Value::Object(members) => {
            members.remove(key);
        }
        Value::Array(items) => {
            if let Ok(at) = key.parse::<usize>() {
                items.remove(at);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_matter_goes_and_the_rest_stays() {
        let object = |name: &str| {
            json!({"kind": "Pod", "metadata": {"name": name, "labels": {"a/b": "1", "c": "2"}},
                "spec": {"list": [{"x": 1}, {"x": 2, "y": 3}]}})
        };
        let objects: Vec<_> = ["p", "q", "r"].map(object).into();
        let still = |objects: &[Value]| -> Result<bool, ()> {
            let found = objects
                .iter()
                .find(|object| object["metadata"]["name"] == "q");
            Ok(found.is_some_and(|pod| {
                pod["metadata"]["labels"]["a/b"] == "1"
                    && pod["spec"]["list"].to_string().contains("\"y\":3")
            }))
        };
        let smallest = shrink(objects, still).unwrap();
        assert_eq!(
            smallest,
            [
                json!({"kind": "Pod", "metadata": {"name": "q", "labels": {"a/b": "1"}},
                "spec": {"list": [{"y": 3}]}})
            ]
        );
    }
}
