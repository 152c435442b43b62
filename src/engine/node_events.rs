//! Nodes come, change and go.

use std::sync::Arc;

use crate::engine::framework::{ActionType, ClusterEventKind, EventResource};
use crate::engine::queue::RecordedChange;
use crate::engine::{Activity, Engine};
use crate::model::objects::Node;

impl Engine {
    pub(super) fn apply_node(&mut self, node: &Node) {
        let name: Arc<str> = node.metadata.name.as_deref().unwrap_or_default().into();
        self.activity = Some(Activity::TakingInNode(Arc::clone(&name)));
        let was_there = self.cache.snapshot().node(&name).is_some();
        match self.cache.apply_node(node) {
            Ok(change) => {
                self.quarantine.release_node(&name);
                if !change.0.is_none() {
                    self.node_changed(&name, change.0);
                }
            }
            Err(error) => {
                let reason = format!(
                    "node {name:?} takes no pods: its allocatable resources are not valid: {error}"
                );
                if self.quarantine.put_node(&name, &reason) {
                    let observed = (format!("node {name}"), reason);
                    self.observations.quarantined.push(observed);
                }
                if was_there {
                    // As long as it cannot be read it is as good as gone.
                    self.node_changed(&name, ActionType::DELETE);
                }
            }
        }
    }

    pub(super) fn delete_node(&mut self, name: &str) {
        self.activity = Some(Activity::TakingInNode(name.into()));
        self.quarantine.release_node(name);
        if self.cache.remove_node(name) {
            self.node_changed(&name.into(), ActionType::DELETE);
        }
    }

    /// There are no other nodes than these.
    pub(super) fn nodes_listed(&mut self, mut names: Vec<Arc<str>>) {
        names.sort_unstable();
        let is_listed = |name: &Arc<str>| names.binary_search(name).is_ok();
        self.quarantine.retain_nodes(is_listed);
        let known = self.cache.nodes.known_names();
        let gone: Vec<Arc<str>> = known
            .filter(|name| !is_listed(name))
            .map(Arc::clone)
            .collect();
        for name in gone {
            self.delete_node(&name);
        }
    }

    fn node_changed(&mut self, name: &Arc<str>, action: ActionType) {
        let event = ClusterEventKind::new(EventResource::Node, action);
        let change = RecordedChange {
            node: Some(Arc::clone(name)),
            ..RecordedChange::of(event)
        };
        self.tell_queue(&change, None);
        self.nominated_node_changed(name, action);
        self.poll_waiting();
    }
}
