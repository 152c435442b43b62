//! Which pods without a node hold room on one: they were nominated for it (`nominator`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::cache::Cache;
use crate::model::pod_info::{PodInfo, PodKey, PodUid};

/// Nominated pods by node. Each holds references to its class and labels.
#[derive(Debug, Default)]
pub(crate) struct Nominator {
    by_node: BTreeMap<Arc<str>, Vec<PodInfo>>,
    nodes: BTreeMap<PodUid, Arc<str>>,
}

/// Room on a node, kept from pods of the same or a lower priority.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) node: Arc<str>,
    /// The priority of the pod that it was promised to.
    pub(crate) priority: i32,
}

impl Nominator {
    /// The pods that are nominated for the node called `node`.
    pub(crate) fn on(&self, node: &str) -> &[PodInfo] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The node that the pod called `uid` is nominated for.
    pub(crate) fn node_of(&self, uid: &PodUid) -> Option<&Arc<str>> {
        self.nodes.get(uid)
    }

    /// What the pod called `uid` was promised.
    pub(crate) fn promise_to(&self, uid: &PodUid) -> Option<Promise> {
        let node = self.nodes.get(uid)?;
        let pod = self.on(node).iter().find(|pod| pod.uid == *uid)?;
        Some(Promise {
            node: Arc::clone(node),
            priority: pod.priority,
        })
    }

    /// All nominations: the node, and the pod that holds room on it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &PodInfo)> {
        let nodes = self.by_node.iter();
        nodes.flat_map(|(node, pods)| pods.iter().map(move |pod| (node, pod)))
    }

    /// How many pods are known to be nominated.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn insert(&mut self, node: Arc<str>, pod: PodInfo) {
        self.nodes.insert(pod.uid.clone(), Arc::clone(&node));
        self.by_node.entry(node).or_default().push(pod);
    }

    fn remove(&mut self, uid: &PodUid) -> Option<PodInfo> {
        let node = self.nodes.remove(uid)?;
        let pods = self.by_node.get_mut(&node)?;
        let position = pods.iter().position(|pod| pod.uid == *uid)?;
        let pod = pods.remove(position);
        if pods.is_empty() {
            self.by_node.remove(&node);
        }
        Some(pod)
    }
}

impl Cache {
    /// `pod` is nominated for `node` from now on, or for none.
    pub(crate) fn nominate(&mut self, pod: &PodInfo, node: Option<Arc<str>>) {
        let nominated = node.map(|node| (node, self.vocabulary.share_pod(pod)));
        self.clear_nomination(&pod.uid);
        if let Some((node, pod)) = nominated {
            self.nodes.note_change(&node);
            self.nominator.insert(node, pod);
        }
    }

    /// The pod called `uid` holds no room any more: it is gone, or assumed on a node. Tells its
    /// name if it held some.
    pub(crate) fn clear_nomination(&mut self, uid: &PodUid) -> Option<PodKey> {
        let node = self.nominator.node_of(uid).cloned();
        let pod = self.nominator.remove(uid)?;
        if let Some(node) = node {
            self.nodes.note_change(&node);
        }
        self.vocabulary.release_pod(&pod);
        Some(pod.key)
    }

    /// A pod of the queue came or changed; `earlier` is the node it named before, if it was known.
    /// What its object says again is no news: what was decided since then stays, also that it holds
    /// no room (`UpdateNominatedPod` does so for objects that name none). So does a nomination for
    /// which others are on their way out, whatever older one the object names.
    pub(crate) fn update_nomination(&mut self, pod: &PodInfo, earlier: Option<&Option<Arc<str>>>) {
        let ours = self.nominator.node_of(&pod.uid);
        let has_named =
            |node: &Arc<str>| earlier.is_some_and(|earlier| earlier.as_ref() == Some(node));
        let awaited = self.preemptions.node_of(&pod.uid);
        let awaited = ours.filter(|node| awaited == Some(*node) && !has_named(node));
        let node = match (earlier, &pod.nominated_node) {
            (Some(earlier), named) if earlier == named => ours.cloned(),
            (Some(_), _) if awaited.is_some() => awaited.cloned(),
            (_, named) => named.clone(),
        };
        if node.is_some() || ours.is_some() {
            self.nominate(pod, node);
        }
    }
}
