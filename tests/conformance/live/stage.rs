//! Sets a random cluster up on a real API server, and puts back what an attempt has changed.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::harness::objects;

/// What a decision may depend on.
const KINDS: [(&str, &str, &str); 16] = [
    ("", "v1", "Namespace"),
    ("", "v1", "Node"),
    ("", "v1", "Service"),
    ("", "v1", "ReplicationController"),
    ("apps", "v1", "ReplicaSet"),
    ("apps", "v1", "StatefulSet"),
    ("scheduling.k8s.io", "v1", "PriorityClass"),
    ("policy", "v1", "PodDisruptionBudget"),
    ("storage.k8s.io", "v1", "StorageClass"),
    ("storage.k8s.io", "v1", "CSIDriver"),
    ("storage.k8s.io", "v1", "CSINode"),
    ("storage.k8s.io", "v1", "CSIStorageCapacity"),
    ("storage.k8s.io", "v1", "VolumeAttachment"),
    CLAIM,
    VOLUME,
    POD,
];

const CLAIM: (&str, &str, &str) = ("", "v1", "PersistentVolumeClaim");
const VOLUME: (&str, &str, &str) = ("", "v1", "PersistentVolume");
const POD: (&str, &str, &str) = ("", "v1", "Pod");

/// What a scheduler changes, in the order in which it can be put back.
const CHANGING: [(&str, &str, &str); 3] = [CLAIM, VOLUME, POD];

fn kind((group, version, kind): (&str, &str, &str)) -> GroupVersionKind {
    GroupVersionKind::gvk(group, version, kind)
}

/// Whether a generated pod has been placed already, or never will be.
pub(crate) fn is_waiting(object: &Value) -> bool {
    object["kind"] == "Pod"
        && object["spec"]["nodeName"].is_null()
        && object["metadata"]["deletionTimestamp"].is_null()
}

/// `namespace/name`.
pub(crate) fn key(object: &Value) -> String {
    let part = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", part("namespace"), part("name"))
}

