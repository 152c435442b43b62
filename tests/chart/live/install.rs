//! Releases come, are upgraded, and go.

use serde_json::Value;

use super::{ControlPlane, get, helm, start};
use crate::helm::chart;

/// The kinds of which a release may have objects.
const KINDS: &str = "deployments,services,serviceaccounts,roles,rolebindings,configmaps,\
    poddisruptionbudgets,networkpolicies,servicemonitors,prometheusrules,pods,\
    clusterroles,clusterrolebindings,flowschemas,schedulerprofiles";

/// `KIND NAMESPACE/NAME` of what the release has left in the cluster.
async fn left(control_plane: &ControlPlane) -> anyhow::Result<Vec<String>> {
    let selector = "--selector=app.kubernetes.io/instance=bayplan";
    let list = get(control_plane, &[KINDS, "--all-namespaces", selector]).await?;
    let items = list["items"].as_array().map(Vec::as_slice);
    let name = |object: &Value| {
        let (kind, metadata) = (&object["kind"], &object["metadata"]);
        format!("{kind} {}/{}", metadata["namespace"], metadata["name"])
    };
    Ok(items.unwrap_or_default().iter().map(name).collect())
}

/// CRDs of the Prometheus Operator that accept everything.
async fn create_monitoring_crds(control_plane: &ControlPlane) -> anyhow::Result<()> {
    for (kind, plural) in [
        ("ServiceMonitor", "servicemonitors"),
        ("PrometheusRule", "prometheusrules"),
    ] {
        let group = "monitoring.coreos.com";
        let crd = serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "names": { "kind": kind, "plural": plural },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            },
        });
        create(control_plane, &crd).await?;
    }
    let established = ["wait", "crds", "--all", "--for=condition=Established"];
    control_plane.kubectl(&established).await?;
    Ok(())
}

/// Creates an object from a file, as a person would.
async fn create(control_plane: &ControlPlane, object: &Value) -> anyhow::Result<()> {
    let file = control_plane.log_file("object").with_extension("json");
    std::fs::write(&file, object.to_string())?;
    let file = file.to_str().expect("the path must be UTF-8");
    let args = ["create", "--validate=strict", "--filename", file];
    control_plane.kubectl(&args).await?;
    Ok(())
}

/// A pod as the Deployment's controllers would create it.
async fn pod_of_the_release(control_plane: &ControlPlane) -> anyhow::Result<Value> {
    let selector = "--selector=app.kubernetes.io/component=scheduler";
    let list = get(
        control_plane,
        &["deployments", "--namespace=scheduling", selector],
    )
    .await?;
    let template = &list["items"][0]["spec"]["template"];
    let mut pod = serde_json::json!({ "apiVersion": "v1", "kind": "Pod" });
    pod["metadata"] = template["metadata"].clone();
    pod["metadata"]["name"] = "replica".into();
    pod["metadata"]["namespace"] = "scheduling".into();
    pod["spec"] = template["spec"].clone();
    Ok(pod)
}

#[tokio::test]
async fn each_values_file_installs_in_a_restricted_namespace_and_leaves_only_the_crd()
-> anyhow::Result<()> {
    let control_plane = start().await?;
    create_monitoring_crds(&control_plane).await?;
    for namespace in ["scheduling", "bayplan-election"] {
        control_plane
            .kubectl(&["create", "namespace", namespace])
            .await?;
    }
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    let label = ["label", "namespace", "scheduling", restricted];
    control_plane.kubectl(&label).await?;

    for name in ["minimal", "ha", "secure", "everything"] {
        let values = chart().join(format!("ci/{name}-values.yaml"));
        let values = values.to_str().expect("the path must be UTF-8");
        helm(
            &control_plane,
            "install",
            "scheduling",
            &["--values", values],
        )
        .await?;
        let pod = pod_of_the_release(&control_plane).await?;
        create(&control_plane, &pod).await?;
        let delete = [
            "delete",
            "pod",
            "replica",
            "--namespace=scheduling",
            "--now",
        ];
        control_plane.kubectl(&delete).await?;

        let uninstall = ["uninstall", "bayplan", "--namespace", "scheduling"];
        control_plane.helm(&uninstall).await?;
        assert_eq!(left(&control_plane).await?, [""; 0], "{name}");
    }
    get(&control_plane, &["crd", "schedulerprofiles.bayplan.dev"]).await?;
    control_plane.stop()
}

#[tokio::test]
async fn default_release_in_kube_system_has_the_profile_that_it_promises() -> anyhow::Result<()> {
    let control_plane = start().await?;
    let notes = helm(&control_plane, "install", "kube-system", &[]).await?;
    assert!(
        notes.contains("schedulerName: bayplan   # SchedulerProfile bayplan"),
        "{notes}"
    );
    assert!(!notes.contains("WARNING"), "{notes}");
    let profile = get(&control_plane, &["schedulerprofile", "bayplan"]).await?;
    assert_eq!(profile["spec"]["schedulerName"], "bayplan");
    control_plane.stop()
}

#[tokio::test]
async fn older_crd_is_warned_of_until_it_is_upgraded_as_documented() -> anyhow::Result<()> {
    let control_plane = start().await?;
    helm(&control_plane, "install", "kube-system", &[]).await?;
    // What an older version lacked.
    let older = r#"[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}]"#;
    let crd = "crd/schedulerprofiles.bayplan.dev";
    control_plane
        .kubectl(&["patch", crd, "--type=json", "--patch", older])
        .await?;
    let notes = helm(&control_plane, "upgrade", "kube-system", &[]).await?;
    assert!(
        notes.contains("WARNING: the CRD in the cluster is not the one"),
        "{notes}"
    );

    let chart = chart();
    let shown = control_plane
        .helm(&["show", "crds", chart.to_str().expect("UTF-8")])
        .await?;
    let file = control_plane.folder().join("crds.yaml");
    std::fs::write(&file, shown)?;
    let file = format!("--filename={}", file.display());
    let apply = ["apply", "--server-side", "--force-conflicts", &file];
    control_plane.kubectl(&apply).await?;
    let notes = helm(&control_plane, "upgrade", "kube-system", &[]).await?;
    assert!(!notes.contains("WARNING"), "{notes}");
    control_plane.stop()
}
