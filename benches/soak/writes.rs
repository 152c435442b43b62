//! Changes of single objects, tried again while the API server is busy.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use kube::Client;
use serde_json::Value;

use crate::requests::insist;

/// Merges a change into an object.
pub(crate) async fn merge(client: &Client, path: &str, change: &Value) -> anyhow::Result<()> {
    let request = Request::patch(path)
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .body(Bytes::from(change.to_string()))?;
    insist(client, request, StatusCode::OK).await
}

/// PUTs an object. One that is gone is fine.
pub(crate) async fn put(client: &Client, path: &str, object: &Value) -> anyhow::Result<()> {
    let request = Request::put(path)
        .header(CONTENT_TYPE, "application/json")
        .body(Bytes::from(object.to_string()))?;
    insist(client, request, StatusCode::NOT_FOUND).await
}

/// DELETEs an object. One that is gone is fine.
pub(crate) async fn delete(client: &Client, path: &str) -> anyhow::Result<()> {
    let request = Request::delete(path).body(Bytes::new())?;
    insist(client, request, StatusCode::NOT_FOUND).await
}
