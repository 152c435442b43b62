//! The pods: closed, probed, and with the flags that the program has.

use std::collections::BTreeSet;

use serde_yaml::Value;

use crate::helm::{objects, of_kind, template_ci, try_template};

/// The rendered defaults, first, and the rendered values files.
pub(crate) fn releases() -> Vec<(String, Vec<Value>)> {
    let defaults = try_template("kube-system", &[]).expect("the chart must render");
    let mut releases = vec![("defaults".to_owned(), objects(&defaults))];
    for name in ["minimal", "ha", "secure", "everything"] {
        releases.push((name.to_owned(), objects(&template_ci("scheduling", name))));
    }
    releases
}

/// The Deployment's pod spec.
fn pod_spec(objects: &[Value]) -> &Value {
    let deployments = of_kind(objects, "Deployment");
    assert_eq!(deployments.len(), 1);
    &deployments[0]["spec"]["template"]["spec"]
}

/// The program's container.
pub(crate) fn container(objects: &[Value]) -> &Value {
    &pod_spec(objects)["containers"][0]
}

/// The strings of a list.
pub(crate) fn strings(list: &Value) -> Vec<&str> {
    list.as_sequence()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The rules of the Pod Security Standard "restricted" that concern these pods.
fn assert_restricted(what: &str, spec: &Value) {
    for forbidden in ["hostNetwork", "hostPID", "hostIPC"] {
        assert!(spec.get(forbidden).is_none(), "{what}: {forbidden}");
    }
    let pod = &spec["securityContext"];
    assert_eq!(pod["runAsNonRoot"].as_bool(), Some(true), "{what}");
    assert_ne!(pod["runAsUser"].as_u64(), Some(0), "{what}");
    assert_eq!(
        pod["seccompProfile"]["type"].as_str(),
        Some("RuntimeDefault"),
        "{what}"
    );
    let allowed = ["configMap", "emptyDir", "projected", "secret"];
    for volume in spec["volumes"].as_sequence().into_iter().flatten() {
        assert!(
            allowed.iter().any(|kind| volume.get(kind).is_some()),
            "{what}: {volume:?}"
        );
    }
    for container in spec["containers"]
        .as_sequence()
        .expect("a pod must have containers")
    {
        let context = &container["securityContext"];
        assert_eq!(
            context["allowPrivilegeEscalation"].as_bool(),
            Some(false),
            "{what}"
        );
        assert_eq!(
            context["readOnlyRootFilesystem"].as_bool(),
            Some(true),
            "{what}"
        );
        assert_eq!(strings(&context["capabilities"]["drop"]), ["ALL"], "{what}");
        assert!(context["capabilities"].get("add").is_none(), "{what}");
    }
}

#[test]
fn every_pod_is_restricted_and_its_image_has_a_tag() {
    for (name, objects) in releases() {
        let tests = of_kind(&objects, "Pod");
        assert!(!tests.is_empty(), "{name}: helm test needs a pod");
        for spec in tests
            .iter()
            .map(|pod| &pod["spec"])
            .chain([pod_spec(&objects)])
        {
            assert_restricted(&name, spec);
            let image = spec["containers"][0]["image"]
                .as_str()
                .expect("an image must be set");
            let tag = image
                .split('@')
                .next()
                .and_then(|image| image.rsplit(':').next());
            assert!(
                tag.is_some_and(|tag| tag != "latest" && tag != image),
                "{name}: {image}"
            );
        }
    }
}

#[test]
fn probes_ask_the_secure_port_and_no_cpu_limit_throttles_renewals() {
    for (name, objects) in releases() {
        let container = container(&objects);
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            let get = &container[probe]["httpGet"];
            assert_eq!(get["path"].as_str(), Some(path), "{name}");
            assert_eq!(get["scheme"].as_str(), Some("HTTPS"), "{name}");
            assert_eq!(get["port"], container["ports"][0]["name"], "{name}");
        }
        let port = container["ports"][0]["containerPort"]
            .as_u64()
            .expect("a port must be set");
        let flag = format!("--secure-port={port}");
        assert!(
            strings(&container["args"]).contains(&flag.as_str()),
            "{name}: {flag}"
        );
        let limits = &container["resources"]["limits"];
        assert!(
            limits.get("memory").is_some() && limits.get("cpu").is_none(),
            "{name}"
        );
    }
}

