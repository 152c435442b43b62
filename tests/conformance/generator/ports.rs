//! Ports on the host, with addresses and protocols.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::generator::Plan;

/// Gives containers ports; no two of a pod are the same port on the host.
pub(super) fn add(plan: &mut Plan, spec: &mut Value) {
    let on_host_network = plan.dice.chance(15);
    if on_host_network {
        spec["hostNetwork"] = json!(true);
    }
    let mut taken = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if plan.dice.chance(60) {
                let ports = ports(plan, on_host_network, &mut taken);
                if !ports.is_empty() {
                    container["ports"] = ports.into();
                }
            }
        }
    }
}

fn ports(
    plan: &mut Plan,
    on_host_network: bool,
    taken: &mut BTreeSet<(usize, String, String)>,
) -> Vec<Value> {
    let dice = &mut plan.dice;
    let mut ports = Vec::new();
    for _ in 0..dice.between(1, 2) {
        let number = *dice.pick(&[&80, &8080, &9090]);
        let protocol = dice.pick(&["", "TCP", "UDP", "SCTP"]);
        let address = dice.pick(&["", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::1"]);
        let known = if protocol.is_empty() { "TCP" } else { protocol };
        if !taken.insert((number, known.to_owned(), address.to_owned())) {
            continue;
        }
        let mut port = json!({"containerPort": number});
        if !on_host_network || dice.chance(50) {
            port["hostPort"] = number.into();
        }
        if !protocol.is_empty() {
            port["protocol"] = protocol.into();
        }
        if !address.is_empty() {
            port["hostIP"] = address.into();
        }
        ports.push(port);
    }
    ports
}
