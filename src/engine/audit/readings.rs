//! What single objects say, read once each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::audit::Truth;
use crate::engine::audit::terms::{Term, of_pod};
use crate::model::objects::Node;
use crate::model::objects::pod::{Container, Pod};
use crate::model::pod_info::PodUid;
use crate::model::quantity::Quantity;
use crate::model::requests::pod_requests;
use crate::model::resources::Resources;

/// Readings of objects that are gone which are kept in any case.
const SPARE: usize = 64;

/// Amounts by resource name: CPU in thousandths, the others in units.
pub(super) type Amounts = BTreeMap<String, i64>;

/// A port on a node: protocol, number, address.
pub(super) type Port = (String, i32, String);

/// What a pod takes on a node.
#[derive(Debug)]
pub(super) struct PodReading {
    pub(super) uid: PodUid,
    pub(super) requested: Amounts,
    /// Thousandths of a core and bytes.
    pub(super) non_zero: (i64, i64),
    pub(super) ports: Vec<Port>,
    pub(super) terms: Vec<Term>,
}

/// What a node offers.
#[derive(Debug)]
pub(super) struct NodeReading {
    pub(super) room: Amounts,
    pub(super) pods: i64,
}

/// Readings by the place of the object in memory, which is kept so that no other comes there.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pods: BTreeMap<usize, (Arc<Pod>, Option<PodReading>)>,
    nodes: BTreeMap<usize, (Arc<Node>, Option<NodeReading>)>,
}

impl Readings {
    /// Reads what is new, and forgets what is gone when that is most of it.
    pub(super) fn read(&mut self, truth: &Truth) {
        let pods = || {
            let placed = truth.placed.values().map(|placement| &placement.pod);
            truth.pods.values().chain(placed)
        };
        if self.pods.len() > 2 * pods().count() + SPARE {
            let there: BTreeSet<usize> = pods().map(|pod| Arc::as_ptr(pod).addr()).collect();
            self.pods.retain(|place, _| there.contains(place));
        }
        for pod in pods() {
            let place = Arc::as_ptr(pod).addr();
            let read = || (Arc::clone(pod), PodReading::of(pod));
            self.pods.entry(place).or_insert_with(read);
        }
        if self.nodes.len() > 2 * truth.nodes.len() + SPARE {
            let nodes = truth.nodes.values();
            let there: BTreeSet<usize> = nodes.map(|node| Arc::as_ptr(node).addr()).collect();
            self.nodes.retain(|place, _| there.contains(place));
        }
        for node in truth.nodes.values() {
            let place = Arc::as_ptr(node).addr();
            let read = || (Arc::clone(node), NodeReading::of(node));
            self.nodes.entry(place).or_insert_with(read);
        }
    }

    /// The UID of a pod, which is not made again if it is known.
    pub(super) fn uid(&self, pod: &Arc<Pod>) -> PodUid {
        let reading = self.pod(pod);
        reading.map_or_else(|| PodUid::of(pod), |reading| reading.uid.clone())
    }

    /// `None` if the pod cannot be read.
    pub(super) fn pod(&self, pod: &Arc<Pod>) -> Option<&PodReading> {
        let (_, reading) = self.pods.get(&Arc::as_ptr(pod).addr())?;
        reading.as_ref()
    }

    /// `None` if the node cannot be read.
    pub(super) fn node(&self, node: &Arc<Node>) -> Option<&NodeReading> {
        let (_, reading) = self.nodes.get(&Arc::as_ptr(node).addr())?;
        reading.as_ref()
    }
}

impl PodReading {
    pub(super) fn of(pod: &Pod) -> Option<Self> {
        let requests = pod_requests(pod).ok()?;
        Some(Self {
            uid: PodUid::of(pod),
            requested: amounts(&requests.amounts),
            non_zero: (requests.non_zero.milli_cpu, requests.non_zero.memory),
            ports: host_ports(pod),
            terms: of_pod(pod),
        })
    }
}

impl NodeReading {
    pub(super) fn of(node: &Node) -> Option<Self> {
        let room = Resources::parse_list(&node.status.allocatable).ok()?;
        let pods = room.get("pods").copied().unwrap_or_default().units();
        let room = amounts(&room);
        Some(Self { room, pods })
    }
}

/// The amounts that are counted, without those that are 0.
fn amounts(exact: &BTreeMap<String, Quantity>) -> Amounts {
    let counted = exact.iter().filter(|(name, _)| is_counted(name));
    let amounts = counted.map(|(name, amount)| {
        let amount = match name.as_str() {
            "cpu" => amount.millis(),
            _ => amount.units(),
        };
        (name.clone(), amount)
    });
    amounts.filter(|(_, amount)| *amount != 0).collect()
}

/// Resources that are neither of the three dense ones nor scalars are not counted; `pods` is not
/// an amount.
fn is_counted(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
        || name.contains('/')
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}

/// Ports on the node, of containers and sidecars.
fn host_ports(pod: &Pod) -> Vec<Port> {
    let sidecar = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    let sidecars = pod.spec.init_containers.iter().filter(sidecar);
    let containers = sidecars.chain(&pod.spec.containers);
    let text = |text: &Option<String>, default: &str| match text.as_deref() {
        None | Some("") => default.to_owned(),
        Some(text) => text.to_owned(),
    };
    let ports = containers.flat_map(|container| &container.ports);
    ports
        .filter_map(|port| {
            let number = port.host_port.filter(|number| *number > 0)?;
            let protocol = text(&port.protocol, "TCP");
            Some((protocol, number, text(&port.host_ip, "0.0.0.0")))
        })
        .collect()
}
