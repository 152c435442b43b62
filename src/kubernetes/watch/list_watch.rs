//! Lists and watches the objects of a kind in the API server's protobuf, which costs it and us a
//! fraction of what JSON does. The events are those of kube-runtime's watcher, which reads JSON
//! only.

#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, stream};
use http::{HeaderValue, Response, header};
use http_body_util::BodyExt;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::request::Request;
use kube::runtime::watcher::Event;
use kube::{Client, Resource};
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use crate::kubernetes::clock::Clock;
use crate::kubernetes::protobuf::{
    self, DecodeError, Frames, Page, Protobuf, Status, WatchMessage,
};
use crate::kubernetes::watch::guard::{Guard, Unreadable};
use crate::kubernetes::watch_progress::WatchProgress;

/// Objects of the first page, as client-go's pager and kube-runtime's watcher ask for.
const PAGE_SIZE: u32 = 500;
/// Objects of a later page, if those of the page before are small: what the API server itself asks
/// etcd for at most (`maxLimit` in `apiserver/pkg/storage/etcd3`).
const PAGE_SIZE_MAX: u32 = 10_000;
/// What a later page may have in bytes, with more objects than the first one. A page is held until
/// all of it is told; what the API server spends on each page no longer matters in ones so large.
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// What the API server gives a request that is no watch (`--request-timeout`).
const ANSWER_LIMIT: Duration = Duration::from_mins(1);
/// A watch is ended by the API server; one that is not ended in time is given up so much later.
const WATCH_GRACE: Duration = Duration::from_secs(5);
/// A watch that ends sooner without an event is a failure (client-go's `VeryShortWatchError`).
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

