//! Pods (`SetDefaults_Pod` and what happens to a pod on creation).

use serde_json::{Value, json};

use crate::model::objects::Pod;
use crate::model::pod_info::DEFAULT_SCHEDULER_NAME;
use crate::model::requests::pod_requests;
use crate::model::resources::{CPU, MEMORY};
use crate::sim::defaulting::{
    PriorityClasses, Unfit, items_at, label_keys, object_at, quantities_as_texts, set_default,
};

/// How the names of huge pages begin.
const HUGE_PAGES: &str = "hugepages-";

/// Completes a pod called `name`.
pub(super) fn complete(
    pod: &mut Value,
    name: &str,
    classes: &PriorityClasses,
) -> Result<(), Unfit> {
    let created = pod["metadata"]["creationTimestamp"].clone();
    let labels = pod["metadata"]["labels"].clone();
    let spec = object_at(pod, "spec");
    set_default(spec, "schedulerName", || DEFAULT_SCHEDULER_NAME.into());
    let on_host_network = spec["hostNetwork"] == json!(true);
    for list in ["containers", "initContainers"] {
        for container in items_at(spec, list) {
            complete_resources(container);
            complete_ports(container, on_host_network);
        }
    }
    quantities_as_texts(spec.get_mut("overhead"));
    classes.resolve(spec, name)?;
    label_keys::merge(spec, &labels);
    let is_bound = spec["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    complete_status(object_at(pod, "status"), is_bound.then_some(created));
    complete_pod_level_requests(pod);
    Ok(())
}

/// Requests are the limits unless they say otherwise.
fn complete_resources(container: &mut Value) {
    let Some(resources) = container.get_mut("resources").filter(|r| r.is_object()) else {
        return;
    };
    quantities_as_texts(resources.get_mut("limits"));
    let limits = resources.get("limits").cloned().unwrap_or_default();
    let requests = object_at(resources, "requests");
    for (name, amount) in limits.as_object().into_iter().flatten() {
        set_default(requests, name, || amount.clone());
    }
    quantities_as_texts(Some(requests));
}

fn complete_ports(container: &mut Value, on_host_network: bool) {
    for port in items_at(container, "ports") {
        set_default(port, "protocol", || "TCP".into());
        let has_host_port = port["hostPort"].as_i64().is_some_and(|port| port != 0);
        if on_host_network && !has_host_port {
            port["hostPort"] = port["containerPort"].clone();
        }
    }
}

/// A bound pod runs since it was created, unless it says otherwise.
fn complete_status(status: &mut Value, bound_since: Option<Value>) {
    if let Some(created) = bound_since {
        set_default(status, "phase", || "Running".into());
        set_default(status, "startTime", || created);
    } else {
        set_default(status, "phase", || "Pending".into());
    }
    quantities_as_texts(status.get_mut("allocatedResources"));
    let requests = |value: &mut Value| {
        quantities_as_texts(value.pointer_mut("/resources/requests"));
    };
    requests(status);
    for list in ["containerStatuses", "initContainerStatuses"] {
        for container in items_at(status, list) {
            quantities_as_texts(container.get_mut("allocatedResources"));
            requests(container);
        }
    }
}

/// What the requests of a pod as a whole leave out: cpu, memory and huge pages are what the
/// containers request, and what nobody requests is the limit (`DefaultPodLevelResources`).
fn complete_pod_level_requests(pod: &mut Value) {
    let Some(resources) = pod.pointer_mut("/spec/resources").map(Value::take) else {
        return;
    };
    let mut resources = resources;
    quantities_as_texts(resources.get_mut("limits"));
    quantities_as_texts(resources.get_mut("requests"));
    let amounts = |field: &str| resources.get(field).and_then(Value::as_object).cloned();
    let limits = amounts("limits").unwrap_or_default();
    if !limits.is_empty() || amounts("requests").is_some_and(|requests| !requests.is_empty()) {
        let of_containers = container_requests(pod);
        let requests = object_at(&mut resources, "requests");
        for (name, amount) in of_containers {
            // Huge pages are not shared beyond a limit, so that the limit is the request.
            if !(name.starts_with(HUGE_PAGES) && limits.contains_key(&name)) {
                set_default(requests, &name, || amount.into());
            }
        }
        for (name, amount) in limits.iter().filter(|(name, _)| is_pod_level(name)) {
            set_default(requests, name, || amount.clone());
        }
    }
    pod["spec"]["resources"] = resources;
}

/// Whether a pod as a whole may request the resource (`IsSupportedPodLevelResource`).
fn is_pod_level(name: &str) -> bool {
    name == CPU || name == MEMORY || name.starts_with(HUGE_PAGES)
}

/// CPU, memory and huge pages that the containers of `pod`, which has no requests as a whole,
/// request together. Texts that are no quantities are found when the pod is compiled.
fn container_requests(pod: &Value) -> Vec<(String, String)> {
    let mut bare = json!({"spec": {}});
    for list in ["containers", "initContainers"] {
        bare["spec"][list] = pod["spec"][list].clone();
    }
    let amounts = serde_json::from_value::<Pod>(bare)
        .ok()
        .and_then(|pod| pod_requests(&pod).ok())
        .map(|requests| requests.amounts)
        .unwrap_or_default();
    let amounts = amounts.into_iter().filter(|(name, _)| is_pod_level(name));
    amounts
        .map(|(name, amount)| {
            let text = match name.as_str() {
                CPU => format!("{}m", amount.millis()),
                _ => amount.units().to_string(),
            };
            (name, text)
        })
        .collect()
}