/// Creates what the API server takes of the objects. What is on its way out in the file is deleted
/// and stays: there is no kubelet, and claims have finalizers.
pub(crate) async fn set(client: &Client, standing: Vec<&Value>) -> anyhow::Result<()> {
    // The generator names it, but leaves it out: a file may do that, a server may not.
    let unlisted = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "unlisted"}});
    let mut all = vec![unlisted];
    all.extend(standing.into_iter().cloned());
    all.extend(OVERHEADS.map(runtime_class));
    // A volume names the UID of its claim.
    all.sort_by_key(|object| match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("PersistentVolumeClaim") => 2,
        Some("PersistentVolume") => 3,
        Some("Pod") => 4,
        _ => 1,
    });
    even_out_images(&mut all);
    let mut claims = BTreeMap::new();
    for (number, object) in all.into_iter().enumerate() {
        let prepared = prepared(object, number, &claims);
        if let Some(created) = put(client, prepared).await? {
            match created["kind"].as_str() {
                Some("PersistentVolumeClaim") => {
                    claims.insert(key(&created), created["metadata"]["uid"].clone());
                }
                Some("Pod") => adopt(client, &created).await?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The overheads of the generator: cpu and memory. A server takes overhead from a class only.
const OVERHEADS: [[&str; 2]; 3] = [["50m", "0"], ["0", "32Mi"], ["200m", "100Mi"]];

fn runtime_class([cpu, memory]: [&str; 2]) -> Value {
    json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
        "metadata": {"name": format!("overhead-{cpu}-{}", memory.to_lowercase())},
        "handler": "any", "overhead": {"podFixed": {"cpu": cpu, "memory": memory}}})
}

/// The pod with a class instead of an overhead.
pub(crate) fn in_runtime_class(mut pod: Value) -> Value {
    let overhead = pod["spec"].as_object_mut();
    if let Some(overhead) = overhead.and_then(|spec| spec.remove("overhead")) {
        let amount = |resource: &str| overhead[resource].as_str().unwrap_or("0").to_lowercase();
        pod["spec"]["runtimeClassName"] =
            format!("overhead-{}-{}", amount("cpu"), amount("memory")).into();
    }
    pod
}

/// Upstream gives an image the size that it has on the node seen first, and sees the nodes in the
/// random order of a Go map (docs/compatibility.md). Here an image has one size.
fn even_out_images(objects: &mut [Value]) {
    let mut sizes = BTreeMap::new();
    for node in objects {
        let images = node.pointer_mut("/status/images");
        for image in images.and_then(Value::as_array_mut).into_iter().flatten() {
            let size = sizes.entry(image["names"].to_string());
            image["sizeBytes"] = size.or_insert(image["sizeBytes"].clone()).clone();
        }
    }
}

/// What a file may leave open and a server may not.
fn prepared(mut object: Value, number: usize, claims: &BTreeMap<String, Value>) -> Value {
    match object["kind"].as_str() {
        Some("Node") => {
            let features = object["status"].get_mut("declaredFeatures");
            if let Some(features) = features.and_then(Value::as_array_mut) {
                features.sort_by_key(ToString::to_string);
            }
        }
        Some("PersistentVolume") => {
            if let Some(reference) = object["spec"].get_mut("claimRef") {
                let claim = key(&json!({"metadata": reference.clone()}));
                reference["uid"] = claims.get(&claim).cloned().unwrap_or("gone".into());
            }
        }
        Some("PodDisruptionBudget") if object["status"].is_object() => {
            // Nobody counts, so that the status must not be behind, or Bayplan would know better
            // after an eviction (docs/compatibility.md).
            object["status"]["desiredHealthy"] = 0.into();
        }
        Some("Pod") => {
            object = in_runtime_class(object);
            // No two began at once, so that of two victims one is always the better choice.
            let (minute, second) = (number / 60 % 60, number % 60);
            object["status"]["startTime"] = match object["status"]["startTime"].as_str() {
                Some(given) => format!("{}:{second:02}Z", &given[..16]),
                None => format!("2024-01-01T03:{minute:02}:{second:02}Z"),
            }
            .into();
        }
        _ => {}
    }
    object
}

/// Creates an object with its status; deletes it if it was on its way out. `None` if the API server
/// does not take it.
async fn put(client: &Client, mut object: Value) -> anyhow::Result<Option<Value>> {
    let metadata = object["metadata"].as_object_mut();
    let is_leaving = metadata.is_some_and(|metadata| {
        metadata.remove("deletionGracePeriodSeconds");
        metadata.remove("deletionTimestamp").is_some()
    });
    let types = (object["apiVersion"].clone(), object["kind"].clone());
    let Some(created) = take(objects::create_one(client, object).await)? else {
        return Ok(None);
    };
    let mut created = serde_json::to_value(created)?;
    (created["apiVersion"], created["kind"]) = types;
    if is_leaving {
        let name = created["metadata"]["name"].as_str().unwrap_or_default();
        let api = api_of(client, &created);
        api.delete(name, &DeleteParams::default()).await?;
    }
    Ok(Some(created))
}

fn api_of(client: &Client, object: &Value) -> Api<DynamicObject> {
    let known = KINDS.iter().find(|(.., kind)| object["kind"] == *kind);
    let known = known.expect("every kind in a cluster must be listed");
    let resource = ApiResource::from_gvk(&kind(*known));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Makes the pod the owner of the claims that were made for it: a file can tell its UID beforehand,
/// a server cannot.
pub(crate) async fn adopt(client: &Client, pod: &Value) -> anyhow::Result<()> {
    for claim in objects::list(client, &kind(CLAIM)).await? {
        let owner = &claim["metadata"]["ownerReferences"][0];
        let is_near = claim["metadata"]["namespace"] == pod["metadata"]["namespace"];
        if is_near && is_meant(owner, pod) {
            let mut owner = owner.clone();
            owner["uid"] = pod["metadata"]["uid"].clone();
            let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
            let name = claim["metadata"]["name"].as_str().unwrap_or_default();
            let api = api_of(client, &claim);
            api.patch(name, &PatchParams::default(), &patch).await?;
        }
    }
    Ok(())
}

/// Whether the owner of a claim is this pod, whatever UID the file has given it.
pub(crate) fn is_meant(owner: &Value, pod: &Value) -> bool {
    owner["name"] == pod["metadata"]["name"] && owner["uid"] != "somebody-else"
}

/// The cluster as the API server shows it, without profiles.
pub(crate) async fn objects(client: &Client) -> anyhow::Result<Vec<Value>> {
    let kinds = KINDS.map(kind);
    let lists = kinds.iter().map(|kind| objects::list(client, kind));
    Ok(try_join_all(lists).await?.concat())
}

/// What a scheduler may change of an object.
fn face(object: &Value) -> [Value; 4] {
    let metadata = &object["metadata"];
    [
        metadata["uid"].clone(),
        metadata["deletionTimestamp"].clone(),
        metadata["annotations"].clone(),
        object["spec"].clone(),
    ]
}

/// Puts claims, volumes and pods back as they were in `before`; says whether anything was changed.
pub(crate) async fn restore(client: &Client, before: &[Value]) -> anyhow::Result<bool> {
    let kinds = CHANGING.map(kind);
    let lists = kinds.iter().map(|kind| objects::list(client, kind));
    let now = try_join_all(lists).await?.concat();
    let is_kept = |object: &Value| before.iter().any(|old| face(old) == face(object));
    let (kept, changed): (Vec<_>, Vec<_>) = now.iter().partition(|object| is_kept(object));
    let kept: BTreeSet<_> = kept.into_iter().map(identity).collect();
    for object in &changed {
        objects::erase(client, object).await?;
    }
    let mut has_changed = !changed.is_empty();
    for (.., kind) in CHANGING {
        for old in before.iter().filter(|old| old["kind"] == kind) {
            if !kept.contains(&identity(old)) {
                put(client, fresh(old)).await?;
                has_changed = true;
            }
        }
    }
    Ok(has_changed)
}

fn identity(object: &Value) -> (String, String) {
    (object["kind"].to_string(), key(object))
}

/// The object as it could be created.
fn fresh(old: &Value) -> Value {
    let mut object = old.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
        ] {
            metadata.remove(field);
        }
    }
    object
}

/// What the API server refuses, such as overhead without a runtime class, is left out.
pub(crate) fn take<T>(answer: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    match answer {
        Ok(taken) => Ok(Some(taken)),
        Err(error) => match error.chain().find_map(|cause| cause.downcast_ref()) {
            Some(kube::Error::Api(status)) if matches!(status.code, 403 | 409 | 422) => Ok(None),
            _ => Err(error),
        },
    }
}