/// Why a list or a watch ended early. What was told stays true.
#[derive(Debug, Error)]
pub(super) enum ListWatchError {
    /// The request could not be made.
    #[error("the API server cannot be asked for {path}: {reason}")]
    Request {
        /// Of the resource.
        path: String,
        /// From the connection.
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server did not answer in time.
    #[error("the API server does not answer for {path} within {limit:?}")]
    Silent {
        /// Of the resource.
        path: String,
        /// How long it had.
        limit: Duration,
    },
    /// The API server refuses.
    #[error("the API server refuses to tell {path}: {status}")]
    Refused {
        /// Of the resource.
        path: String,
        /// What it says.
        status: Status,
    },
    /// The answer is not what was asked for.
    #[error("the API server answers for {path} in {content_type:?} instead of protobuf")]
    ContentType {
        /// Of the resource.
        path: String,
        /// The header.
        content_type: String,
    },
    /// The answer cannot be read.
    #[error("the answer for {path} cannot be read: {reason}")]
    Unreadable {
        /// Of the resource.
        path: String,
        /// What is wrong with it.
        reason: DecodeError,
    },
    /// The watch ended at once.
    #[error("the watch of {path} ended at once without an event")]
    VeryShort {
        /// Of the resource.
        path: String,
    },
}

/// The objects of one kind.
struct ListWatch<K> {
    resource: WatchedResource<K>,
    state: State,
}

/// Where the objects are.
struct WatchedResource<K> {
    client: Client,
    path: String,
    /// Of one watch request.
    timeout: Duration,
    progress: WatchProgress,
    clock: Clock,
    kind: PhantomData<fn() -> K>,
}

/// How far it is.
#[derive(Default)]
enum State {
    /// Nothing was told, or it is too old. Leaves to `Listing`.
    #[default]
    Empty,
    /// A list is told. Leaves to `Listed` at its end, to `Empty` if a page fails.
    Listing { page: Page, told: usize },
    /// Everything up to this version was told, and no watch is open. Leaves to `Watching`, or to
    /// `Empty` if the API server no longer knows the version.
    Listed { version: String },
    /// A watch is open. Leaves to `Listed` at its end, to `Empty` as above.
    Watching(Watching),
}

/// An open watch.
struct Watching {
    /// Everything up to here was told.
    version: String,
    body: Body,
    frames: Frames,
    opened: Instant,
    /// Whether anything has come.
    is_used: bool,
}

/// The events of all objects of kind `K`, without an end. After an error it goes on when it is
/// polled again, where it can.
pub(super) fn list_watch<K: Protobuf + Resource<DynamicType = ()>>(
    client: Client,
    timeout: Duration,
    progress: WatchProgress,
    clock: Clock,
) -> impl Stream<Item = Result<Event<Guard<K>>, ListWatchError>> + Send + use<K> {
    let resource = WatchedResource::<K> {
        client,
        path: K::url_path(&(), None),
        timeout,
        progress,
        clock,
        kind: PhantomData,
    };
    let state = State::default();
    let list_watch = ListWatch { resource, state };
    stream::unfold(list_watch, |mut list_watch| async move {
        Some((list_watch.next().await, list_watch))
    })
}

impl<K: Protobuf + Resource<DynamicType = ()>> ListWatch<K> {
    /// The next event. Everything before it was handled by whoever asks.
    async fn next(&mut self) -> Result<Event<Guard<K>>, ListWatchError> {
        loop {
            match std::mem::take(&mut self.state) {
                State::Empty => {
                    let page = self.resource.page(None, PAGE_SIZE).await?;
                    self.state = State::Listing { page, told: 0 };
                    return Ok(Event::Init);
                }
                State::Listing { page, told } => {
                    if let Some(item) = page.items.get(told) {
                        let object = guarded(item);
                        let told = told + 1;
                        self.state = State::Listing { page, told };
                        return Ok(Event::InitApply(object));
                    }
                    let limit = next_page_size(&page);
                    let Some(token) = page.next else {
                        let version = page.resource_version;
                        self.state = State::Listed { version };
                        return Ok(Event::InitDone);
                    };
                    let page = self.resource.page(Some(token), limit).await?;
                    self.state = State::Listing { page, told: 0 };
                }
                State::Listed { version } => {
                    let body = self.resource.open(&version).await;
                    let body = body.inspect_err(|error| self.failed(error, version.clone()))?;
                    self.resource.begin(&version);
                    self.state = State::Watching(Watching {
                        version,
                        body,
                        frames: Frames::default(),
                        opened: self.resource.clock.now(),
                        is_used: false,
                    });
                }
                State::Watching(mut watching) => {
                    let event = self.resource.read(&mut watching).await;
                    match event {
                        Ok(Some(event)) => {
                            self.state = State::Watching(watching);
                            return Ok(event);
                        }
                        Ok(None) => {
                            let version = watching.version;
                            self.state = State::Listed { version };
                        }
                        Err(error) => {
                            self.failed(&error, watching.version);
                            return Err(error);
                        }
                    }
                }
            }
        }
    }

    /// Where to go on after a watch that failed.
    fn failed(&mut self, error: &ListWatchError, version: String) {
        let is_expired =
            matches!(error, ListWatchError::Refused { status, .. } if status.code == 410);
        self.state = if is_expired {
            State::Empty
        } else {
            State::Listed { version }
        };
    }
}

impl<K: Protobuf + Resource<DynamicType = ()>> WatchedResource<K> {
    fn lasted(&self, watching: &Watching) -> Duration {
        self.clock.now() - watching.opened
    }

    fn begin(&self, version: &str) {
        self.progress.begin(&self.path, version);
    }

    async fn page(&self, token: Option<String>, limit: u32) -> Result<Page, ListWatchError> {
        let mut asked = ListParams::default().limit(limit);
        asked.continue_token = token;
        let request = Request::new(&*self.path).list(&asked);
        let request = request.map_err(|error| self.no_request(error))?;
        let answer = async {
            let answer = self.send(request, protobuf::LIST).await?;
            let body = answer.into_body().collect().await;
            let body = body.map_err(|error| self.no_request(error))?.to_bytes();
            protobuf::page(body).map_err(|reason| self.unreadable(reason))
        };
        timeout(ANSWER_LIMIT, answer)
            .await
            .map_err(|_| self.silent(ANSWER_LIMIT))?
    }

    async fn open(&self, version: &str) -> Result<Body, ListWatchError> {
        let seconds = u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX);
        let asked = WatchParams::default().timeout(seconds);
        let request = Request::new(&*self.path).watch(&asked, version);
        let request = request.map_err(|error| self.no_request(error))?;
        let answer = timeout(ANSWER_LIMIT, self.send(request, protobuf::WATCH));
        let answer = answer.await.map_err(|_| self.silent(ANSWER_LIMIT))?;
        answer.map(Response::into_body)
    }

