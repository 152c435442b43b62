//! The wire format: Go's names of fields, since upstream's types have no others
//! (`k8s.io/kube-scheduler/extender/v1`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::engine::effect::Effect;
use crate::engine::framework::extender::{Candidates, Filtered, Victims};
use crate::kubernetes::extender::body::Chunks;
use crate::kubernetes::extender::go_json::{self, go_struct};
use crate::model::pod_info::PodUid;

go_struct! {
    /// `ExtenderFilterResult`.
    struct FilterResult {
        nodes: Option<NodeList> = "Nodes",
        node_names: Option<Vec<String>> = "NodeNames",
        failed_nodes: BTreeMap<String, String> = "FailedNodes",
        unresolvable: BTreeMap<String, String> = "FailedAndUnresolvableNodes",
        error: String = "Error",
    }
}

go_struct! {
    /// A list of nodes, of which the names matter.
    struct NodeList {
        items: Vec<Node> = "items",
    }
}

go_struct! {
    /// A node.
    struct Node {
        metadata: Metadata = "metadata",
    }
}

go_struct! {
    /// Of a node.
    struct Metadata {
        name: String = "name",
    }
}

go_struct! {
    /// `HostPriority`.
    struct HostPriority {
        host: String = "Host",
        score: i64 = "Score",
    }
}

go_struct! {
    /// `ExtenderPreemptionResult`.
    struct PreemptionResult {
        candidates: BTreeMap<String, Option<MetaVictims>> = "NodeNameToMetaVictims",
    }
}

go_struct! {
    /// `MetaVictims`.
    struct MetaVictims {
        pods: Vec<MetaPod> = "Pods",
        violations: i64 = "NumPDBViolations",
    }
}

go_struct! {
    /// `MetaPod`.
    struct MetaPod {
        uid: String = "UID",
    }
}

go_struct! {
    /// `ExtenderBindingResult`.
    struct BindingResult {
        error: String = "Error",
    }
}

/// `ExtenderArgs` for an extender that knows the nodes.
pub(super) fn about_names(pod: Bytes, nodes: &[Arc<str>]) -> Chunks {
    let mut arguments = Chunks::default();
    arguments.push(&b"{\"Pod\":"[..]);
    arguments.push(pod);
    let names: Vec<&str> = nodes.iter().map(|name| &**name).collect();
    let names = json!(names);
    arguments.push(format!(",\"Nodes\":null,\"NodeNames\":{names}}}"));
    arguments
}

/// `ExtenderArgs` with whole nodes.
pub(super) fn about_nodes(pod: Bytes, nodes: Vec<Bytes>) -> Chunks {
    let mut arguments = Chunks::default();
    arguments.push(&b"{\"Pod\":"[..]);
    arguments.push(pod);
    arguments.push(&b",\"Nodes\":{\"metadata\":{},\"items\":["[..]);
    for (at, node) in nodes.into_iter().enumerate() {
        if at > 0 {
            arguments.push(&b","[..]);
        }
        arguments.push(node);
    }
    arguments.push(&b"]},\"NodeNames\":null}"[..]);
    arguments
}

/// `ExtenderPreemptionArgs` for an extender that knows the pods on the nodes.
pub(super) fn about_victims(pod: Bytes, candidates: &Candidates) -> Chunks {
    let mut victims = serde_json::Map::new();
    for (node, of_node) in candidates {
        let pods = of_node.pods.iter();
        let pods: Vec<_> = pods.map(|uid| json!({"UID": &*uid.0})).collect();
        let of_node = json!({"Pods": pods, "NumPDBViolations": of_node.violations});
        victims.insert(node.to_string(), of_node);
    }
    let mut arguments = Chunks::default();
    arguments.push(&b"{\"Pod\":"[..]);
    arguments.push(pod);
    let victims = serde_json::Value::from(victims);
    arguments.push(format!(
        ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{victims}}}"
    ));
    arguments
}

