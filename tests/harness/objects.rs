//! Objects of any kind, written as JSON.

use anyhow::Context;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Scope, pinned_kind};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

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
    let listed = api.list(&kube::api::ListParams::default()).await?;
    let values = listed.items.into_iter().map(|object| {
        let mut value = serde_json::to_value(object)?;
        value["apiVersion"] = resource.api_version.clone().into();
        value["kind"] = resource.kind.clone().into();
        Ok(value)
    });
    values.collect()
}
