//! What the API server lets the release do, and how it queues it.

use std::collections::BTreeSet;

use anyhow::Context;
use http::{Method, Request};
use k8s_openapi::api::authorization::v1::{
    ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use kube::client::Body;

use super::{PATIENCE, client, get, helm, start};
use crate::harness::wait;
use crate::rbac::calls;

/// API group, resource, object name and verb.
type Right = [String; 4];

/// What a client may do in a namespace, as the API server sees it.
async fn rights(client: &Client, namespace: &str) -> anyhow::Result<BTreeSet<Right>> {
    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec {
            namespace: Some(namespace.to_owned()),
        },
        ..SelfSubjectRulesReview::default()
    };
    let api: Api<SelfSubjectRulesReview> = Api::all(client.clone());
    let answer = api.create(&PostParams::default(), &review).await?;
    let rules = answer.status.map(|status| status.resource_rules);
    Ok(rules.unwrap_or_default().iter().flat_map(expand).collect())
}

/// Every single right of a rule.
fn expand(rule: &ResourceRule) -> BTreeSet<Right> {
    let all = vec!["*".to_owned()];
    let names = rule
        .resource_names
        .as_ref()
        .filter(|names| !names.is_empty());
    let mut rights = BTreeSet::new();
    for group in rule.api_groups.as_ref().unwrap_or(&all) {
        for resource in rule.resources.as_ref().unwrap_or(&all) {
            for name in names.unwrap_or(&all) {
                for verb in &rule.verbs {
                    let group = if group.is_empty() { "core" } else { group };
                    rights.insert([group, resource, name, verb].map(String::from));
                }
            }
        }
    }
    rights
}

/// The rights of the table that hold in the whole cluster, or also those to the Lease.
fn table(with_lease: bool) -> BTreeSet<Right> {
    let grants = calls().into_iter().map(|(grant, _)| grant);
    grants
        .filter(|[scope, ..]| with_lease || scope == "cluster")
        .map(|[_, group, resource, name, verb]| [group, resource, name, verb])
        .collect()
}

#[tokio::test]
async fn service_account_may_do_what_the_table_says_and_nothing_else() -> anyhow::Result<()> {
    let control_plane = start().await?;
    let args = ["--create-namespace"];
    helm(&control_plane, "install", "scheduling", &args).await?;
    let nobody = [
        "create",
        "serviceaccount",
        "nobody",
        "--namespace=scheduling",
    ];
    control_plane.kubectl(&nobody).await?;

    let scheduler = client(&control_plane, "scheduling", "bayplan").await?;
    let nobody = client(&control_plane, "scheduling", "nobody").await?;
    for (namespace, with_lease) in [("kube-system", true), ("scheduling", false)] {
        // Everybody may ask about himself, and read the API's description.
        let everybody = rights(&nobody, namespace).await?;
        let own: BTreeSet<Right> = rights(&scheduler, namespace)
            .await?
            .difference(&everybody)
            .cloned()
            .collect();
        assert_eq!(own, table(with_lease), "{namespace}");
    }
    control_plane.stop()
}

/// The UID of the priority level at which the API server handled a request.
async fn level(client: &Client, method: &Method, path: &str) -> anyhow::Result<String> {
    let content_type = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(Body::from(b"{}".to_vec()))?;
    let response = client.send(request).await?;
    let header = response.headers().get("x-kubernetes-pf-prioritylevel-uid");
    let uid = header.context("the API server must say how it queued the request")?;
    Ok(uid.to_str()?.to_owned())
}

#[tokio::test]
async fn calls_have_the_priority_of_a_scheduler_in_every_namespace() -> anyhow::Result<()> {
    let control_plane = start().await?;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let lease = format!("{leases}/bayplan");
    let requests = [
        (Method::PATCH, lease.as_str(), "leader-election"),
        (Method::GET, lease.as_str(), "leader-election"),
        (Method::POST, leases, "leader-election"),
        (Method::GET, "/api/v1/pods?limit=1", "workload-high"),
        (
            Method::POST,
            "/api/v1/namespaces/default/pods/x/binding",
            "workload-high",
        ),
    ];
    for namespace in ["kube-system", "scheduling"] {
        let args = ["--create-namespace"];
        helm(&control_plane, "install", namespace, &args).await?;
        let client = client(&control_plane, namespace, "bayplan").await?;
        for (method, path, name) in &requests {
            let wanted = get(&control_plane, &["prioritylevelconfiguration", name]).await?;
            let what = format!("{method} {path} from {namespace} to be queued at {name}");
            // The API server takes a new FlowSchema up within a second.
            wait::until(&what, PATIENCE, async || {
                let uid = level(&client, method, path).await?;
                Ok((wanted["metadata"]["uid"] == uid.as_str()).then_some(()))
            })
            .await?;
        }
        let uninstall = ["uninstall", "bayplan", "--namespace", namespace];
        control_plane.helm(&uninstall).await?;
    }
    control_plane.stop()
}
