//! Creates thousands of objects with a bounded number of requests in flight.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Requests in flight.
const CONCURRENCY: usize = 32;

/// Tries of one request while the server is busy or out of reach.
const ATTEMPTS: u32 = 10;

/// Between two tries.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Creates nodes, status included, and returns them as the server stored them, in their order.
pub(crate) async fn nodes(client: &Client, nodes: Vec<Node>) -> anyhow::Result<Vec<Node>> {
    let api = Api::all(client.clone());
    in_parallel(nodes, |node| create(api.clone(), node)).await
}

/// Creates pods, each in its namespace or in `default`, and returns them as the server stored
/// them, in their order.
pub(crate) async fn pods(client: &Client, pods: Vec<Pod>) -> anyhow::Result<Vec<Pod>> {
    objects(client, pods).await
}

/// Creates objects of any kind that lives in a namespace, each in its namespace or in `default`.
pub(crate) async fn objects<K>(client: &Client, objects: Vec<K>) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    in_parallel(objects, |object| {
        let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
        create(Api::namespaced(client.clone(), &namespace), object)
    })
    .await
}

async fn in_parallel<K, F: Future<Output = anyhow::Result<K>>>(
    objects: Vec<K>,
    create: impl FnMut(K) -> F,
) -> anyhow::Result<Vec<K>> {
    stream::iter(objects)
        .map(create)
        .buffered(CONCURRENCY)
        .try_collect()
        .await
}

async fn create<K>(api: Api<K>, object: K) -> anyhow::Result<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let name = object.name_any();
    let mut attempt = 1;
    loop {
        match api.create(&PostParams::default(), &object).await {
            Ok(created) => return Ok(created),
            // A try whose answer was lost has succeeded after all.
            Err(kube::Error::Api(status)) if attempt > 1 && status.code == 409 => {
                return Ok(api.get(&name).await?);
            }
            Err(error) if attempt < ATTEMPTS && is_passing(&error) => attempt += 1,
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("{} {name} cannot be created", K::kind(&())));
            }
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Whether another try may succeed.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        kube::Error::HyperError(_) | kube::Error::Service(_) => true,
        _ => false,
    }
}
