//! A pod fits on the node that was chosen for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Taint, Toleration};

use crate::engine::audit::readings::{NodeReading, PodReading, Port, Readings};
use crate::engine::audit::{Finding, Findings, Truth};
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::PodUid;

/// See [`Auditor::audit_placement`](crate::engine::audit::Auditor::audit_placement).
pub(super) fn audit<'a>(
    readings: &Readings,
    truth: &'a Truth,
    pod: &Pod,
    node: &'a str,
    others: impl IntoIterator<Item = &'a Pod>,
) -> Vec<Finding> {
    let mut findings = Findings::default();
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let Some(object) = truth.nodes.get(node) else {
        findings.add(format!(
            "pod {name} was placed on node {node}, which is not there"
        ));
        return findings.0;
    };
    let mut wrong =
        |what: String| findings.add(format!("pod {name} was placed on node {node}: {what}"));
    let others: Vec<PodReading> = others.into_iter().filter_map(PodReading::of).collect();
    let seats = seats(readings, truth, pod, node, &others);
    for problem in problems(object, pod, &seats) {
        wrong(problem);
    }
    if object.spec.unschedulable && !tolerates_cordon(pod) {
        wrong("it is cordoned".to_owned());
    }
    let taints = object.spec.taints.iter();
    for taint in taints.filter(|taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute")) {
        if !pod
            .spec
            .tolerations
            .iter()
            .any(|toleration| tolerates(toleration, taint))
        {
            wrong(format!("its taint {} is not tolerated", taint.key));
        }
    }
    let labels = object.metadata.labels.as_ref();
    for (key, value) in &pod.spec.node_selector {
        if labels.and_then(|labels| labels.get(key)) != Some(value) {
            wrong(format!("it has no label {key}={value}"));
        }
    }
    findings.0
}

/// Who is on the node, the pod itself left out, each once.
fn seats<'a>(
    readings: &'a Readings,
    truth: &Truth,
    pod: &Pod,
    node: &str,
    others: &'a [PodReading],
) -> BTreeMap<&'a PodUid, &'a PodReading> {
    let told = truth.pods.values().filter(|other| !other.is_terminal());
    let told = told.filter(|other| other.bound_node() == Some(node));
    let placed = truth
        .placed
        .values()
        .filter(|placement| &*placement.node == node);
    let placed = placed.map(|placement| &placement.pod);
    let known = told.chain(placed).filter_map(|other| readings.pod(other));
    let all = known.chain(others);
    all.filter(|other| Some(&*other.uid.0) != pod.metadata.uid.as_deref())
        .map(|other| (&other.uid, other))
        .collect()
}

/// Why there is no room on the node beside `seats`.
fn problems(node: &Node, pod: &Pod, seats: &BTreeMap<&PodUid, &PodReading>) -> Vec<String> {
    let (Some(node), Some(pod)) = (NodeReading::of(node), PodReading::of(pod)) else {
        return vec!["its quantities or those of the pod cannot be read".to_owned()];
    };
    let mut problems = Vec::new();
    if i64::try_from(seats.len()).unwrap_or(i64::MAX) >= node.pods {
        problems.push(format!(
            "it takes {} pods and has {}",
            node.pods,
            seats.len()
        ));
    }
    for (name, amount) in &pod.requested {
        let used = seats
            .values()
            .filter_map(|seat| seat.requested.get(name).copied());
        let used: i64 = used.sum();
        let room = node.room.get(name).copied().unwrap_or(0);
        if used.saturating_add(*amount) > room {
            problems.push(format!(
                "of {room} {name} it has given {used}, and {amount} are wanted"
            ));
        }
    }
    for used in seats.values().flat_map(|seat| &seat.ports) {
        if pod.ports.iter().any(|wanted| conflict(wanted, used)) {
            problems.push(format!("port {used:?} is in use"));
        }
    }
    problems
}

fn conflict(one: &Port, other: &Port) -> bool {
    let same_address = one.2 == other.2 || one.2 == "0.0.0.0" || other.2 == "0.0.0.0";
    one.0 == other.0 && one.1 == other.1 && same_address
}

fn tolerates_cordon(pod: &Pod) -> bool {
    let taint = Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    let mut tolerations = pod.spec.tolerations.iter();
    tolerations.any(|toleration| tolerates(toleration, &taint))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let effect = given(&toleration.effect);
    let key = given(&toleration.key);
    let value = toleration.value.as_deref().unwrap_or("");
    effect.is_none_or(|effect| effect == taint.effect)
        && key.is_none_or(|key| key == taint.key)
        && match toleration.operator.as_deref() {
            Some("Exists") => true,
            None | Some("" | "Equal") => value == taint.value.as_deref().unwrap_or(""),
            Some(_) => false,
        }
}
