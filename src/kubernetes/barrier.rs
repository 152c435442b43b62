//! What a new leader waits for before its first bind: that its watches have seen everything its predecessor did.
//!
//! For nodes and for pods the API server is asked, by a consistent read, what the state is now. The watch has caught up
//! when one of these holds, whichever comes first:
//!
//! 1. it has reached the version of that read;
//! 2. the read was complete, and the watch has reached the newest object in it. Nothing that was created or changed is
//!    missing then. Deletions may be: room that became free is overlooked, and a node that has just gone may be chosen,
//!    as it may whenever a node goes while a pod is being bound;
//! 3. a second, short watch from where the first one stands saw which events there were until that version, and the
//!    first has reached the last of them.
//!
//! The first alone would be slow on a quiet cluster: versions are counted for all resources together, and the API server
//! tells a watch without events of its own only once a minute how far it is.

mod listing;
mod probe;
#[cfg(test)]
mod tests;

use std::time::Duration;

use futures::future::try_join_all;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};
use tracing::debug;

use crate::kubernetes::{
    barrier::listing::Listing,
    clock::Clock,
    resource_version::{InvalidResourceVersion, ResourceVersion},
    watch_progress::WatchProgress,
};

/// How long one try may take.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// The resources whose staleness could over-commit a node.
const PATHS: [&str; 2] = ["/api/v1/nodes", "/api/v1/pods"];
/// A watch that is merely a moment behind gets this long before anything else is asked.
const PROBE_AFTER: Duration = Duration::from_millis(200);
/// Between two short watches.
const PROBE_PAUSE: Duration = Duration::from_millis(200);

/// Why the barrier was not passed. Try again; a watch that stays behind needs a new list.
#[derive(Debug, thiserror::Error)]
pub enum BarrierError {
    /// Nobody follows the watch of this resource.
    #[error("the watch of {path} is not followed")]
    NotFollowed {
        /// As in the request.
        path: &'static str,
    },
    /// The consistent read failed.
    #[error("failed to read the current version of {path}")]
    List {
        /// As in the request.
        path: &'static str,
        /// What the API server or the connection said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server does not number its versions.
    #[error("failed to read the current version of {path}")]
    Version {
        /// As in the request.
        path: &'static str,
        /// The text that is no version.
        #[source]
        source: InvalidResourceVersion,
    },
    /// The consistent read took too long.
    #[error("the API server did not tell the current version of {path} within {limit:?}")]
    ListTimedOut {
        /// As in the request.
        path: &'static str,
        /// The limit of the try.
        limit: Duration,
    },
    /// The watch is behind.
    #[error(
        "the watch of {path} has not reached version {required} within {limit:?} (it is at {})",
        .observed.map_or_else(|| "none".to_owned(), |version| version.to_string())
    )]
    Behind {
        /// As in the request.
        path: &'static str,
        /// The version to reach.
        required: ResourceVersion,
        /// The version it is at.
        observed: Option<ResourceVersion>,
        /// The limit of the try.
        limit: Duration,
    },
}

type Progress = watch::Receiver<Option<ResourceVersion>>;

/// Waits until the watches of nodes and pods have caught up with the API server, at most `limit` ([`TIMEOUT`]).
///
/// Afterwards take everything out of the channel that the watches feed: what counts has been handed on by then, not yet
/// worked in.
pub async fn pass(
    client: &kube::Client,
    progress: &WatchProgress,
    clock: &Clock,
    limit: Duration,
) -> Result<(), BarrierError> {
    let deadline = clock.now() + limit;
    try_join_all(PATHS.map(|path| async move {
        let watched = progress
            .subscribe(path)
            .ok_or(BarrierError::NotFollowed { path })?;
        pass_one(client, path, watched, deadline, limit).await
    }))
    .await
    .map(|_| ())
}

async fn pass_one(
    client: &kube::Client,
    path: &'static str,
    watched: Progress,
    deadline: Instant,
    limit: Duration,
) -> Result<(), BarrierError> {
    let listing = timeout_at(deadline, listing::take(client, path))
        .await
        .map_err(|_| BarrierError::ListTimedOut { path, limit })??;
    let required = listing.newest.unwrap_or(listing.now);
    let caught_up = async {
        tokio::select! {
            result = reached(watched.clone(), required) => result,
            result = nothing_missed(client, path, watched.clone(), &listing) => result,
        }
    };
    match timeout_at(deadline, caught_up).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(watch::error::RecvError { .. })) | Err(_) => Err(BarrierError::Behind {
            path,
            required,
            observed: *watched.borrow(),
            limit,
        }),
    }
}

async fn reached(
    mut watched: Progress,
    version: ResourceVersion,
) -> Result<(), watch::error::RecvError> {
    watched
        .wait_for(|observed| observed.is_some_and(|observed| observed >= version))
        .await
        .map(|_| ())
}

/// Proves by a second watch that the first one has seen everything until the listing.
async fn nothing_missed(
    client: &kube::Client,
    path: &'static str,
    mut watched: Progress,
    listing: &Listing,
) -> Result<(), watch::error::RecvError> {
    sleep(PROBE_AFTER).await;
    loop {
        let from = watched.wait_for(Option::is_some).await?.unwrap_or_default();
        match probe::last_event(client, path, from, listing.now).await {
            Ok(Some(last)) => return reached(watched, last).await,
            Ok(None) => debug!(path, %from, "the short watch ended before it told how far it was"),
            Err(error) => debug!(path, %from, %error, "the short watch failed"),
        }
        sleep(PROBE_PAUSE).await;
    }
}