#[test]
fn every_selector_matches_the_pods_and_nothing_else() {
    for (name, objects) in releases() {
        let deployment = of_kind(&objects, "Deployment")[0];
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let service = of_kind(&objects, "Service");
        let mut selectors = vec![
            &deployment["spec"]["selector"]["matchLabels"],
            &service[0]["spec"]["selector"],
        ];
        let budgets = of_kind(&objects, "PodDisruptionBudget");
        selectors.extend(
            budgets
                .iter()
                .map(|object| &object["spec"]["selector"]["matchLabels"]),
        );
        let policies = of_kind(&objects, "NetworkPolicy");
        selectors.extend(
            policies
                .iter()
                .map(|object| &object["spec"]["podSelector"]["matchLabels"]),
        );
        for selector in selectors {
            let selector = selector.as_mapping().expect("a selector must be a map");
            assert_eq!(selector.len(), 3, "{name}");
            assert!(
                selector.iter().all(|(key, value)| &labels[key] == value),
                "{name}"
            );
        }
        for test in of_kind(&objects, "Pod") {
            let component = &test["metadata"]["labels"]["app.kubernetes.io/component"];
            assert_eq!(
                component.as_str(),
                Some("test"),
                "{name}: the Service must not select it"
            );
        }
    }
}

#[test]
fn every_object_has_the_labels_of_the_release() {
    for (name, objects) in releases() {
        for object in objects {
            let metadata = &object["metadata"];
            if object["kind"] == "ConfigMap" {
                continue; // an extra object, in the user's words
            }
            let instance = &metadata["labels"]["app.kubernetes.io/instance"];
            assert_eq!(instance.as_str(), Some("bayplan"), "{name}: {metadata:?}");
        }
    }
}

#[test]
fn a_budget_is_made_for_two_replicas_or_more() {
    for (replicas, budgets) in [("0", 0), ("1", 0), ("2", 1), ("3", 1)] {
        let set = format!("replicaCount={replicas}");
        let manifest =
            try_template("kube-system", &["--set", &set]).expect("the chart must render");
        assert_eq!(
            of_kind(&objects(&manifest), "PodDisruptionBudget").len(),
            budgets,
            "{set}"
        );
    }
}

#[test]
fn a_release_outside_kube_system_asks_for_the_priority_that_kube_system_has() {
    for (namespace, want) in [
        ("kube-system", vec!["bayplan-leader-election"]),
        (
            "scheduling",
            vec!["bayplan-leader-election", "bayplan-workload"],
        ),
    ] {
        let objects = objects(&try_template(namespace, &[]).expect("the chart must render"));
        let schemas = of_kind(&objects, "FlowSchema");
        let names: Vec<_> = schemas
            .iter()
            .filter_map(|it| it["metadata"]["name"].as_str())
            .collect();
        assert_eq!(names, want);
    }
}

#[test]
fn without_an_election_replicas_never_overlap() {
    let objects = objects(&template_ci("scheduling", "minimal"));
    let deployment = of_kind(&objects, "Deployment")[0];
    assert_eq!(
        deployment["spec"]["strategy"]["type"].as_str(),
        Some("Recreate")
    );
    assert_eq!(deployment["spec"]["replicas"].as_u64(), Some(1));
}

#[test]
fn names_of_objects_are_unique() {
    for (name, objects) in releases() {
        let mut seen = BTreeSet::new();
        for object in objects {
            let key = ["kind", "namespace", "name"].map(|key| {
                let value = if key == "kind" {
                    &object[key]
                } else {
                    &object["metadata"][key]
                };
                value.as_str().unwrap_or_default().to_owned()
            });
            assert!(seen.insert(key.clone()), "{name}: twice: {key:?}");
        }
    }
}