    /// The answer, if it is one in protobuf.
    async fn send(
        &self,
        mut request: http::Request<Vec<u8>>,
        accepted: &'static str,
    ) -> Result<Response<Body>, ListWatchError> {
        let accepted = HeaderValue::from_static(accepted);
        request.headers_mut().insert(header::ACCEPT, accepted);
        let answer = self.client.send(request.map(Body::from)).await;
        let answer = answer.map_err(|error| self.no_request(error))?;
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
            });
            let path = self.path.clone();
            return Err(ListWatchError::Refused { path, status });
        }
        if !content_type.starts_with(protobuf::LIST) {
            let path = self.path.clone();
            return Err(ListWatchError::ContentType { path, content_type });
        }
        Ok(answer)
    }

    /// The next event of a watch; `None` at its end.
    async fn read(
        &self,
        watching: &mut Watching,
    ) -> Result<Option<Event<Guard<K>>>, ListWatchError> {
        let limit = self.timeout + WATCH_GRACE;
        let until = watching.opened + limit;
        loop {
            let frame = watching.frames.next();
            if let Some(frame) = frame.map_err(|reason| self.unreadable(reason))? {
                watching.is_used = true;
                if let Some(event) = self.event(watching, frame)? {
                    return Ok(Some(event));
                }
                continue;
            }
            let read = timeout_at(until, watching.body.frame()).await;
            match read.map_err(|_| self.silent(limit))? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        watching.frames.push(data);
                    }
                }
                Some(Err(error)) => return Err(self.no_request(error)),
                None if !watching.is_used && self.lasted(watching) < SHORTEST_WATCH => {
                    let path = self.path.clone();
                    return Err(ListWatchError::VeryShort { path });
                }
                None => return Ok(None),
            }
        }
    }

    /// What a frame says; a bookmark is only noted.
    fn event(
        &self,
        watching: &mut Watching,
        frame: Bytes,
    ) -> Result<Option<Event<Guard<K>>>, ListWatchError> {
        let message = protobuf::watch_message(frame).map_err(|reason| self.unreadable(reason))?;
        let mut object = |object: Bytes| {
            let object = guarded::<K>(&object);
            if let Some(version) = &object.meta().resource_version {
                watching.version.clone_from(version);
            }
            object
        };
        Ok(match message {
            WatchMessage::Added(bytes) | WatchMessage::Modified(bytes) => {
                Some(Event::Apply(object(bytes)))
            }
            WatchMessage::Deleted(bytes) => Some(Event::Delete(object(bytes))),
            WatchMessage::Bookmark { resource_version } => {
                self.progress.advance(&self.path, &resource_version);
                watching.version = resource_version;
                None
            }
            WatchMessage::Error(status) => {
                let path = self.path.clone();
                return Err(ListWatchError::Refused { path, status });
            }
        })
    }

    fn no_request(
        &self,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ListWatchError {
        ListWatchError::Request {
            path: self.path.clone(),
            reason: reason.into(),
        }
    }

    fn silent(&self, limit: Duration) -> ListWatchError {
        ListWatchError::Silent {
            path: self.path.clone(),
            limit,
        }
    }

    fn unreadable(&self, reason: DecodeError) -> ListWatchError {
        ListWatchError::Unreadable {
            path: self.path.clone(),
            reason,
        }
    }
}

/// How many objects fit into the next page if they are as large as those of this one.
fn next_page_size(page: &Page) -> u32 {
    let bytes: usize = page.items.iter().map(Bytes::len).sum();
    let fit = PAGE_BYTES * page.items.len() / bytes.max(1);
    u32::try_from(fit)
        .unwrap_or(u32::MAX)
        .clamp(PAGE_SIZE, PAGE_SIZE_MAX)
}

fn guarded<K: Protobuf>(message: &Bytes) -> Guard<K> {
    Guard(K::decode(message).map_err(|error| Unreadable {
        error: error.to_string(),
        metadata: protobuf::identity(message),
    }))
}
