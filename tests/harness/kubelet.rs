//! Plays the kubelets of all nodes: without one a pod with a node stays Pending for ever, and a
//! deleted one stays Terminating.

use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt, watcher::Event};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::task::JoinHandle;

/// Requests in flight.
const CONCURRENCY: usize = 16;

/// Tries of one request. The next change of the pod would bring another chance, but there may be
/// none.
const ATTEMPTS: u32 = 5;

/// Between two tries.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// For one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A label of pods that do not end when they are deleted, until somebody deletes them without grace.
pub(crate) const CLINGS: &str = "clings";

/// A running player. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct FakeKubelet {
    task: JoinHandle<()>,
}

impl FakeKubelet {
    /// Sets pods with a node Running and confirms their deletion, until dropped.
    pub(crate) fn start(client: Client) -> Self {
        Self {
            task: tokio::spawn(run(client)),
        }
    }
}

impl Drop for FakeKubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a kubelet has to do about a pod.
#[derive(Debug)]
enum Duty {
    Run(Box<Pod>),
    ConfirmDeletion(Box<Pod>),
}

async fn run(client: Client) {
    let pods: Api<Pod> = Api::all(client.clone());
    let config = watcher::Config::default()
        .fields("spec.nodeName!=")
        .timeout(200);
    // The back-off keeps the stream going after errors; there is nobody to tell.
    let duties = watcher::watcher(pods, config)
        .default_backoff()
        .filter_map(async |event| match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => Duty::of(pod),
            Ok(Event::Delete(_) | Event::Init | Event::InitDone) | Err(_) => None,
        });
    duties
        .for_each_concurrent(CONCURRENCY, |duty| fulfil(client.clone(), duty))
        .await;
}

impl Duty {
    fn of(pod: Pod) -> Option<Self> {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        if pod.metadata.deletion_timestamp.is_some() {
            (!pod.labels().contains_key(CLINGS)).then(|| Self::ConfirmDeletion(Box::new(pod)))
        } else if matches!(phase, None | Some("Pending")) {
            Some(Self::Run(Box::new(pod)))
        } else {
            None
        }
    }

    async fn attempt(&self, client: &Client) -> Result<(), kube::Error> {
        match self {
            Self::Run(pod) => set_running(client, pod).await,
            Self::ConfirmDeletion(pod) => confirm_deletion(client, pod).await,
        }
    }
}

async fn fulfil(client: Client, duty: Duty) {
    for _ in 0..ATTEMPTS {
        match tokio::time::timeout(REQUEST_TIMEOUT, duty.attempt(&client)).await {
            Ok(Ok(())) => return,
            // Gone, or another pod under this name by now.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => return,
            Ok(Err(_)) | Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

fn api(client: &Client, pod: &Pod) -> Api<Pod> {
    Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default())
}

async fn set_running(client: &Client, pod: &Pod) -> Result<(), kube::Error> {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let conditions: Vec<_> = ["Initialized", "ContainersReady", "Ready"]
        .map(|kind| json!({ "type": kind, "status": "True", "lastTransitionTime": now }))
        .into();
    let patch = json!({
        "metadata": { "uid": pod.uid() },
        "status": { "phase": "Running", "startTime": now, "conditions": conditions },
    });
    let params = PatchParams::default();
    api(client, pod)
        .patch_status(&pod.name_any(), &params, &Patch::Strategic(patch))
        .await?;
    Ok(())
}

async fn confirm_deletion(client: &Client, pod: &Pod) -> Result<(), kube::Error> {
    let preconditions = Preconditions {
        uid: pod.uid(),
        resource_version: None,
    };
    let params = DeleteParams::default()
        .grace_period(0)
        .preconditions(preconditions);
    api(client, pod).delete(&pod.name_any(), &params).await?;
    Ok(())
}
