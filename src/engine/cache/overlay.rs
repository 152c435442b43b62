//! A node as it would be with some pods more or less. Hypotheses never touch the columns.

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::model::host_port::UsedPorts;
use crate::model::pod_class::NonZeroRequests;
use crate::model::pod_info::PodUid;
use crate::model::resources::Resources;

/// One node with pods added and removed (`NodeInfo.Snapshot` with `AddPodInfo` and `RemovePod`).
///
/// Made once in O(pods on the node); what plugins read is kept as if the columns had changed.
#[derive(Clone, Debug)]
pub struct NodeOverlay<'a> {
    base: NodeView<'a>,
    pub(super) requested: Resources,
    pub(super) non_zero_requested: NonZeroRequests,
    pub(super) used_ports: UsedPorts,
    pub(super) pods: Vec<PodView<'a>>,
}

impl<'a> NodeOverlay<'a> {
    /// The node as it is, which may be a hypothesis itself.
    pub fn new(node: NodeView<'a>) -> Self {
        Self {
            base: node,
            requested: node.requested().clone(),
            non_zero_requested: node.non_zero_requested(),
            used_ports: node.used_ports().clone(),
            pods: node.pods().collect(),
        }
    }

    /// Puts `pod` on the node.
    pub fn add(&mut self, pod: PodView<'a>) {
        self.requested.add(&pod.class.requests);
        self.non_zero_requested.add(pod.class.non_zero_requests);
        for port in &pod.class.host_ports {
            self.used_ports.add(*port);
        }
        self.pods.push(pod);
    }

    /// Takes the pod called `uid` off the node, if it is there.
    pub fn remove(&mut self, uid: &PodUid) {
        let found = self.pods.iter().position(|pod| pod.info.uid == *uid);
        let Some(position) = found else { return };
        let pod = self.pods.swap_remove(position);
        self.requested.subtract(&pod.class.requests);
        self.non_zero_requested
            .subtract(pod.class.non_zero_requests);
        for port in &pod.class.host_ports {
            // Upstream keeps a set: of several pods with one port, which only somebody else can
            // have bound, each frees it for all.
            self.used_ports.free(*port);
        }
    }

    /// The node as plugins see it.
    pub fn view(&self) -> NodeView<'_> {
        self.base.over(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    /// Everything that a plugin can read of the pods on a node.
    fn seen(node: &NodeView<'_>) -> (Resources, NonZeroRequests, UsedPorts, Vec<String>) {
        let mut names: Vec<_> = node
            .pods()
            .map(|pod| pod.info.key.name.to_string())
            .collect();
        names.sort_unstable();
        assert_eq!(node.pod_count(), names.len());
        let (requested, ports) = (node.requested().clone(), node.used_ports().clone());
        (requested, node.non_zero_requested(), ports, names)
    }

    #[test]
    fn a_hypothesis_shows_what_the_columns_would_and_leaves_them_alone() {
        let first = make_pod("first")
            .on("n")
            .request("cpu", "1")
            .request("example.com/gpu", "1")
            .host_port("", "TCP", 80);
        let second = make_pod("second").on("n").request("memory", "1Gi");
        let with_both = Cluster::new([make_node("n")])
            .with_running(&first)
            .with_running(&second);
        let snapshot = with_both.snapshot();
        let node = snapshot.node("n").unwrap();
        let (before, pods) = (seen(&node), node.pods().collect::<Vec<_>>());

        let mut overlay = NodeOverlay::new(node);
        assert_eq!(seen(&overlay.view()), before);
        overlay.remove(&pods[0].info.uid);
        let only_second = Cluster::new([make_node("n")]).with_running(&second);
        let expected = seen(&only_second.snapshot().node("n").unwrap());
        assert_eq!(seen(&overlay.view()), expected);

        let mut nested = NodeOverlay::new(overlay.view());
        nested.remove(&pods[1].info.uid);
        nested.add(pods[0]);
        nested.add(pods[1]);
        assert_eq!(seen(&nested.view()), before);
        assert_eq!(seen(&node), before);
    }
}
