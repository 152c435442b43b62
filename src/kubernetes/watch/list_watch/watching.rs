//! An open watch.

use std::time::Duration;

use bytes::Bytes;
use kube::Resource;
use kube::client::Body;
use kube::runtime::watcher::Event;
use tokio::time::Instant;

use crate::kubernetes::protobuf::{self, Frames, Protobuf, WatchMessage};
use crate::kubernetes::watch::guard::Guard;
use crate::kubernetes::watch::list_watch::error::ListWatchError;
use crate::kubernetes::watch::list_watch::guarded;
use crate::kubernetes::watch::list_watch::resource::WatchedResource;

/// A watch is ended by the API server; one that is not ended in time is given up so much later.
pub(super) const WATCH_GRACE: Duration = Duration::from_secs(5);
/// A watch that ends sooner without an event is a failure (client-go's `VeryShortWatchError`).
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

/// An open watch.
pub(super) struct Watching {
    /// Everything up to here was told.
    version: String,
    body: Body,
    frames: Frames,
    opened: Instant,
    /// Whether anything has come.
    is_used: bool,
}

// === impl Watching ===

impl Watching {
    /// What `body` tells from `version` on.
    pub(super) fn new(version: String, body: Body, resource: &WatchedResource) -> Self {
        resource.progress.begin(&resource.path, &version);
        Self {
            version,
            body,
            frames: Frames::default(),
            opened: resource.clock.now(),
            is_used: false,
        }
    }

    /// Up to which version everything was told.
    pub(super) fn into_version(self) -> String {
        self.version
    }

    /// The next event; `None` at the end of the watch.
    pub(super) async fn next<K: Protobuf + Resource<DynamicType = ()>>(
        &mut self,
        resource: &WatchedResource,
    ) -> Result<Option<Event<Guard<K>>>, ListWatchError> {
        let limit = resource.timeout + WATCH_GRACE;
        loop {
            let frame = self.frames.next();
            if let Some(frame) = frame.map_err(|reason| resource.unreadable(reason))? {
                self.is_used = true;
                if let Some(event) = self.event(resource, frame)? {
                    return Ok(Some(event));
                }
                continue;
            }
            let until = self.opened + limit;
            match resource.read(&mut self.body, until, limit).await? {
                Some(data) => self.frames.push(data),
                None if self.is_very_short(resource) => {
                    let path = resource.path.clone();
                    return Err(ListWatchError::VeryShort { path });
                }
                None => return Ok(None),
            }
        }
    }

    fn is_very_short(&self, resource: &WatchedResource) -> bool {
        !self.is_used && resource.clock.now() - self.opened < SHORTEST_WATCH
    }

    /// What a frame says; a bookmark is only noted.
    fn event<K: Protobuf + Resource<DynamicType = ()>>(
        &mut self,
        resource: &WatchedResource,
        frame: Bytes,
    ) -> Result<Option<Event<Guard<K>>>, ListWatchError> {
        let message = protobuf::watch_message(frame);
        let message = message.map_err(|reason| resource.unreadable(reason))?;
        let mut object = |object: Bytes| {
            let object = guarded::<K>(&object);
            if let Some(version) = &object.meta().resource_version {
                self.version.clone_from(version);
            }
            object
        };
        Ok(match message {
            WatchMessage::Added(bytes) | WatchMessage::Modified(bytes) => {
                Some(Event::Apply(object(bytes)))
            }
            WatchMessage::Deleted(bytes) => Some(Event::Delete(object(bytes))),
            WatchMessage::Bookmark { resource_version } => {
                let progress = &resource.progress;
                progress.advance(&resource.path, &resource_version);
                self.version = resource_version;
                None
            }
            WatchMessage::Error(status) => {
                let path = resource.path.clone();
                return Err(ListWatchError::Refused { path, status });
            }
        })
    }
}
