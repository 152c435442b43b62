//! When each pod got its node, as a watch of the API server shows it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::Context;
use futures::{AsyncBufRead, AsyncBufReadExt};
use kube::Client;
use tokio::task::JoinHandle;

use crate::requests;

/// How a line of the watch begins that says a pod has a node now: the selector lets pods in when
/// they get theirs.
const ADDED: &[u8] = b"{\"type\":\"ADDED\"";
/// How a line begins that says why the watch cannot go on.
const ERROR: &[u8] = b"{\"type\":\"ERROR\"";
/// Comes before the version of the object, which precedes all other versions.
const VERSION: &[u8] = b"\"resourceVersion\":\"";
/// Comes before the name of the object; names within it come later.
const NAME: &[u8] = b"\"metadata\":{\"name\":\"";

/// Pods with the time when each got its node.
type Seen = Vec<(Box<str>, Instant)>;

/// A running watch of one namespace. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Bindings {
    bound: Arc<AtomicUsize>,
    seen: Arc<Mutex<Seen>>,
    ended: Arc<OnceLock<String>>,
    task: JoinHandle<()>,
}

impl Bindings {
    /// Watches the pods of `namespace` that get a node from now on.
    pub(crate) async fn watch(client: &Client, namespace: &str) -> anyhow::Result<Self> {
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let (_, version) = requests::count(client, &path).await?;
        // Opened here, so that it is there before anybody binds.
        let stream = open(client, &path, &version).await?;
        let bound = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(OnceLock::new());
        let task = tokio::spawn({
            let (bound, seen) = (Arc::clone(&bound), Arc::clone(&seen));
            let (ended, client) = (Arc::clone(&ended), client.clone());
            async move {
                let mut progress = Progress {
                    bound,
                    seen,
                    version,
                };
                let mut read = progress.read(stream).await;
                // The API server ends a watch whose reader is slow; what it held back comes again.
                while read.is_ok() {
                    read = match open(&client, &path, &progress.version).await {
                        Ok(stream) => progress.read(stream).await,
                        Err(error) => Err(error),
                    };
                }
                let why = read
                    .err()
                    .map_or_else(String::new, |error| format!("{error:#}"));
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
    pub(crate) fn seen(&self) -> Seen {
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

/// How far a watch has come.
struct Progress {
    bound: Arc<AtomicUsize>,
    seen: Arc<Mutex<Seen>>,
    version: String,
}

impl Progress {
    /// Reads until the stream ends; an error says why there can be no other.
    async fn read(&mut self, stream: impl AsyncBufRead) -> anyhow::Result<()> {
        let mut stream = std::pin::pin!(stream);
        let mut line = Vec::new();
        while matches!(stream.read_until(b'\n', &mut line).await, Ok(read) if read > 0) {
            if line.starts_with(ERROR) {
                anyhow::bail!("{}", String::from_utf8_lossy(&line));
            }
            // What was cut short comes again.
            if line.ends_with(b"\n")
                && let Some(version) = text_after(&line, VERSION)
            {
                version.clone_into(&mut self.version);
                self.note(&line);
            }
            line.clear();
        }
        Ok(())
    }

    fn note(&self, line: &[u8]) {
        if !line.starts_with(ADDED) {
            return;
        }
        if let Some(name) = text_after(line, NAME) {
            let now = Instant::now();
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((name.into(), now));
            self.bound.fetch_add(1, Ordering::Release);
        }
    }
}

async fn open(
    client: &Client,
    path: &str,
    version: &str,
) -> anyhow::Result<impl AsyncBufRead + use<>> {
    let query = format!(
        "{path}?watch=1&fieldSelector=spec.nodeName%21%3D&resourceVersion={version}\
         &timeoutSeconds=3600"
    );
    let request = http::Request::get(query).body(Vec::new())?;
    let stream = client.request_stream(request).await;
    stream.context("the pods cannot be watched")
}

/// The text in quotes that `before` introduces for the first time.
fn text_after<'a>(line: &'a [u8], before: &[u8]) -> Option<&'a str> {
    let mut places = line.windows(before.len());
    let start = places.position(|window| window == before)? + before.len();
    let length = line[start..].iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&line[start..start + length]).ok()
}
