//! Events as a trace shows them.

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::Pod;
use bayplan::model::pod_info::{PodKey, PodUid};

/// An event in few words.
pub(crate) fn described(event: &ClusterEvent) -> String {
    let pod = |pod: &Pod| {
        let (key, status) = (PodKey::of(&pod.metadata), &pod.status);
        let ending = pod.metadata.deletion_timestamp.as_ref().map(|_| "ending");
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        format!(
            "{key} ({uid}) on {:?} {:?} {ending:?}",
            pod.bound_node(),
            status.phase
        )
    };
    match event {
        ClusterEvent::NodeApplied(node) => {
            let (metadata, spec) = (&node.metadata, &node.spec);
            let room = &node.status.allocatable;
            let labels = &metadata.labels;
            format!("node {:?} {spec:?} {room:?} {labels:?}", metadata.name)
        }
        ClusterEvent::NodeDeleted(node) => format!("node {:?} is gone", node.metadata.name),
        ClusterEvent::NodesListed(names) => format!("all {} nodes", names.len()),
        ClusterEvent::PodApplied(object) => format!("pod {}", pod(object)),
        ClusterEvent::PodDeleted(object) => format!("pod {} is gone", pod(object)),
        ClusterEvent::PodsListed(uids) => format!("all {} pods", uids.len()),
        other => {
            let text = format!("{other:?}");
            text.chars().take(300).collect()
        }
    }
}

/// What an engine has on a node, and how it holds the pod.
pub(crate) fn seen_by(engine: &Engine, node: &str, uid: &PodUid) -> String {
    let cluster = engine.cache().snapshot();
    let on_node = cluster.node(node).map(|node| {
        let pods = node.pods().map(|pod| pod.info.key.to_string());
        let pods: Vec<String> = pods.collect();
        let (has, gives) = (node.requested(), node.allocatable());
        format!(
            "{pods:?} with {has:?} of {gives:?} and {}",
            node.allowed_pods()
        )
    });
    let promised = cluster.nominated_pods(node);
    let promised: Vec<String> = promised.map(|pod| pod.info.key.to_string()).collect();
    let (queue, place) = (engine.queue().get(uid), engine.queue().place(uid));
    let rejectors = queue.map(|pod| (&pod.unschedulable_plugins, &pod.pending_plugins));
    format!("{on_node:?}, promised to {promised:?}; the pod is in {place:?} for {rejectors:?}")
}
