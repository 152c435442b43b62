//! The cluster as it follows from the objects: which pod is on which node, and what is taken there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::audit::Truth;
use crate::engine::audit::readings::{Amounts, NodeReading, PodReading, Port, Readings};
use crate::model::objects::{Namespace, Node, Pod};
use crate::model::pod_info::PodUid;

/// A pod on a node, bound or placed.
#[derive(Debug)]
pub(super) struct Seat<'a> {
    pub(super) node: &'a str,
    pub(super) pod: &'a Pod,
    pub(super) reading: &'a PodReading,
}

/// What the pods on a node take.
#[derive(Debug, Default)]
pub(super) struct Load<'a> {
    pub(super) requested: Amounts,
    /// Thousandths of a core and bytes.
    pub(super) non_zero: (i64, i64),
    /// Users of each port.
    pub(super) ports: BTreeMap<&'a Port, u32>,
    pub(super) pods: BTreeSet<&'a PodUid>,
}

/// The cluster.
#[derive(Debug)]
pub(super) struct Expected<'a> {
    pub(super) seats: Vec<Seat<'a>>,
    pub(super) loads: BTreeMap<&'a str, Load<'a>>,
    /// Nodes that can be read.
    pub(super) nodes: BTreeMap<&'a str, (&'a Node, &'a NodeReading)>,
    pub(super) namespaces: BTreeMap<&'a str, &'a Namespace>,
}

impl<'a> Expected<'a> {
    pub(super) fn of(truth: &'a Truth, readings: &'a Readings) -> Self {
        let seat = |pod: &'a Arc<Pod>, node: &'a str| {
            let reading = readings.pod(pod)?;
            Some(Seat { node, pod, reading })
        };
        let bound = truth.pods.values().filter(|pod| !pod.is_terminal());
        let bound = bound.filter_map(|pod| seat(pod, pod.bound_node()?));
        let placed = truth.placed.values();
        let placed = placed.filter_map(|placement| seat(&placement.pod, &placement.node));
        let seats: Vec<Seat<'a>> = bound.chain(placed).collect();
        let mut loads = BTreeMap::<&str, Load<'a>>::new();
        for seat in &seats {
            loads.entry(seat.node).or_default().add(seat.reading);
        }
        let nodes = truth.nodes.iter().filter_map(|(name, node)| {
            let reading = readings.node(node)?;
            Some((&**name, (&**node, reading)))
        });
        let namespaces = truth.namespaces.iter();
        Self {
            seats,
            loads,
            nodes: nodes.collect(),
            namespaces: namespaces.map(|(name, one)| (&**name, &**one)).collect(),
        }
    }
}

impl<'a> Load<'a> {
    fn add(&mut self, pod: &'a PodReading) {
        for (name, amount) in &pod.requested {
            *self.requested.entry(name.clone()).or_default() += amount;
        }
        self.non_zero.0 += pod.non_zero.0;
        self.non_zero.1 += pod.non_zero.1;
        for port in &pod.ports {
            *self.ports.entry(port).or_default() += 1;
        }
        self.pods.insert(&pod.uid);
    }
}
