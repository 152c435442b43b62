//! The pods that run already: small ones, or such as come with much that scheduling does not read.

use serde_json::{Value, json};

/// A pod on a node of at least so many KiB of JSON: two containers with environment, probes and
/// mounts; as small as can be if 0.
pub(crate) fn running_pod(number: usize, node: &str, kibibytes: usize) -> Value {
    let mut pod = json!({
        "metadata": {"name": format!("running-{number}"), "labels": {"app": "running"}},
        "spec": {"nodeName": node, "containers": [{
            "name": "c", "image": "c",
            "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}}}]}});
    let Some(missing) = (kibibytes * 1024).checked_sub(pod.to_string().len()) else {
        return pod;
    };
    // Brackets are one byte more than the comma between entries.
    let entry = environment(1).to_string().len() - 1;
    let entries = missing.div_ceil(2 * entry);
    pod["metadata"]["annotations"] = json!({"example.com/rendered-by": "a chart with a long name"});
    pod["spec"]["volumes"] = json!([
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": format!("labels-{number}"), "downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]);
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10});
    let first = &mut pod["spec"]["containers"][0];
    first["env"] = environment(entries);
    first["volumeMounts"] = json!([{"name": "settings", "mountPath": "/etc/settings"}]);
    first["livenessProbe"] = probe.clone();
    first["readinessProbe"] = probe;
    let mut second = first.clone();
    second["name"] = "sidecar".into();
    second["resources"] = json!({});
    if let Value::Array(containers) = &mut pod["spec"]["containers"] {
        containers.push(second);
    }
    pod
}

fn environment(entries: usize) -> Value {
    let entry = |number: usize| {
        let value = format!("a value as environments have them, number {number:08}");
        json!({"name": format!("SETTING_{number:08}"), "value": value})
    };
    (0..entries).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_as_large_as_was_asked_for() {
        assert!(running_pod(7, "n", 0).to_string().len() < 300);
        for kibibytes in [6, 19] {
            let length = running_pod(7, "n", kibibytes).to_string().len();
            let wanted = kibibytes * 1024;
            assert!((wanted..wanted + 1024).contains(&length), "{length}");
        }
    }
}
