//! A short watch beside the long one, to learn which events there were between two versions.

use std::pin::pin;

use futures::TryStreamExt;
use http::{Request, header};
use kube::api::WatchEvent;

use crate::kubernetes::{barrier::listing::Object, resource_version::ResourceVersion};

/// The API server sends a bookmark 2 s before the end of a watch, and none if that has passed (`nextBookmarkTime` in
/// `apiserver/pkg/storage/cacher`): 3 s is the shortest watch that has one, after about a second.
const SECONDS: u32 = 3;
/// Only the metadata, which is all that is looked at.
const ACCEPT: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/// The version of the last event after `from` and not after `now`, or `from` if there was none. `None` if the watch
/// ended before it told.
pub(super) async fn last_event(
    client: &kube::Client,
    path: &str,
    from: ResourceVersion,
    now: ResourceVersion,
) -> kube::Result<Option<ResourceVersion>> {
    let uri = format!(
        "{path}?watch=true&allowWatchBookmarks=true&resourceVersion={from}&timeoutSeconds={SECONDS}"
    );
    let request = Request::get(uri)
        .header(header::ACCEPT, ACCEPT)
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    let mut events = pin!(client.request_events::<Object>(request).await?);
    let mut last = from;
    while let Some(event) = events.try_next().await? {
        let (version, is_change) = match &event {
            WatchEvent::Added(object)
            | WatchEvent::Modified(object)
            | WatchEvent::Deleted(object) => (&object.metadata.resource_version, true),
            WatchEvent::Bookmark(bookmark) => (&bookmark.metadata.resource_version, false),
            WatchEvent::Error(_) => return Ok(None),
        };
        let Ok(version) = version.parse::<ResourceVersion>() else {
            return Ok(None);
        };
        if is_change && version <= now {
            last = version;
        }
        if version >= now {
            return Ok(Some(last));
        }
    }
    Ok(None)
}
