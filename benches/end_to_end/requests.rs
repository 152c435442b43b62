//! Many requests with little work for each: bodies are bytes, answers are not looked into.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::task::JoinSet;

/// For one request.
const TIMEOUT: Duration = Duration::from_secs(70);
/// Tries of a request that the server is too busy for.
const ATTEMPTS: u32 = 10;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// A POST: path and body.
pub(crate) type Post = (String, Vec<u8>);

/// Sends a request and reads the answer to its end. Gives the HTTP status and what was said.
pub(crate) async fn exchange(
    client: &Client,
    request: http::Request<impl Into<Body>>,
) -> anyhow::Result<(http::StatusCode, Bytes)> {
    let path = request.uri().to_string();
    let exchange = async {
        let answer = client.send(request.map(Into::into)).await?;
        let (head, body) = answer.into_parts();
        anyhow::Ok((head.status, body.collect_bytes().await?))
    };
    let answer = tokio::time::timeout(TIMEOUT, exchange).await;
    answer
        .with_context(|| format!("{path} was not answered within {TIMEOUT:?}"))?
        .with_context(|| format!("{path} cannot be reached"))
}

/// POSTs, trying again while the server is busy. What exists already is fine.
pub(crate) async fn post(client: &Client, path: &str, body: Bytes) -> anyhow::Result<()> {
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body)?;
    insist(client, request, http::StatusCode::CONFLICT).await
}

/// Sends until the server is not busy. `fine` is as good as success.
pub(crate) async fn insist(
    client: &Client,
    request: http::Request<Bytes>,
    fine: http::StatusCode,
) -> anyhow::Result<()> {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    for _ in 0..ATTEMPTS {
        let (status, answer) = exchange(client, request.clone()).await?;
        if status.is_success() || status == fine {
            return Ok(());
        }
        if !(status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS) {
            bail!(
                "{method} {uri} gave {status}: {}",
                String::from_utf8_lossy(&answer)
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("{method} {uri}: the API server was busy {ATTEMPTS} times")
}

/// DELETEs whatever is there.
pub(crate) async fn delete(client: &Client, path: &str) -> anyhow::Result<()> {
    let request = http::Request::delete(path).body(Bytes::new())?;
    exchange(client, request).await.map(drop)
}

/// GETs JSON.
pub(crate) async fn get(client: &Client, path: &str) -> anyhow::Result<Value> {
    let (status, body) = exchange(client, http::Request::get(path).body(Vec::new())?).await?;
    anyhow::ensure!(status.is_success(), "GET {path} gave {status}");
    Ok(serde_json::from_slice(&body)?)
}

/// How many objects there are, and at which resourceVersion.
pub(crate) async fn count(client: &Client, path: &str) -> anyhow::Result<(usize, String)> {
    let list = get(client, &format!("{path}?limit=1")).await?;
    let here = list["items"].as_array().map_or(0, Vec::len);
    let more = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
    let version = list["metadata"]["resourceVersion"].as_str();
    let version = version.context("a list has no resourceVersion")?;
    Ok((here + usize::try_from(more)?, version.to_owned()))
}

/// POSTs `total` times, `workers` at once; `make` gives what request number n posts, in turn.
pub(crate) async fn post_all<P>(
    client: &Client,
    workers: usize,
    total: usize,
    make: impl Fn(usize) -> P + Send + Sync + 'static,
) -> anyhow::Result<()>
where
    P: IntoIterator<Item = Post, IntoIter: Send> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let make = Arc::new(make);
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (client, next, make) = (client.clone(), Arc::clone(&next), Arc::clone(&make));
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return anyhow::Ok(());
                }
                for (path, body) in make(number) {
                    post(&client, &path, body.into()).await?;
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}
