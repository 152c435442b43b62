//! Requests to the API server whose answers are not decoded.

use anyhow::Context;
use bayplan::kubernetes::protobuf::{Frames, LIST, WATCH, WatchMessage, watch_message};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// How an answer is encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
}

/// An API server.
pub(crate) struct Server {
    client: Client,
}

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The body of an answer, whatever its status.
    pub(crate) async fn get(&self, query: &str, encoding: Encoding) -> anyhow::Result<Bytes> {
        let accept = match encoding {
            Encoding::Json => "application/json",
            Encoding::Protobuf if query.contains("watch=true") => WATCH,
            Encoding::Protobuf => LIST,
        };
        let request = Request::get(query)
            .header(header::ACCEPT, accept)
            .body(Body::empty())?;
        let answer = self.client.send(request).await?;
        let content = answer.headers().get(header::CONTENT_TYPE).cloned();
        anyhow::ensure!(
            content.as_ref().is_some_and(|content| content == accept),
            "{query} is answered with {content:?}"
        );
        Ok(answer.into_body().collect().await?.to_bytes())
    }

    /// The version that the cluster is at.
    pub(crate) async fn version(&self) -> anyhow::Result<String> {
        let body = self.get("/api/v1/pods", Encoding::Json).await?;
        let list: Value = serde_json::from_slice(&body)?;
        let version = list["metadata"]["resourceVersion"].as_str();
        Ok(version.context("a list without a version")?.to_owned())
    }

    /// The events of a watch in JSON, until it ends.
    pub(crate) async fn lines(&self, query: &str) -> anyhow::Result<Vec<Value>> {
        let body = self.get(query, Encoding::Json).await?;
        let events = serde_json::Deserializer::from_slice(&body).into_iter();
        Ok(events.collect::<Result<_, _>>()?)
    }

    /// The events of a watch in protobuf, until it ends.
    pub(crate) async fn frames(&self, query: &str) -> anyhow::Result<Vec<WatchMessage>> {
        let mut frames = Frames::default();
        frames.push(self.get(query, Encoding::Protobuf).await?);
        let mut events = Vec::new();
        while let Some(frame) = frames.next()? {
            events.push(watch_message(frame)?);
        }
        Ok(events)
    }
}
