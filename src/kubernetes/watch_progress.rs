//! How far each watch has come.
//!
//! "Has come to a version" means that everything up to there was handed on. If that is to a
//! channel, whoever waits for progress drains the channel afterwards.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

use crate::kubernetes::resource_version::ResourceVersion;

/// The progress of some watches. Clones share it.
#[derive(Clone, Debug)]
pub struct WatchProgress {
    resources: Arc<BTreeMap<&'static str, watch::Sender<Option<ResourceVersion>>>>,
}

impl WatchProgress {
    /// For the resources with these paths, `/api/v1/pods` for example. Others are not followed.
    pub fn new(paths: impl IntoIterator<Item = &'static str>) -> Self {
        let resources = paths
            .into_iter()
            .map(|path| (path, watch::Sender::new(None)))
            .collect();
        Self {
            resources: Arc::new(resources),
        }
    }

    /// The progress of one resource: `None` until its watch has begun. `None` for a path that is
    /// not followed.
    pub fn subscribe(&self, path: &str) -> Option<watch::Receiver<Option<ResourceVersion>>> {
        self.resources.get(path).map(watch::Sender::subscribe)
    }

    /// A watch begins after `version`, which may be earlier than where the one before was, as after
    /// etcd was restored. Ignored if it is no number.
    pub fn begin(&self, path: &str, version: &str) {
        if let (Some(progress), Ok(version)) = (self.resources.get(path), version.parse()) {
            progress.send_replace(Some(version));
        }
    }

    /// The watch has come to `version`. Ignored if it is no number or not news.
    pub fn advance(&self, path: &str, version: &str) {
        let (Some(progress), Ok(version)) = (self.resources.get(path), version.parse()) else {
            return;
        };
        progress.send_if_modified(|current: &mut Option<ResourceVersion>| {
            let is_news = current.is_none_or(|current| current < version);
            if is_news {
                *current = Some(version);
            }
            is_news
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: &str = "/api/v1/pods";

    #[test]
    fn events_only_advance_and_a_new_watch_sets_also_an_earlier_version() {
        let progress = WatchProgress::new([PODS]);
        let seen = progress.subscribe(PODS).unwrap();
        let at = || seen.borrow().map(|version| version.to_string());
        assert_eq!(at(), None);
        for version in ["20", "19", "none"] {
            progress.advance(PODS, version);
            assert_eq!(at().as_deref(), Some("20"));
        }
        progress.begin(PODS, "none");
        progress.advance("/api/v1/nodes", "21");
        assert_eq!(at().as_deref(), Some("20"));
        progress.begin(PODS, "7");
        assert_eq!(at().as_deref(), Some("7"));
        assert!(progress.subscribe("/api/v1/nodes").is_none());
    }
}
