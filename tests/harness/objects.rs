//! Objects of any kind, written as JSON.

use std::time::Duration;

use anyhow::Context;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Scope, pinned_kind};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::wait;

/// For the end of an object that nothing holds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Creates objects one after the other, each in its namespace or in `default`, and gives them the
/// status that they come with.
pub(crate) async fn create(
    client: &Client,
    objects: impl IntoIterator<Item = Value>,
) -> anyhow::Result<()> {
    for object in objects {
        create_one(client, object).await?;
    }
    Ok(())
}

/// Creates an object, gives it the status that it comes with, and returns what became of it.
pub(crate) async fn create_one(client: &Client, object: Value) -> anyhow::Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let name = object.name_any();
    let api = api(client, &object).await?;
    let created = api
        .create(&PostParams::default(), &object)
        .await
        .with_context(|| format!("{name} cannot be created"))?;
    // A create leaves the status of most kinds out.
    let Some(status @ Value::Object(_)) = object.data.get("status") else {
        return Ok(created);
    };
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(&name, &PatchParams::default(), &patch)
        .await
        .with_context(|| format!("{name} cannot be given its status"))
}

async fn api(client: &Client, object: &DynamicObject) -> anyhow::Result<Api<DynamicObject>> {
    let types = object.types.as_ref().context("an object without a kind")?;
    let kind = GroupVersionKind::try_from(types)?;
    let (resource, capabilities) = pinned_kind(client, &kind).await?;
    Ok(match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
    })
}

/// All objects of a kind, with `apiVersion` and `kind`, as the API server shows them.
pub(crate) async fn list(client: &Client, kind: &GroupVersionKind) -> anyhow::Result<Vec<Value>> {
    let resource = ApiResource::from_gvk(kind);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let listed = api.list(&ListParams::default()).await?;
    let values = listed.items.into_iter().map(|object| {
        let mut value = serde_json::to_value(object)?;
        value["apiVersion"] = resource.api_version.clone().into();
        value["kind"] = resource.kind.clone().into();
        Ok(value)
    });
    values.collect()
}

/// Deletes an object at once, whatever holds it, and waits until it is gone.
pub(crate) async fn erase(client: &Client, object: &Value) -> anyhow::Result<()> {
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let (name, api) = (object.name_any(), api(client, &object).await?);
    if !object.finalizers().is_empty() {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        unless_gone(api.patch(&name, &PatchParams::default(), &patch).await)?;
    }
    let at_once = DeleteParams::default().grace_period(0);
    unless_gone(api.delete(&name, &at_once).await)?;
    wait::until(&format!("{name} to be gone"), PATIENCE, async || {
        let now = api.get_opt(&name).await?;
        // Somebody may have made another one in the meantime.
        let is_gone = now.is_none_or(|now| now.uid() != object.uid());
        Ok(is_gone.then_some(()))
    })
    .await
}

fn unless_gone<T>(answer: Result<T, kube::Error>) -> anyhow::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => Ok(answer.map(drop)?),
    }
}
