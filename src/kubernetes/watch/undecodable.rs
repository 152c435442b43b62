//! Objects of a watch that cannot be decoded: each is logged once, counted, and left out until it
//! is corrected or deleted.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::{info, warn};

use crate::kubernetes::watch::guard::{Guard, Unreadable};
use crate::metrics::WatchNumbers;

/// Objects that are remembered at most, so that they are logged once; the counter has them all.
const REMEMBERED_MAX: usize = 1024;

/// Namespace and name.
type Name = (String, String);

/// The objects of one kind that cannot be decoded.
#[derive(Debug)]
pub(super) struct Undecodable {
    kind: String,
    numbers: WatchNumbers,
    /// With what was wrong.
    objects: BTreeMap<Name, String>,
    /// Those that the list under way has named.
    listed: BTreeSet<Name>,
}

impl Undecodable {
    pub(super) fn new(kind: String, numbers: WatchNumbers) -> Self {
        Self {
            kind,
            numbers,
            objects: BTreeMap::new(),
            listed: BTreeSet::new(),
        }
    }

    /// Opens the guard. An object that cannot be decoded is not listed, and one that was known is
    /// gone; only a kind that cannot do without a `spec`, as profiles, keeps its last version.
    pub(super) fn open<K>(&mut self, event: Event<Guard<K>>) -> Option<Event<K>>
    where
        K: Resource + DeserializeOwned,
    {
        match event {
            Event::Init => {
                self.listed.clear();
                Some(Event::Init)
            }
            Event::InitApply(guard) => match guard.0 {
                Ok(object) => {
                    self.release(object.meta(), "can be decoded again");
                    Some(Event::InitApply(object))
                }
                Err(unreadable) => {
                    self.listed.insert(name(&unreadable.metadata));
                    self.put(&unreadable);
                    None
                }
            },
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.objects.retain(|name, _| listed.contains(name));
                Some(Event::InitDone)
            }
            Event::Apply(guard) => match guard.0 {
                Ok(object) => {
                    self.release(object.meta(), "can be decoded again");
                    Some(Event::Apply(object))
                }
                Err(unreadable) => {
                    self.put(&unreadable);
                    bare(&unreadable.metadata).map(Event::Delete)
                }
            },
            Event::Delete(guard) => {
                self.release(guard.meta(), "that could not be decoded is gone");
                let object = guard
                    .0
                    .or_else(|unreadable| bare(&unreadable.metadata).ok_or(()));
                object.ok().map(Event::Delete)
            }
        }
    }

    fn put(&mut self, unreadable: &Unreadable) {
        self.numbers.undecodable.inc();
        let name = name(&unreadable.metadata);
        let error = unreadable.error.clone();
        if self.objects.get(&name) == Some(&error) {
            return;
        }
        if self.objects.len() < REMEMBERED_MAX || self.objects.contains_key(&name) {
            warn!(
                kind = self.kind,
                namespace = name.0,
                name = name.1,
                error,
                "object cannot be decoded and is left out until it is corrected"
            );
            self.objects.insert(name, error);
        }
    }

    fn release(&mut self, metadata: &ObjectMeta, news: &str) {
        if self.objects.is_empty() {
            return;
        }
        let name = name(metadata);
        if self.objects.remove(&name).is_some() {
            let (namespace, name) = name;
            info!(kind = self.kind, namespace, name, "object {news}");
        }
    }
}

fn name(metadata: &ObjectMeta) -> Name {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&metadata.namespace), text(&metadata.name))
}

/// An object of which only the metadata are known.
fn bare<K: DeserializeOwned>(metadata: &ObjectMeta) -> Option<K> {
    serde_json::from_value(json!({"metadata": metadata})).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::model::objects::Node;
    use serde_json::Value;

    fn node(name: &str, taints: &Value) -> Guard<Node> {
        let object = json!({"metadata": {"name": name}, "spec": {"taints": taints}});
        serde_json::from_value(object).unwrap()
    }

    fn bad(name: &str) -> Guard<Node> {
        node(name, &json!(7))
    }

    fn names(undecodable: &Undecodable) -> Vec<&str> {
        undecodable
            .objects
            .keys()
            .map(|(_, name)| &**name)
            .collect()
    }

    #[test]
    fn an_object_is_remembered_until_it_is_corrected_or_deleted_or_not_listed_any_more() {
        let numbers = Metrics::default().watches.of("nodes");
        let mut undecodable = Undecodable::new("Node".to_owned(), numbers);
        for name in ["a", "b", "c"] {
            undecodable.open(Event::Apply(bad(name)));
        }
        assert_eq!(names(&undecodable), ["a", "b", "c"]);
        undecodable.open(Event::Apply(node("a", &json!([]))));
        undecodable.open(Event::Delete(bad("b")));
        assert_eq!(names(&undecodable), ["c"]);
        undecodable.open::<Node>(Event::Init);
        undecodable.open(Event::InitApply(bad("d")));
        undecodable.open::<Node>(Event::InitDone);
        assert_eq!(names(&undecodable), ["d"]);
    }
}
