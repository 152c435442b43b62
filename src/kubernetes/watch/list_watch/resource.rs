//! What the API server is asked about a kind.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::BodyExt;
use kube::Client;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::request::Request;
use tokio::time::{Instant, timeout, timeout_at};

use crate::kubernetes::clock::Clock;
use crate::kubernetes::protobuf::{self, DecodeError, Status};
use crate::kubernetes::watch::list_watch::error::ListWatchError;
use crate::kubernetes::watch_progress::WatchProgress;

/// What the API server gives a request that is no watch (`--request-timeout`).
pub(super) const ANSWER_LIMIT: Duration = Duration::from_mins(1);

/// Where the objects are.
pub(super) struct WatchedResource {
    pub(super) client: Client,
    pub(super) path: String,
    /// Of one watch request.
    pub(super) timeout: Duration,
    pub(super) progress: WatchProgress,
    pub(super) clock: Clock,
}

impl WatchedResource {
    /// Opens a page of a list, the first one without a token.
    pub(super) async fn page(
        &self,
        token: Option<String>,
        limit: u32,
    ) -> Result<Body, ListWatchError> {
        let mut asked = ListParams::default().limit(limit);
        asked.continue_token = token;
        let request = Request::new(&*self.path).list(&asked);
        let request = request.map_err(|error| self.no_request(error))?;
        self.send(request, protobuf::LIST).await
    }

    /// Opens a watch from `version` on.
    pub(super) async fn watch(&self, version: &str) -> Result<Body, ListWatchError> {
        let seconds = u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX);
        let asked = WatchParams::default().timeout(seconds);
        let request = Request::new(&*self.path).watch(&asked, version);
        let request = request.map_err(|error| self.no_request(error))?;
        self.send(request, protobuf::WATCH).await
    }

    /// The answer, if it is one in protobuf.
    async fn send(
        &self,
        mut request: http::Request<Vec<u8>>,
        accepted: &'static str,
    ) -> Result<Body, ListWatchError> {
        let accepted = HeaderValue::from_static(accepted);
        request.headers_mut().insert(header::ACCEPT, accepted);
        let answer = async {
            let answer = self.client.send(request.map(Body::from)).await;
            self.accept(answer.map_err(|error| self.no_request(error))?)
                .await
        };
        let answer = timeout(ANSWER_LIMIT, answer).await;
        answer.map_err(|_| self.silent(ANSWER_LIMIT))?
    }

    async fn accept(&self, answer: Response<Body>) -> Result<Body, ListWatchError> {
        let content_type = answer.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        if !answer.status().is_success() {
            let code = answer.status();
            let body = answer.into_body().collect().await;
            let body = body
                .map(http_body_util::Collected::to_bytes)
                .unwrap_or_default();
            let status = protobuf::status(&body).unwrap_or_else(|| Status {
                code: i32::from(code.as_u16()),
                reason: String::new(),
                message: code.to_string(),
                ..Status::default()
            });
            let path = self.path.clone();
            return Err(ListWatchError::Refused { path, status });
        }
        if !content_type.starts_with(protobuf::LIST) {
            let path = self.path.clone();
            return Err(ListWatchError::ContentType { path, content_type });
        }
        Ok(answer.into_body())
    }

    /// The next bytes of an answer, which must have come before `until`, `limit` after it was asked
    /// for; `None` at its end.
    pub(super) async fn read(
        &self,
        body: &mut Body,
        until: Instant,
        limit: Duration,
    ) -> Result<Option<Bytes>, ListWatchError> {
        loop {
            let frame = timeout_at(until, body.frame()).await;
            match frame.map_err(|_| self.silent(limit))? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(self.no_request(error)),
                None => return Ok(None),
            }
        }
    }

    pub(super) fn no_request(
        &self,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ListWatchError {
        ListWatchError::Request {
            path: self.path.clone(),
            reason: reason.into(),
        }
    }

    pub(super) fn silent(&self, limit: Duration) -> ListWatchError {
        ListWatchError::Silent {
            path: self.path.clone(),
            limit,
        }
    }

    pub(super) fn unreadable(&self, reason: DecodeError) -> ListWatchError {
        ListWatchError::Unreadable {
            path: self.path.clone(),
            reason,
        }
    }
}
