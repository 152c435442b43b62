//! Objects that cannot be read: left out, with the reason, until they are corrected or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::pod_info::{PodKey, PodUid};

/// Objects of a kind that are remembered at most; the log has the rest.
const REMEMBERED_MAX: usize = 1024;

/// Nodes and pods that cannot be read, with the reason.
#[derive(Debug, Default)]
pub struct Quarantine {
    nodes: BTreeMap<Arc<str>, String>,
    pods: BTreeMap<PodKey, (PodUid, String)>,
}

impl Quarantine {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len() + self.pods.len()
    }

    /// Whether everything can be read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What there is, nodes first: `node NAME` or `pod NAMESPACE/NAME`, and the reason.
    pub fn iter(&self) -> impl Iterator<Item = (String, &str)> {
        let nodes = self.nodes.iter();
        let pods = self.pods.iter();
        nodes
            .map(|(name, reason)| (format!("node {name}"), &**reason))
            .chain(pods.map(|(key, (_, reason))| (format!("pod {key}"), &**reason)))
    }

    /// Tells whether that is news.
    pub(super) fn put_node(&mut self, name: &Arc<str>, reason: &str) -> bool {
        put(&mut self.nodes, name, reason.to_owned())
    }

    /// Tells whether that is news.
    pub(super) fn put_pod(&mut self, key: &PodKey, uid: &PodUid, reason: &str) -> bool {
        put(&mut self.pods, key, (uid.clone(), reason.to_owned()))
    }

    pub(super) fn release_node(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    pub(super) fn release_pod(&mut self, key: &PodKey) {
        self.pods.remove(key);
    }

    /// There are no other nodes than those that are listed.
    pub(super) fn retain_nodes(&mut self, is_listed: impl Fn(&Arc<str>) -> bool) {
        self.nodes.retain(|name, _| is_listed(name));
    }

    /// There are no other pods than those that are listed.
    pub(super) fn retain_pods(&mut self, is_listed: impl Fn(&PodUid) -> bool) {
        self.pods.retain(|_, (uid, _)| is_listed(uid));
    }
}

fn put<K: Clone + Ord, V: PartialEq>(objects: &mut BTreeMap<K, V>, name: &K, news: V) -> bool {
    if objects.get(name) == Some(&news) {
        return false;
    }
    if objects.len() < REMEMBERED_MAX || objects.contains_key(name) {
        objects.insert(name.clone(), news);
    }
    true
}
