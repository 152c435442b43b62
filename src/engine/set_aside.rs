//! Objects that made the engine panic. The engine is not told of them until they change in a way
//! that scheduling reads, or are deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::event::ClusterEvent;
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::PodUid;

/// The objects, each as it was when it was set aside.
#[derive(Debug, Default)]
pub struct SetAside {
    pods: BTreeMap<PodUid, Pod>,
    nodes: BTreeMap<String, Node>,
}

impl SetAside {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.pods.len() + self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the pod called `uid` is left out.
    pub fn has_pod(&self, uid: &PodUid) -> bool {
        self.pods.contains_key(uid)
    }

    /// Whether the node called `name` is left out.
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.contains_key(name)
    }

    /// This pod made a decision panic. Once it has a node it is let in again: its room counts.
    pub fn put_undecidable(&mut self, pod: &Pod) {
        let mut pod = pod.clone();
        pod.spec.node_name = None;
        self.put_pod(&pod);
    }

    /// This version of a pod cannot be taken in.
    pub fn put_pod(&mut self, pod: &Pod) {
        self.pods.insert(PodUid::of(pod), comparable_pod(pod));
    }

    /// This version of a node cannot be taken in.
    pub fn put_node(&mut self, node: &Node) {
        self.nodes.insert(name(node), comparable_node(node));
    }

    /// What the engine is to be told of `event`.
    pub fn admit(&mut self, event: ClusterEvent) -> Option<ClusterEvent> {
        if self.is_empty() {
            return Some(event);
        }
        match event {
            ClusterEvent::PodApplied(pod) => self
                .admits_pod(&pod)
                .then_some(ClusterEvent::PodApplied(pod)),
            ClusterEvent::PodDeleted(pod) => {
                self.pods.remove(&PodUid::of(&pod));
                Some(ClusterEvent::PodDeleted(pod))
            }
            ClusterEvent::PodsListed(uids) => {
                let mut before = std::mem::take(&mut self.pods);
                let stay = uids.iter().filter_map(|uid| before.remove_entry(uid));
                self.pods = stay.collect();
                Some(ClusterEvent::PodsListed(uids))
            }
            ClusterEvent::NodeApplied(node) => self
                .admits_node(&node)
                .then_some(ClusterEvent::NodeApplied(node)),
            ClusterEvent::NodeDeleted(node) => {
                self.nodes.remove(&name(&node));
                Some(ClusterEvent::NodeDeleted(node))
            }
            ClusterEvent::NodesListed(names) => {
                let mut before = std::mem::take(&mut self.nodes);
                let stay = names.iter().filter_map(|name| before.remove_entry(&**name));
                self.nodes = stay.collect();
                Some(ClusterEvent::NodesListed(names))
            }
            other => Some(other),
        }
    }

    fn admits_pod(&mut self, pod: &Arc<Pod>) -> bool {
        let uid = PodUid::of(pod);
        let unchanged = |known: &Pod| *known == comparable_pod(pod);
        if self.pods.get(&uid).is_some_and(unchanged) {
            return false;
        }
        self.pods.remove(&uid);
        true
    }

    fn admits_node(&mut self, node: &Arc<Node>) -> bool {
        let name = name(node);
        let unchanged = |known: &Node| *known == comparable_node(node);
        if self.nodes.get(&name).is_some_and(unchanged) {
            return false;
        }
        self.nodes.remove(&name);
        true
    }
}

/// Without what every write changes, and what this scheduler writes itself.
fn comparable_pod(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    pod.metadata.resource_version = None;
    pod.status.conditions.clear();
    pod.status.nominated_node_name = None;
    pod
}

fn comparable_node(node: &Node) -> Node {
    let mut node = node.clone();
    node.metadata.resource_version = None;
    node
}

fn name(node: &Node) -> String {
    node.metadata.name.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plugins::fixtures::{make_node, make_pod};

    fn admits(set_aside: &mut SetAside, pod: &Pod) -> bool {
        let event = ClusterEvent::PodApplied(Arc::new(pod.clone()));
        set_aside.admit(event).is_some()
    }

    #[test]
    fn a_pod_stays_out_when_only_its_version_and_conditions_change() {
        let mut set_aside = SetAside::default();
        set_aside.put_undecidable(&make_pod("p").object());
        let conditions = json!({"conditions": [{"type": "PodScheduled", "status": "False"}]});
        let touched = make_pod("p")
            .metadata(json!({"resourceVersion": "9"}))
            .status(conditions);
        assert!(!admits(&mut set_aside, &touched.object()));
        assert!(admits(&mut set_aside, &make_pod("other").object()));
        assert!(admits(&mut set_aside, &touched.label("a", "b").object()));
        assert_eq!(set_aside.len(), 0);
    }

    #[test]
    fn an_undecidable_pod_counts_once_it_has_a_node_but_not_one_that_cannot_be_taken_in() {
        let bound = make_pod("p").on("n").object();
        let mut set_aside = SetAside::default();
        set_aside.put_undecidable(&bound);
        assert!(admits(&mut set_aside, &bound));
        set_aside.put_pod(&bound);
        assert!(!admits(&mut set_aside, &bound));
    }

    #[test]
    fn what_is_set_aside_stays_out_of_a_list_and_is_forgotten_when_it_is_not_listed() {
        let (pod, node) = (make_pod("p").object(), make_node("n").object());
        let mut set_aside = SetAside::default();
        set_aside.put_pod(&pod);
        set_aside.put_node(&node);
        let listed = |set_aside: &mut SetAside, pods, nodes| {
            for event in [
                ClusterEvent::PodsListed(pods),
                ClusterEvent::NodesListed(nodes),
            ] {
                assert!(set_aside.admit(event).is_some());
            }
        };
        assert!(!admits(&mut set_aside, &pod));
        listed(&mut set_aside, vec![PodUid::of(&pod)], vec!["n".into()]);
        assert_eq!(set_aside.len(), 2);
        listed(&mut set_aside, Vec::new(), vec!["n".into()]);
        assert_eq!(set_aside.len(), 1);
        listed(&mut set_aside, Vec::new(), Vec::new());
        assert_eq!(set_aside.len(), 0);
    }

    #[test]
    fn a_node_that_is_set_aside_is_forgotten_when_it_is_deleted() {
        let node = make_node("n").object();
        let mut set_aside = SetAside::default();
        set_aside.put_node(&node);
        set_aside.admit(ClusterEvent::NodeDeleted(Arc::new(node)));
        assert_eq!(set_aside.len(), 0);
    }

    #[test]
    fn a_node_that_changes_is_let_in_again() {
        let mut set_aside = SetAside::default();
        set_aside.put_node(&make_node("n").object());
        let same = ClusterEvent::NodeApplied(Arc::new(make_node("n").object()));
        assert!(set_aside.admit(same).is_none());
        let changed = make_node("n").label("a", "b").object();
        assert!(
            set_aside
                .admit(ClusterEvent::NodeApplied(Arc::new(changed)))
                .is_some()
        );
        assert_eq!(set_aside.len(), 0);
    }
}
