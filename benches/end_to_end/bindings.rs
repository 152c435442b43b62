//! When each pod got its node, as a watch of the API server shows it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::Context;
use futures::AsyncBufReadExt;
use kube::Client;
use tokio::task::JoinHandle;

use crate::requests;

/// How a line of the watch begins that says a pod has a node now: the selector lets pods in when
/// they get theirs.
const ADDED: &[u8] = b"{\"type\":\"ADDED\"";
/// How a line begins that says why the watch cannot go on.
const ERROR: &[u8] = b"{\"type\":\"ERROR\"";
/// Comes before the name of the object; names within it come later.
const NAME: &[u8] = b"\"metadata\":{\"name\":\"";

/// A running watch of one namespace. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Bindings {
    bound: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<(Box<str>, Instant)>>>,
    ended: Arc<OnceLock<String>>,
    task: JoinHandle<()>,
}

impl Bindings {
    /// Watches the pods of `namespace` that get a node from now on.
    pub(crate) async fn watch(client: &Client, namespace: &str) -> anyhow::Result<Self> {
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let (_, version) = requests::count(client, &path).await?;
        let query = format!(
            "{path}?watch=1&fieldSelector=spec.nodeName%21%3D&resourceVersion={version}\
             &timeoutSeconds=3600"
        );
        let stream = client
            .request_stream(http::Request::get(query).body(Vec::new())?)
            .await
            .context("the pods cannot be watched")?;
        let bound = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(OnceLock::new());
        let task = tokio::spawn({
            let (bound, seen) = (Arc::clone(&bound), Arc::clone(&seen));
            let ended = Arc::clone(&ended);
            async move {
                let mut stream = std::pin::pin!(stream);
                let mut line = Vec::new();
                let why = loop {
                    match stream.read_until(b'\n', &mut line).await {
                        Ok(0) => break "by the API server".to_owned(),
                        Err(error) => break error.to_string(),
                        Ok(_) if line.starts_with(ERROR) => {
                            break String::from_utf8_lossy(&line).into_owned();
                        }
                        Ok(_) => {}
                    }
                    if let Some(name) = newly_bound(&line) {
                        let now = Instant::now();
                        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                        seen.push((name.into(), now));
                        bound.fetch_add(1, Ordering::Release);
                    }
                    line.clear();
                };
                // Said once: this is the end of the task.
                let _ = ended.set(why);
            }
        });
        Ok(Self {
            bound,
            seen,
            ended,
            task,
        })
    }

    /// How many pods have got a node.
    pub(crate) fn count(&self) -> anyhow::Result<usize> {
        if let Some(why) = self.ended.get() {
            anyhow::bail!("the watch of the pods has ended: {why}");
        }
        Ok(self.bound.load(Ordering::Acquire))
    }

    /// Pods with the time when each got its node, in that order.
    pub(crate) fn seen(&self) -> Vec<(Box<str>, Instant)> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Bindings {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn newly_bound(line: &[u8]) -> Option<&str> {
    if !line.starts_with(ADDED) {
        return None;
    }
    let start = line.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let length = line[start..].iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&line[start..start + length]).ok()
}
