//! Events as a trace shows them.

use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::Pod;
use bayplan::model::pod_info::PodKey;

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
