//! How far each watch has come.
//!
//! kube-runtime's watcher keeps bookmarks to itself, so they are noted on their way through the client. Three sources
//! move a resource's progress:
//!
//! - a watch request says from which version on it wants events: everything up to there has been handled. This sets the
//!   version, also to an earlier one, as after an etcd restore;
//! - a bookmark in a watch response, noted when the response is read further: only then have the events before it been
//!   taken out of the response;
//! - the adapter notes the version of an event after handing it on ([`WatchProgress::advance`]).
//!
//! "Handled" means handed to whoever polls the watcher. If that is a channel, whoever waits for progress drains the
//! channel afterwards.

mod bookmarks;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::client::Body;
use tokio::sync::watch;
use tower::service_fn;

use crate::kubernetes::{resource_version::ResourceVersion, watch_progress::bookmarks::Bookmarks};

/// The progress of the watches of one client. Clones share it.
#[derive(Clone, Debug)]
pub struct WatchProgress {
    resources: Arc<BTreeMap<&'static str, watch::Sender<Option<ResourceVersion>>>>,
}

/// An extension of a request for a watch that is nobody's progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unnoted;

/// A response that is read by somebody else, noted if it is one of a watch.
struct NotedBody {
    inner: Body,
    notes: Option<Notes>,
}

struct Notes {
    bookmarks: Bookmarks,
    /// A bookmark that was seen but whose preceding events may not have been read yet.
    pending: Option<ResourceVersion>,
    progress: watch::Sender<Option<ResourceVersion>>,
}

// === impl WatchProgress ===

impl WatchProgress {
    /// For the resources with these paths, `/api/v1/pods` for example. Other requests pass unseen.
    pub fn new(paths: impl IntoIterator<Item = &'static str>) -> Self {
        let resources = paths
            .into_iter()
            .map(|path| (path, watch::Sender::new(None)))
            .collect();
        Self {
            resources: Arc::new(resources),
        }
    }

    /// A client that sends through `inner` and notes the progress of what it watches.
    pub fn client(&self, inner: &kube::Client) -> kube::Client {
        let namespace = inner.default_namespace().to_owned();
        let (progress, inner) = (self.clone(), inner.clone());
        let service = service_fn(move |request: Request<Body>| {
            let watched = progress.note_request(&request);
            let inner = inner.clone();
            async move {
                let response = inner.send(request).await?;
                let notes = watched.filter(|_| is_plain_json(&response)).map(Notes::new);
                Ok::<_, kube::Error>(response.map(|inner| NotedBody { inner, notes }))
            }
        });
        kube::Client::new(service, namespace)
    }

    /// The progress of one resource: `None` until its watch has begun. `None` for a path that is not followed.
    pub fn subscribe(&self, path: &str) -> Option<watch::Receiver<Option<ResourceVersion>>> {
        self.resources.get(path).map(watch::Sender::subscribe)
    }

    /// Everything of this resource up to `version` has been handled. Ignored if it is no number or not news.
    pub fn advance(&self, path: &str, version: &str) {
        if let (Some(progress), Ok(version)) = (self.resources.get(path), version.parse()) {
            advance(progress, version);
        }
    }

    /// Notes from where a watch goes on, and returns the progress to note its bookmarks in.
    fn note_request(
        &self,
        request: &Request<Body>,
    ) -> Option<watch::Sender<Option<ResourceVersion>>> {
        if request.extensions().get::<Unnoted>().is_some() {
            return None;
        }
        let progress = self.resources.get(request.uri().path())?;
        let query = request.uri().query()?;
        let value = |name: &str| {
            query
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .find_map(|(key, value)| (key == name).then_some(value))
        };
        if !matches!(value("watch"), Some("true" | "1")) {
            return None;
        }
        // A watch that begins with the whole state has handled nothing yet.
        let begins_with_state = value("sendInitialEvents") == Some("true");
        if !begins_with_state
            && let Some(version) = value("resourceVersion").and_then(|text| text.parse().ok())
            && version > ResourceVersion::default()
        {
            progress.send_replace(Some(version));
        }
        Some(progress.clone())
    }
}

fn advance(progress: &watch::Sender<Option<ResourceVersion>>, version: ResourceVersion) {
    progress.send_if_modified(|current| {
        let is_news = current.is_none_or(|current| current < version);
        if is_news {
            *current = Some(version);
        }
        is_news
    });
}

fn is_plain_json<B>(response: &Response<B>) -> bool {
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/json"));
    response.status().is_success()
        && is_json
        && !response.headers().contains_key(header::CONTENT_ENCODING)
}

// === impl Notes ===

impl Notes {
    fn new(progress: watch::Sender<Option<ResourceVersion>>) -> Self {
        Self {
            bookmarks: Bookmarks::default(),
            pending: None,
            progress,
        }
    }

    fn reader_wants_more(&mut self) {
        if let Some(version) = self.pending.take() {
            advance(&self.progress, version);
        }
    }
}

// === impl NotedBody ===

impl HttpBody for NotedBody {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, kube::Error>>> {
        let this = &mut *self;
        if let Some(notes) = &mut this.notes {
            notes.reader_wants_more();
        }
        let frame = Pin::new(&mut this.inner).poll_frame(cx);
        if let (Some(notes), Poll::Ready(Some(Ok(frame)))) = (&mut this.notes, &frame)
            && let Some(data) = frame.data_ref()
        {
            notes.pending = notes.bookmarks.read(data);
        }
        frame
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}