/// `ExtenderPreemptionArgs` with whole pods; those that are gone are left out.
pub(super) fn about_whole_victims(
    pod: Bytes,
    candidates: &Candidates,
    whole: &BTreeMap<PodUid, Bytes>,
) -> Chunks {
    let mut arguments = Chunks::default();
    arguments.push(&b"{\"Pod\":"[..]);
    arguments.push(pod);
    let mut before = ",\"NodeNameToVictims\":{";
    for (node, victims) in candidates {
        let (node, violations) = (json!(&**node), victims.violations);
        arguments.push(format!(
            "{before}{node}:{{\"NumPDBViolations\":{violations},\"Pods\":["
        ));
        let mut pods = victims.pods.iter().filter_map(|uid| whole.get(uid));
        arguments.extend(pods.next().cloned());
        for pod in pods {
            arguments.push(&b","[..]);
            arguments.push(pod.clone());
        }
        arguments.push(&b"]}"[..]);
        before = ",";
    }
    arguments.push(&b"},\"NodeNameToMetaVictims\":null}"[..]);
    arguments
}

/// The answer to a preemption.
pub(super) fn candidates(answer: &Bytes) -> Result<Candidates, String> {
    let result: PreemptionResult = go_json::read(answer)?;
    let victims = |told: MetaVictims| Victims {
        pods: told
            .pods
            .into_iter()
            .map(|pod| PodUid(pod.uid.into()))
            .collect(),
        violations: told.violations,
    };
    let told = result.candidates.into_iter();
    let told = told.map(|(node, told)| (node.into(), victims(told.unwrap_or_default())));
    Ok(told.collect())
}

/// The answer to a filter. An extender that knows the nodes names them, or shows them if it names
/// none.
pub(super) fn filtered(answer: &Bytes, node_cache_capable: bool) -> Result<Filtered, String> {
    let result: FilterResult = go_json::read(answer)?;
    if !result.error.is_empty() {
        return Err(result.error);
    }
    let names = result.node_names.filter(|_| node_cache_capable);
    let by_name = names.is_some();
    let shown = || {
        let nodes = result.nodes.unwrap_or_default().items.into_iter();
        nodes.map(|node| node.metadata.name).collect()
    };
    let names = names.unwrap_or_else(shown).into_iter();
    let shared = |told: BTreeMap<String, String>| {
        let told = told.into_iter();
        told.map(|(name, why)| (name.into(), why)).collect()
    };
    Ok(Filtered {
        nodes: names.map(Arc::from).collect(),
        by_name,
        failed: shared(result.failed_nodes),
        unresolvable: shared(result.unresolvable),
    })
}

/// The answer to a prioritization, `HostPriorityList`. Scores of a node that is named twice add up.
pub(super) fn scores(answer: &Bytes) -> Result<BTreeMap<Arc<str>, i64>, String> {
    let list: Option<Vec<HostPriority>> = go_json::read(answer)?;
    let mut scores = BTreeMap::<Arc<str>, i64>::new();
    for HostPriority { host, score } in list.unwrap_or_default() {
        let sum = scores.entry(host.into()).or_default();
        *sum = sum.wrapping_add(score);
    }
    Ok(scores)
}

/// `ExtenderBindingArgs`.
pub(super) fn binding(effect: &Effect, node: &str) -> Chunks {
    let mut arguments = Chunks::default();
    let binding = json!({
        "PodName": &*effect.pod.name,
        "PodNamespace": &*effect.pod.namespace,
        "PodUID": &*effect.uid.0,
        "Node": node,
    });
    arguments.push(binding.to_string());
    arguments
}

/// The answer to a binding.
pub(super) fn bound(answer: &Bytes) -> Result<(), String> {
    let result: BindingResult = go_json::read(answer)?;
    if result.error.is_empty() {
        return Ok(());
    }
    Err(result.error)
}
