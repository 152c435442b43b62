//! The objects of pods without a node, as the watch has told them last. All other objects are the
//! engine's alone, in its own form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::event::ClusterEvent;
use crate::model::objects::Pod;
use crate::model::pod_info::{PodKey, PodUid};

/// Pods that wait, of whatever scheduler, by name.
#[derive(Debug, Default)]
pub(super) struct UnboundPods(BTreeMap<PodKey, Arc<Pod>>);

impl UnboundPods {
    /// Notes what the watch tells.
    pub(super) fn note(&mut self, event: &ClusterEvent) {
        match event {
            ClusterEvent::PodApplied(pod) => {
                if pod.bound_node().is_none() && !pod.is_terminal() {
                    self.0.insert(PodKey::of(&pod.metadata), Arc::clone(pod));
                } else if !self.0.is_empty() {
                    self.0.remove(&PodKey::of(&pod.metadata));
                }
            }
            ClusterEvent::PodDeleted(pod) if !self.0.is_empty() => {
                self.0.remove(&PodKey::of(&pod.metadata));
            }
            ClusterEvent::PodsListed(uids) if !self.0.is_empty() => {
                let uids: BTreeSet<&PodUid> = uids.iter().collect();
                self.0.retain(|_, pod| uids.contains(&PodUid::of(pod)));
            }
            _ => {}
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<Pod>> {
        self.0.values().cloned().collect()
    }

    /// The pod, unless another one has its name by now.
    pub(super) fn get(&self, key: &PodKey, uid: &PodUid) -> Option<&Arc<Pod>> {
        self.0.get(key).filter(|pod| PodUid::of(pod) == *uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{PodBuilder, make_pod};

    fn applied(pod: &PodBuilder) -> ClusterEvent {
        ClusterEvent::PodApplied(Arc::new(pod.object()))
    }

    fn names(pods: &UnboundPods) -> Vec<String> {
        let name = |pod: &Arc<Pod>| pod.metadata.name.clone().unwrap_or_default();
        pods.all().iter().map(name).collect()
    }

    #[test]
    fn a_pod_is_kept_until_it_has_a_node_or_ends_or_is_gone() {
        let mut pods = UnboundPods::default();
        for name in ["a", "b", "c", "d", "e"] {
            pods.note(&applied(&make_pod(name)));
        }
        pods.note(&applied(&make_pod("a").on("n")));
        let ended = serde_json::json!({"phase": "Failed"});
        pods.note(&applied(&make_pod("b").status(ended)));
        let gone = ClusterEvent::PodDeleted(Arc::new(make_pod("c").object()));
        pods.note(&gone);
        assert_eq!(names(&pods), ["d", "e"]);
        let listed = vec![PodUid::of(&make_pod("d").object())];
        pods.note(&ClusterEvent::PodsListed(listed));
        assert_eq!(names(&pods), ["d"]);
    }

    #[test]
    fn a_pod_that_has_the_name_of_another_one_is_not_taken_for_it() {
        let mut pods = UnboundPods::default();
        pods.note(&applied(&make_pod("p")));
        let key = PodKey::of(&make_pod("p").object().metadata);
        let uid = PodUid::of(&make_pod("p").object());
        assert!(pods.get(&key, &uid).is_some());
        assert!(pods.get(&key, &PodUid("another".into())).is_none());
    }
}
