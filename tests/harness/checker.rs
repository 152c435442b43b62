//! What must never happen to a cluster, checked from its history and its audit log.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use super::audit::Bind;
use super::footprint::{self, Amounts, HostPort};
use super::history::{Change, PodState, Record};
use super::quantity::{self, Nano};

/// Something that must not have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A pod had one node and then another, or none.
    Moved {
        pod: String,
        from: String,
        to: Option<String>,
        at: u64,
    },
    /// The server accepted more than one bind of one pod.
    BoundTwice {
        pod: String,
        uid: String,
        times: usize,
    },
    /// A pod went to a node that was not there.
    UnknownNode { pod: String, node: String, at: u64 },
    /// A pod took more than its node had left.
    OverAllocatable {
        pod: String,
        node: String,
        resource: String,
        used: Nano,
        has: Nano,
        at: u64,
    },
    /// A pod took a port of its node that another one had.
    PortTaken {
        pod: String,
        other: String,
        node: String,
        port: i32,
        at: u64,
    },
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved { pod, from, to, at } => {
                let to = to.as_deref().unwrap_or("nowhere");
                write!(f, "pod {pod} went from node {from} to {to} at version {at}")
            }
            Self::BoundTwice { pod, uid, times } => {
                write!(f, "pod {pod} (uid {uid}) was bound {times} times")
            }
            Self::UnknownNode { pod, node, at } => {
                write!(
                    f,
                    "pod {pod} went to node {node}, which did not exist, at version {at}"
                )
            }
            Self::OverAllocatable {
                pod,
                node,
                resource,
                used,
                has,
                at,
            } => write!(
                f,
                "pod {pod} brought node {node} to {} of {} {resource} at version {at}",
                quantity::display(*used),
                quantity::display(*has),
            ),
            Self::PortTaken {
                pod,
                other,
                node,
                port,
                at,
            } => {
                write!(
                    f,
                    "pods {pod} and {other} share port {port} of node {node} at version {at}"
                )
            }
        }
    }
}

/// Goes through a history and returns what must not have happened in it, in its order. A node is
/// judged whenever a pod takes more of it, not when the node itself shrinks.
pub(crate) fn check_history(records: &[Record]) -> Vec<Finding> {
    let mut cluster = Cluster::default();
    for record in records {
        cluster.apply(record);
    }
    cluster.findings
}

/// Pods whose binding the API server accepted more than once.
pub(crate) fn check_binds(binds: &[Bind]) -> Vec<Finding> {
    let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for bind in binds
        .iter()
        .filter(|bind| bind.succeeded() && !bind.uid.is_empty())
    {
        *times.entry((&bind.uid, &bind.pod)).or_default() += 1;
    }
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    twice
        .map(|((uid, pod), times)| Finding::BoundTwice {
            pod: pod.to_owned(),
            uid: uid.to_owned(),
            times,
        })
        .collect()
}

#[derive(Debug, Default)]
struct Cluster {
    nodes: BTreeMap<String, Amounts>,
    used: BTreeMap<String, Amounts>,
    /// Pods by UID.
    pods: BTreeMap<String, PodState>,
    /// UIDs of the pods on a node that have not ended.
    placed: BTreeMap<String, Vec<String>>,
    findings: Vec<Finding>,
}

impl Cluster {
    fn apply(&mut self, record: &Record) {
        let at = record.resource_version;
        match &record.change {
            Change::Node { name, allocatable } => {
                self.nodes.insert(name.clone(), allocatable.clone());
            }
            Change::NodeGone { name } => {
                self.nodes.remove(name);
            }
            Change::PodGone { uid } => {
                if let Some(before) = self.pods.remove(uid) {
                    self.release(&before);
                }
            }
            Change::Pod(state) => self.apply_pod(state, at),
        }
    }

    fn apply_pod(&mut self, state: &PodState, at: u64) {
        let before = self.pods.insert(state.uid.clone(), state.clone());
        if let Some(before) = &before {
            self.release(before);
            self.check_move(before, state, at);
        }
        let Some(node) = state.node.clone().filter(|_| !state.ended) else {
            return;
        };
        let placement_before = before.as_ref().and_then(|before| before.node.as_ref());
        if placement_before.is_none() && !self.nodes.contains_key(&node) {
            let pod = state.pod.clone();
            self.findings.push(Finding::UnknownNode {
                pod,
                node: node.clone(),
                at,
            });
        }
        footprint::add(
            self.used.entry(node.clone()).or_default(),
            &state.footprint.amounts,
        );
        let took = before
            .filter(|before| before.node.is_some())
            .map(|before| before.footprint);
        let took = took.unwrap_or_default();
        self.check_room(state, &took.amounts, &node, at);
        self.check_ports(state, &took.ports, &node, at);
        self.placed.entry(node).or_default().push(state.uid.clone());
    }

    fn release(&mut self, before: &PodState) {
        let Some(node) = before.node.as_ref().filter(|_| !before.ended) else {
            return;
        };
        if let Some(used) = self.used.get_mut(node) {
            footprint::subtract(used, &before.footprint.amounts);
        }
        if let Some(placed) = self.placed.get_mut(node) {
            placed.retain(|uid| *uid != before.uid);
        }
    }

    fn check_move(&mut self, before: &PodState, now: &PodState, at: u64) {
        if let Some(from) = before
            .node
            .clone()
            .filter(|from| Some(from) != now.node.as_ref())
        {
            let (pod, to) = (now.pod.clone(), now.node.clone());
            self.findings.push(Finding::Moved { pod, from, to, at });
        }
    }

    /// Looks at what the pod takes more of than it took before.
    fn check_room(&mut self, state: &PodState, took: &Amounts, node: &str, at: u64) {
        let Some(allocatable) = self.nodes.get(node) else {
            return;
        };
        let used = &self.used[node];
        for (resource, amount) in &state.footprint.amounts {
            let more = *amount > took.get(resource).copied().unwrap_or_default();
            let has = allocatable.get(resource).copied().unwrap_or_default();
            if more && used[resource] > has {
                self.findings.push(Finding::OverAllocatable {
                    pod: state.pod.clone(),
                    node: node.to_owned(),
                    resource: resource.clone(),
                    used: used[resource],
                    has,
                    at,
                });
            }
        }
    }

    fn check_ports(&mut self, state: &PodState, had: &[HostPort], node: &str, at: u64) {
        let new = state
            .footprint
            .ports
            .iter()
            .filter(|port| !had.contains(port));
        let others: Vec<&PodState> = self
            .placed
            .get(node)
            .into_iter()
            .flatten()
            .map(|uid| &self.pods[uid])
            .collect();
        for port in new {
            let clash = others.iter().find(|other| {
                other
                    .footprint
                    .ports
                    .iter()
                    .any(|theirs| theirs.clashes_with(port))
            });
            if let Some(other) = clash {
                self.findings.push(Finding::PortTaken {
                    pod: state.pod.clone(),
                    other: other.pod.clone(),
                    node: node.to_owned(),
                    port: port.port,
                    at,
                });
            }
        }
    }
}
