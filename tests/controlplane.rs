//! The control plane of the tests is a real one, and leaves nothing behind.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Binding, Namespace, ObjectReference, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

mod harness;

use harness::audit::Bind;
use harness::builders::{make_node, make_pod};
use harness::checker::{check_binds, check_history};
use harness::control_plane::{ControlPlane, Options};
use harness::history::History;
use harness::kubelet::FakeKubelet;
use harness::process::Signal;
use harness::{create, kubeconfig, wait};

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(1);

async fn bind(client: &Client, pod: &Pod, node: &str) -> anyhow::Result<()> {
    let binding = Binding {
        metadata: ObjectMeta {
            name: Some(pod.name_any()),
            uid: pod.uid(),
            ..ObjectMeta::default()
        },
        target: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: Some(node.to_owned()),
            ..ObjectReference::default()
        },
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), "default");
    let _: serde_json::Value = api
        .create_subresource("binding", &pod.name_any(), &PostParams::default(), &binding)
        .await?;
    Ok(())
}

async fn until_running(pods: &Api<Pod>, name: &str) -> anyhow::Result<Pod> {
    wait::until(&format!("pod {name} to run"), PATIENCE, async || {
        let pod = pods.get(name).await?;
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        Ok((phase == Some("Running")).then_some(pod))
    })
    .await
}

#[tokio::test]
async fn pod_bound_by_hand_runs_and_goes() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let history = History::start(client.clone()).await?;
    let _kubelet = FakeKubelet::start(client.clone());
    create::nodes(&client, vec![make_node("n1").build()]).await?;
    let pod = make_pod("by-hand").requests("3", "1Gi").build();
    let pod = create::pods(&client, vec![pod]).await?.remove(0);
    bind(&client, &pod, "n1").await?;
    assert!(
        bind(&client, &pod, "n1").await.is_err(),
        "a pod is bound once"
    );

    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let running = until_running(&pods, "by-hand").await?;
    let conditions = running
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default();
    let mut kinds: Vec<&str> = conditions
        .iter()
        .map(|found| found.type_.as_str())
        .collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["ContainersReady", "Initialized", "PodScheduled", "Ready"]
    );

    pods.delete("by-hand", &DeleteParams::default()).await?;
    wait::until("the pod to be gone", PATIENCE, async || {
        Ok(pods.get_opt("by-hand").await?.is_none().then_some(()))
    })
    .await?;

    history.settle(PATIENCE).await?;
    history.is_complete()?;
    assert_eq!(history.bound_pods(), 0);
    assert_eq!(check_history(&history.records()), []);
    let binds = control_plane.audit_log().binds()?;
    let codes: Vec<u16> = binds.iter().map(|bind| bind.code).collect();
    assert_eq!(codes, [201, 409]);
    assert_eq!(binds[0].pod, "default/by-hand");
    assert_eq!(binds[0].uid, pod.uid().unwrap_or_default());
    assert_eq!(binds[0].issuer.user, "admin");
    assert_eq!(check_binds(&binds), []);
    control_plane.stop()
}

#[tokio::test]
async fn tools_talk_to_the_server_they_were_built_with() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let version = control_plane.kubectl(&["version"]).await?;
    assert!(version.contains("Client Version: v1.37.2"), "{version}");
    assert!(version.contains("Server Version: v1.37.2"), "{version}");
    let version = control_plane.helm(&["version", "--short"]).await?;
    assert!(version.starts_with("v4.3.1"), "{version}");
    assert_eq!(control_plane.helm(&["list", "--short"]).await?, "");
    let refused = control_plane
        .kubectl(&["get", "nonsense"])
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("doesn't have a resource type"),
        "{refused}"
    );
    control_plane.stop()
}

