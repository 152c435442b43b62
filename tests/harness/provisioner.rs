//! Plays the external provisioner of a CSI driver: makes a volume for every claim for which
//! kube-controller-manager has called the driver.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, PostParams};
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt, watcher::Event};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Set by kube-controller-manager on a claim when the driver is to act.
const CALLED: &str = "volume.kubernetes.io/storage-provisioner";
/// Set by the scheduler.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Tries of one claim. Its next change would bring another chance, but there may be none.
const ATTEMPTS: u32 = 5;

/// Between two tries.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// For one claim.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A running player. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Provisioner {
    task: JoinHandle<()>,
}

impl Provisioner {
    /// Makes volumes in the name of `driver`, until dropped.
    pub(crate) fn start(client: Client, driver: &'static str) -> Self {
        Self {
            task: tokio::spawn(run(client, driver)),
        }
    }
}

impl Drop for Provisioner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(client: Client, driver: &'static str) {
    let claims: Api<PersistentVolumeClaim> = Api::all(client.clone());
    // The back-off keeps the stream going after errors; there is nobody to tell.
    let config = watcher::Config::default().timeout(200);
    let events = watcher::watcher(claims, config).default_backoff();
    events
        .for_each(async |event| {
            if let Ok(Event::Apply(claim) | Event::InitApply(claim)) = event
                && is_called(&claim, driver)
            {
                fulfil(&client, &claim, driver).await;
            }
        })
        .await;
}

fn is_called(claim: &PersistentVolumeClaim, driver: &str) -> bool {
    let called = claim.annotations().get(CALLED);
    let spec = claim.spec.as_ref();
    let volume = spec.and_then(|spec| spec.volume_name.as_deref());
    called.is_some_and(|called| called == driver)
        && volume.unwrap_or_default().is_empty()
        && claim.metadata.deletion_timestamp.is_none()
}

async fn fulfil(client: &Client, claim: &PersistentVolumeClaim, driver: &str) {
    for _ in 0..ATTEMPTS {
        match tokio::time::timeout(REQUEST_TIMEOUT, provision(client, claim, driver)).await {
            Ok(Ok(())) => return,
            Ok(Err(_)) | Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

async fn provision(
    client: &Client,
    claim: &PersistentVolumeClaim,
    driver: &str,
) -> anyhow::Result<()> {
    let class = claim.spec.as_ref();
    let class = class.and_then(|spec| spec.storage_class_name.as_deref());
    let class = Api::<StorageClass>::all(client.clone())
        .get(class.unwrap_or_default())
        .await?;
    let node = claim.annotations().get(SELECTED_NODE);
    if node.is_none() && class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer") {
        return Ok(());
    }
    let volume: PersistentVolume = serde_json::from_value(volume(claim, driver, node))?;
    let volumes = Api::<PersistentVolume>::all(client.clone());
    match volumes.create(&PostParams::default(), &volume).await {
        // Made already: the claim changes before it is bound.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => Ok(made.map(drop)?),
    }
}

/// The volume for a claim, on the selected node if there is one.
fn volume(claim: &PersistentVolumeClaim, driver: &str, node: Option<&String>) -> Value {
    let uid = claim.uid().unwrap_or_default();
    let spec = claim.spec.clone().unwrap_or_default();
    let requests = spec.resources.and_then(|resources| resources.requests);
    let mut volume = json!({
        "metadata": {
            "name": format!("pvc-{uid}"),
            "annotations": { "pv.kubernetes.io/provisioned-by": driver },
        },
        "spec": {
            "accessModes": spec.access_modes,
            "capacity": requests,
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace(),
                "name": claim.name_any(),
                "uid": uid,
            },
            "csi": { "driver": driver, "volumeHandle": uid },
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": spec.storage_class_name,
        },
    });
    if let Some(node) = node {
        volume["spec"]["nodeAffinity"] = super::storage::only_on(node);
    }
    volume
}
