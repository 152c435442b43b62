//! What a pod takes from its node and what a node has, read independently of the library.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::quantity::{self, Nano, ONE};

/// Amounts by resource name, in billionths.
pub(crate) type Amounts = BTreeMap<String, Nano>;

/// A port on the node itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostPort {
    /// `0.0.0.0` is every address.
    pub(crate) address: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub(crate) protocol: String,
    /// The port.
    pub(crate) port: i32,
}

impl HostPort {
    /// Whether both cannot be on one node.
    pub(crate) fn clashes_with(&self, other: &Self) -> bool {
        let anywhere = |port: &Self| port.address == "0.0.0.0";
        self.port == other.port
            && self.protocol == other.protocol
            && (self.address == other.address || anywhere(self) || anywhere(other))
    }
}

/// What a pod takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Requests, and 1 of `pods`.
    pub(crate) amounts: Amounts,
    /// Ports on the node.
    pub(crate) ports: Vec<HostPort>,
}

/// The footprint of a pod: the larger of what its containers and sidecars need together and what
/// it needs at any moment of its initialisation, plus overhead. Requests of the pod as a whole
/// replace those sums for the resources they name. Resizes in place are not looked at.
pub(crate) fn of_pod(pod: &Pod) -> anyhow::Result<Footprint> {
    let Some(spec) = &pod.spec else {
        return Ok(Footprint::default());
    };
    let mut running = Amounts::new();
    for container in &spec.containers {
        add(&mut running, &requests(container)?);
    }
    let mut sidecars = Amounts::new();
    let mut highest = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let wants = requests(container)?;
        let mut moment = sidecars.clone();
        add(&mut moment, &wants);
        raise(&mut highest, &moment);
        if is_sidecar(container) {
            sidecars = moment;
        }
    }
    add(&mut running, &sidecars);
    raise(&mut running, &highest);
    let whole = spec
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    for (name, amount) in amounts(whole)? {
        running.insert(name, amount);
    }
    add(&mut running, &amounts(spec.overhead.as_ref())?);
    running.insert("pods".to_owned(), ONE);
    Ok(Footprint {
        amounts: running,
        ports: host_ports(pod),
    })
}

/// What pods may take from a node.
pub(crate) fn of_node(node: &Node) -> anyhow::Result<Amounts> {
    amounts(
        node.status
            .as_ref()
            .and_then(|status| status.allocatable.as_ref()),
    )
}

/// Adds `more` to `sum`.
pub(crate) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

/// Takes `less` from `sum`.
pub(crate) fn subtract(sum: &mut Amounts, less: &Amounts) {
    for (name, amount) in less {
        *sum.entry(name.clone()).or_default() -= amount;
    }
}

fn raise(highest: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = highest.entry(name.clone()).or_default();
        *entry = (*entry).max(*amount);
    }
}

fn requests(container: &Container) -> anyhow::Result<Amounts> {
    amounts(
        container
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref()),
    )
}

fn amounts(list: Option<&BTreeMap<String, Quantity>>) -> anyhow::Result<Amounts> {
    list.into_iter()
        .flatten()
        .map(|(name, value)| Ok((name.clone(), quantity::parse(&value.0)?)))
        .collect()
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Ports of containers and sidecars; those of an init container that ends are free again.
fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|container| is_sidecar(container));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| &container.ports);
    ports
        .flatten()
        .filter_map(|port| {
            let number = port.host_port.filter(|number| *number > 0)?;
            let address = port.host_ip.clone().filter(|address| !address.is_empty());
            Some(HostPort {
                address: address.unwrap_or_else(|| "0.0.0.0".to_owned()),
                protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
                port: number,
            })
        })
        .collect()
}