#[tokio::test]
async fn service_account_may_do_what_its_roles_say() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(control_plane.client(), "default");
    let account = ServiceAccount {
        metadata: ObjectMeta {
            name: Some("tester".to_owned()),
            ..ObjectMeta::default()
        },
        ..ServiceAccount::default()
    };
    accounts.create(&PostParams::default(), &account).await?;
    let path = control_plane
        .service_account_kubeconfig("default", "tester")
        .await?;
    let pods: Api<Pod> = Api::namespaced(kubeconfig::client(&path).await?, "default");
    let denied = pods.get_opt("any").await.unwrap_err().to_string();
    assert!(
        denied.contains("system:serviceaccount:default:tester"),
        "{denied}"
    );
    // A role of our own: nobody fills in the aggregated ones, like `view`, here.
    control_plane
        .kubectl(&["create", "role", "reader", "--verb=get", "--resource=pods"])
        .await?;
    let subject = "--serviceaccount=default:tester";
    control_plane
        .kubectl(&["create", "rolebinding", "tester", "--role=reader", subject])
        .await?;
    wait::until("the role to count", PATIENCE, async || {
        Ok(pods.get_opt("any").await.ok())
    })
    .await?;
    control_plane.stop()
}

#[tokio::test]
async fn kube_scheduler_schedules_pods_without_a_finding() -> anyhow::Result<()> {
    const PODS: usize = 40;
    let control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let history = History::start(client.clone()).await?;
    let _kubelet = FakeKubelet::start(client.clone());
    create::nodes(
        &client,
        (0..4)
            .map(|i| make_node(&format!("n{i}")).build())
            .collect(),
    )
    .await?;
    let mut scheduler = control_plane.kube_scheduler(json!({}), &control_plane.kubeconfig())?;
    let pod = |i| make_pod(&format!("p{i}")).requests("300m", "64Mi").build();
    create::pods(&client, (0..PODS).map(pod).collect()).await?;
    wait::until("all pods to be bound", PATIENCE, async || {
        Ok((history.bound_pods() == PODS).then_some(()))
    })
    .await?;
    let usage = scheduler.usage()?;
    assert!(
        usage.cpu > Duration::ZERO && usage.peak_rss > 1 << 20,
        "{usage:?}"
    );
    scheduler.signal(Signal::Term)?;
    scheduler.wait(PATIENCE).await?;

    history.settle(PATIENCE).await?;
    history.is_complete()?;
    assert_eq!(check_history(&history.records()), []);
    let binds = control_plane.audit_log().binds()?;
    assert_eq!(
        binds.iter().filter(|bind| Bind::succeeded(bind)).count(),
        PODS
    );
    assert!(
        binds
            .iter()
            .all(|bind| bind.issuer.user_agent.starts_with("kube-scheduler/"))
    );
    assert_eq!(check_binds(&binds), []);
    control_plane.stop()
}

#[tokio::test]
async fn kubelet_and_history_go_on_after_a_restart_of_the_server() -> anyhow::Result<()> {
    let mut control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let history = History::start(client.clone()).await?;
    let _kubelet = FakeKubelet::start(client.clone());
    create::nodes(&client, vec![make_node("n1").build()]).await?;
    create::pods(&client, vec![make_pod("before").on("n1").build()]).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    until_running(&pods, "before").await?;
    control_plane.restart_apiserver().await?;
    create::pods(&client, vec![make_pod("after").on("n1").build()]).await?;
    until_running(&pods, "after").await?;
    history.settle(PATIENCE).await?;
    history.is_complete()?;
    assert_eq!(history.bound_pods(), 2);
    control_plane.stop()
}

#[tokio::test]
async fn nothing_is_left_after_stop_or_drop() -> anyhow::Result<()> {
    for stop in [true, false] {
        let mut control_plane = ControlPlane::start(Options::default()).await?;
        let pids = control_plane.processes().map(|process| process.id());
        let folder = control_plane.folder().to_owned();
        let namespaces: Api<Namespace> = Api::all(control_plane.client());
        assert!(namespaces.get_opt("kube-system").await?.is_some());
        if stop {
            control_plane.stop()?;
        } else {
            drop(control_plane);
        }
        for pid in pids {
            assert!(
                !Path::new(&format!("/proc/{pid}")).exists(),
                "{pid} still runs"
            );
        }
        assert!(!folder.exists(), "{} is still there", folder.display());
    }
    Ok(())
}
