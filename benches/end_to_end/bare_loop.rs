//! The limits to reach: loops that only write, with a scheduler's watches open.

use futures::AsyncReadExt;
use kube::Client;
use serde_json::json;
use tokio::task::JoinSet;

use crate::arena::{WORKERS, node_name, pods_path};
use crate::requests::{self, Post};

/// What a scheduler watches that changes here.
const WATCHED: [&str; 2] = ["/api/v1/pods", "/api/v1/nodes"];

/// Watches whose bytes are thrown away. Dropping it ends them.
pub(crate) struct Watches(
    #[expect(dead_code, reason = "held so that the watches go on")] JoinSet<()>,
);

impl Watches {
    /// Opens a scheduler's watches.
    pub(crate) async fn open(client: &Client) -> anyhow::Result<Self> {
        let mut tasks = JoinSet::new();
        for path in WATCHED {
            let (_, version) = requests::count(client, path).await?;
            let query = format!(
                "{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}\
                 &timeoutSeconds=3600"
            );
            let request = http::Request::get(query).body(Vec::new())?;
            let stream = client.request_stream(request).await?;
            tasks.spawn(async move {
                let mut stream = std::pin::pin!(stream);
                let mut buffer = vec![0; 64 * 1024];
                while matches!(stream.read(&mut buffer).await, Ok(read) if read > 0) {}
            });
        }
        Ok(Self(tasks))
    }
}

/// What a loop writes for each pod, made beforehand.
pub(crate) struct Writes(Vec<Vec<Post>>);

impl Writes {
    /// A binding for each of `pods` pods of `namespace`, to the nodes in turn, and with `events`
    /// also the event that a scheduler writes.
    pub(crate) fn new(namespace: &str, pods: usize, nodes: usize, events: bool) -> Self {
        let of_pod = |number| {
            let event = events.then(|| event(namespace, number, nodes));
            let binding = binding(namespace, number, nodes);
            std::iter::once(binding).chain(event).collect()
        };
        Self((0..pods).map(of_pod).collect())
    }

    /// Sends them.
    pub(crate) async fn send(self, client: &Client) -> anyhow::Result<()> {
        let total = self.0.len();
        requests::post_all(client, WORKERS, total, move |number| self.0[number].clone()).await
    }
}

fn binding(namespace: &str, number: usize, nodes: usize) -> Post {
    let (name, node) = (format!("pod-{number}"), node_name(number % nodes));
    let body = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"namespace": namespace, "name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
    let path = format!("{}/{name}/binding", pods_path(namespace));
    (path, body.to_string().into_bytes())
}

fn event(namespace: &str, number: usize, nodes: usize) -> Post {
    let (name, node) = (format!("pod-{number}"), node_name(number % nodes));
    let body = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"namespace": namespace, "name": format!("{name}.bound")},
        "eventTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
        "type": "Normal", "reason": "Scheduled", "action": "Binding",
        "note": format!("Successfully assigned {namespace}/{name} to {node}"),
        "reportingController": "bare-loop", "reportingInstance": "bare-loop-1",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}});
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    (path, body.to_string().into_bytes())
}
